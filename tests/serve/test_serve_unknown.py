"""Rows of no class get the label that the client names, in all forms of answers."""

import io
import json

import numpy as np
import pytest

import dsnc
from dsnc.serve.answers import answer, answer_table, as_json, as_lines
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.options import Options, as_struct, from_address
from dsnc.serve.served import Served

LIMITS = Limits(max_rows=100)
GO = lambda: None  # noqa: E731
STRANGE = np.full((2, 6), 9.0) * [[1], [-1]]


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """A model of numbers, with rows of which some are strange, and what Python says of them."""
    dice = np.random.default_rng(0)
    y = np.arange(6).repeat(60)
    X = (4 * np.eye(6)[y] + dice.normal(size=(360, 6))).astype(np.float32)
    model = dsnc.DSNCClassifier(n_bits=16, max_epochs=10, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("known") / "model"
    model.save(path)
    served = Served.read("model", path)
    rows = np.vstack([X[::60], STRANGE]).astype(np.float32)
    expected = model.predict(rows, unknown=-1).tolist()
    assert -1 in expected and set(expected) - {-1}
    return served, rows, expected


def blocks(served, rows, **wishes):
    return list(answer(served, rows, Options(**wishes), GO))


def test_json_and_lines(known):
    served, rows, expected = known
    some = blocks(served, rows, unknown=-1, probabilities=True)
    found = json.loads(as_json(served, some))
    assert found["labels"] == expected
    shares = found["probabilities"]
    assert [share is None for share in shares] == [label == -1 for label in expected]
    lines = as_lines(some[0], Options(unknown=-1)).decode().splitlines()
    assert [json.loads(line)["label"] for line in lines] == expected
    assert [json.loads(line)["probability"] for line in lines] == shares


def test_the_best_labels(known):
    served, rows, expected = known
    (block,) = blocks(served, rows, unknown="other", top_k=2, probabilities=True)
    for labels, shares, label in zip(block.labels, block.probabilities, expected, strict=True):
        assert (labels == ["other"], shares == []) == (label == -1, label == -1)
        assert label == -1 or (labels[0] == label and len(shares) == 2)


@pytest.mark.parametrize("top_k", [None, 2])
def test_unknown_rows_are_left_to_a_person(known, top_k):
    served, rows, expected = known
    (block,) = blocks(served, rows, unknown=-1, reject_below=0, top_k=top_k)
    assert block.decisions == ["person" if label == -1 else "answer" for label in expected]


def test_the_share_that_may_be_lost(known):
    served, rows, _ = known
    model = dsnc.load(served.path)
    for share in (0.0, 0.3, 1):
        (block,) = blocks(served, rows, unknown=-1, unknown_share=share)
        assert block.labels == model.predict(rows, unknown=-1, unknown_share=share).tolist()


@pytest.mark.parametrize("top_k", [None, 2])
def test_tables(known, top_k):
    served, rows, expected = known
    body = io.BytesIO()
    np.savetxt(body, rows, delimiter=",", header="a,b,c,d,e,f", comments="")
    options = Options(unknown=-1, top_k=top_k)
    found, _, n_rows = answer_table(served, body.getvalue(), options, GO, LIMITS)
    assert n_rows == len(rows)
    for line, label in zip(found.decode().splitlines()[1:], expected, strict=True):
        cells = line.split(",")[6:]
        assert int(cells[0]) == label and len(cells) == 2 * (top_k or 1)
        assert (set(cells[1:]) == {""}) == (label == -1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reject_below": 1.5}, "reject_below=1.5: Expected float <= 1.0"),
        ({"reject_below": "0.5"}, r"reject_below='0.5': Expected float \| null, got str"),
        ({"reject_below": True}, r"reject_below=True: Expected float \| null, got bool"),
        ({"unknown": [1]}, r"unknown=\[1\]: Expected int \| float \| str"),
        ({"unknown": True}, r"unknown=True: Expected int \| float \| str"),
        ({"unknown": "x", "unknown_share": 2}, "unknown_share=2: Expected float <= 1.0"),
        ({"unknown": "x", "unknown_share": "a"}, "unknown_share='a': Expected float"),
    ],
)
def test_wrong_wishes(wrong, message):
    with pytest.raises(Refused, match=message):
        as_struct(wrong, Options)


def test_a_share_of_nothing(service, X):
    rows = {"inputs": X.tolist(), "unknown_share": 0.1}
    assert "unknown_share needs unknown" in service.predict(rows, code=400)["error"]


def test_wishes_in_an_address():
    found = from_address({"unknown": "-1", "unknown_share": "0.25"}, Options)
    assert (found.unknown, found.unknown_share) == (-1, 0.25)
    assert from_address({"reject_below": "0.9"}, Options).reject_below == 0.9
    for text in ("true", "", "1.5", "null"):
        assert from_address({"unknown": text}, Options).unknown == text


def test_over_http_and_models_that_cannot_tell(service, vectors, X):
    rows = {"inputs": X.tolist(), "unknown": "other"}
    said = service.predict(rows, code=400)["error"]
    assert "cannot tell how strange a row is" in said
