"""Classes that are known by numbers alone."""

import numpy as np
import pytest

import dsnc
from dsnc.errors import InputError

RNG = np.random.default_rng(0)
A = RNG.normal(size=(60, 6)).astype(np.float32)
Y = np.arange(60).repeat(20)
X = (A[Y] @ RNG.normal(size=(6, 24)) + RNG.normal(size=(len(Y), 24))).astype(np.float32)
NEW, TEST = Y >= 48, np.arange(len(Y)) % 4 == 0


def quick(**settings):
    return dsnc.DSNCClassifier(**{"n_bits": 24, "max_epochs": 6, "reranker": None, **settings})


def trained(classes, **settings):
    rows = ~NEW & ~TEST
    said = {k: A[k] for k in classes}
    return quick(**settings).fit(X[rows], Y[rows], attributes=said)


@pytest.mark.parametrize("reranker", [None, "features"])
def test_attributes_point_to_classes(reranker, tmp_path):
    model = trained(range(60), reranker=reranker)
    assert list(model.classes_) == list(range(60))
    assert model.score(X[~NEW & TEST], Y[~NEW & TEST]) > 0.95
    assert model.score(X[NEW], Y[NEW]) > 0.8
    model.save(tmp_path / "model")
    again = dsnc.load(tmp_path / "model")
    assert (again._memory.attributes == A).all()
    assert (again.predict(X) == model.predict(X)).all()


def test_they_come_later_and_rows_refine_them(tmp_path):
    before, after = [], []
    for seed in range(3):  # 60 rows of one model say little
        trained(range(48), random_state=seed).save(tmp_path / f"{seed}")
        model = dsnc.load(tmp_path / f"{seed}")
        model.add_described_classes(np.arange(48, 60), attributes=A[48:])
        before.append(model.score(X[NEW & TEST], Y[NEW & TEST]))
        model.add_classes(X[NEW & ~TEST], Y[NEW & ~TEST])
        after.append(model.score(X[NEW & TEST], Y[NEW & TEST]))
    assert min(before) > 0.85
    assert np.mean(after) > np.mean(before)
    assert np.isnan(model.remove_classes([3])._memory.attributes).sum() == 0


def test_three_classes_can_teach():
    model = trained([0, 1, 2]).add_described_classes([48], attributes=A[48:49])
    assert model.classes_[-1] == 48


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (A[48:50, :3], "3 columns, but those of the known classes have 6"),
        (np.full((2, 6), np.nan), "attributes of 48 have NaN"),
        ([[1], [1, 2]], "the same number of values"),
        ([1, 2], "give a row of numbers"),
        (A[:3], "3 entries for 2 labels"),
    ],
)
def test_refusals(attributes, message):
    model = trained(range(10))
    with pytest.raises(InputError, match=message):
        model.add_described_classes([48, 49], attributes=attributes)
    assert len(model.classes_) == 48


def test_known_classes_must_have_taught_what_they_mean():
    model = quick().fit(X[~NEW], Y[~NEW])
    with pytest.raises(InputError, match="only 0 classes with rows have attributes"):
        model.add_described_classes([50], attributes=A[50:51])
    with pytest.raises(InputError, match="remembers none"):
        trained(range(60), memory=0)
    with pytest.raises(InputError, match="both given"):
        model.add_described_classes([50], ["a"], attributes=A[50:51])
