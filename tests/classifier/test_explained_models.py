"""`explain` of estimators, and of what `dsnc.load` and the command line read."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import dsnc
from cli_files import ROLES
from dsnc.data.columns import Columns
from dsnc.model import feature_names, read_fitted
from three_classes import X, Y, quick

TITLES = [f"{special} {role}" for role, some in ROLES.items() for special in some] * 4


def assert_adds_up(explanations, labels):
    assert [explanation.label for explanation in explanations] == labels.tolist()
    for explanation in explanations:
        assert sum(t.value for t in explanation.terms) == pytest.approx(explanation.lead, abs=1e-4)


@pytest.fixture(scope="module")
def texts():
    second = {"name": "features", "mix": 0.5, "reach": 50.0}
    first = {"name": "shortlist", "size": 12}
    return quick(n_bits=16, max_epochs=6, reranker=second, decoder=first).fit(TITLES, TITLES)


def test_texts_and_their_n_grams(texts, tmp_path):
    some = ["Senior NIGHT nurse", "", "drone"]
    found = texts.explain(some)
    assert_adds_up(found, texts.predict(some))
    assert found[0].second_stage
    assert [explanation.text for explanation in found] == some
    names = {term.name for term in found[0].terms if term.kind == "feature"}
    assert {"night", "nurse", "night nurse", "'nigh'"} <= names
    assert {term.kind for term in found[1].terms} == {"other"}  # nothing but biases
    texts.save(tmp_path / "m")
    for read in (dsnc.load(tmp_path / "m"), read_fitted(tmp_path / "m")):
        assert read.explain(some) == found


@pytest.mark.parametrize("decoder", ["linear", "soft", "shortlist", "table", "nearest"])
def test_numbers(decoder):
    model = quick(decoder=decoder).fit(X, Y)
    assert_adds_up(model.explain(X[:5]), model.predict(X[:5]))


def test_hidden_layers_are_told_by_bits():
    pytest.importorskip("torch")
    model = quick(encoder="mlp", hidden=[4]).fit(X, Y)
    found = model.explain(X[:3])
    assert_adds_up(found, model.predict(X[:3]))
    assert {term.kind for term in found[0].terms} == {"bit", "other"}


def test_codes_of_a_baseline_are_explained_too():
    pytest.importorskip("torch")
    model = dsnc.baselines.ECOCBaseline(max_epochs=1).fit(X, Y)
    assert_adds_up(model.explain(X[:3]), model.predict(X[:3]))
    assert not hasattr(dsnc.baselines.NearestCentroidBaseline(), "explain")


def test_names_of_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = ["age", "height", "a", "b", "c"]
    frame = pandas.DataFrame(X, columns=names)
    model = quick().fit(frame, Y)
    model.save(tmp_path / "m")
    ours = model.explain(frame[:1])[0]
    assert set(names) >= {t.name for t in ours.terms if t.kind == "feature"} >= {"age", "height"}
    assert read_fitted(tmp_path / "m").explain(X[:1])[0] == ours


def test_names_of_columns_of_a_table():
    model = quick().fit(X, Y)
    columns = Columns(numbers=("age", "height"), categories={"color": ["red", "green", "blue"]})
    model.data_["columns"] = columns.plain()
    assert feature_names(model) == ["age", "height", "color=red", "color=green", "color=blue"]
    model.data_["columns"] = {"what": "a file may say anything"}
    assert feature_names(model) == []
    assert model.explain(X[:1])[0].terms[0].name.startswith(("feature ", "bias ", "rounding "))


def test_wrong_uses(texts):
    with pytest.raises(NotFittedError):
        quick().explain(X)
    with pytest.raises(ValueError, match="features"):
        quick().fit(X, Y).explain(X[:, :2])
    with pytest.raises(dsnc.errors.InputError, match=r"X is one string; pass a list"):
        texts.explain("night nurse")
    with pytest.raises(dsnc.errors.InputError, match="explain accepts at most 1,000"):
        texts.explain(["nurse"] * 1001)
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(X, Y).explain(np.full((1, 5), np.nan))
