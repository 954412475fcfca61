"""Models of label sets are served as they predict."""

import json

import numpy as np
import pytest

import dsnc
from dsnc.serve.answers import answer, answer_table, as_json, as_lines
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.oip import HEADER_LENGTH, infer, parse
from dsnc.serve.options import Options
from dsnc.serve.served import Served

LIMITS = Limits()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    X = np.eye(4, dtype=np.float32).repeat(30, axis=0) + np.eye(4, dtype=np.float32)[::-1].repeat(
        30, axis=0
    )
    Y = [["a", "d"], ["b", "c"], ["b", "c"], ["a", "d"]]
    sets = [labels for labels in Y for _ in range(30)]
    folder = tmp_path_factory.mktemp("sets") / "tags"
    dsnc.DSNCMultiLabelClassifier(n_bits=8, max_epochs=5).fit(X, sets).save(folder)
    return Served.read("tags", folder), X[::30]


def asked(served, X, **wishes):
    return list(answer(served, X, Options(**wishes), lambda: None))


def test_sets_are_lists_of_labels(served):
    served, X = served
    expected = dsnc.load(served.path).sets_and_probabilities(X)
    found = json.loads(as_json(served, asked(served, X, probabilities=True)))
    assert found["labels"] == expected[0]
    for row, shares in zip(found["probabilities"], expected[1], strict=True):
        assert row == pytest.approx(shares, abs=1e-6)
    assert "probabilities" not in json.loads(as_json(served, asked(served, X)))


def test_lines_of_sets(served):
    served, X = served
    lines = as_lines(asked(served, X)[0], Options()).decode().splitlines()
    assert [json.loads(line)["labels"] for line in lines] == dsnc.load(served.path).predict_sets(X)


def test_the_best_labels(served):
    served, X = served
    block = asked(served, X, top_k=3)[0]
    assert block.labels == dsnc.load(served.path).predict_top_k(X, 3)[0].tolist()


def test_labels_that_are_not_probable_enough_are_left_out(served):
    served, X = served
    names, shares = dsnc.load(served.path).sets_and_probabilities(X)
    least = sorted(share for row in shares for share in row)[3]
    block = asked(served, X, reject_below=least)[0]
    expected = [
        [name for name, share in zip(*row, strict=True) if share >= least]
        for row in zip(names, shares, strict=True)
    ]
    assert block.labels == expected != names
    assert block.decisions is None
    (block,) = asked(served, X, reject_below=least, top_k=2)
    _, shares = dsnc.load(served.path).predict_top_k(X, 2)
    assert block.decisions == ["answer" if p >= least else "person" for p in shares[:, 0].tolist()]


@pytest.mark.parametrize("is_binary", [False, True])
def test_sets_as_tensors_are_lists_in_json(served, is_binary):
    served, X = served
    names, shares = dsnc.load(served.path).sets_and_probabilities(X)
    tensor = {"name": "inputs", "shape": X.shape, "datatype": "FP32", "data": X.ravel().tolist()}
    body = {"inputs": [tensor], "parameters": {"binary_data_output": is_binary}}
    asked = parse(served, json.dumps(body).encode(), None, LIMITS)
    said, headers, n_rows = infer(served, asked, lambda: None, LIMITS)
    told = json.loads(said[: int(headers.get(HEADER_LENGTH, len(said)))])
    assert n_rows == len(X)
    assert [one["datatype"] for one in told["outputs"]] == ["BYTES", "BYTES"]
    if is_binary:
        assert all(json.dumps(row, separators=(",", ":")).encode() in said for row in names)
        return
    labels, probabilities = (list(map(json.loads, one["data"])) for one in told["outputs"])
    assert labels == names
    for row, expected in zip(probabilities, shares, strict=True):
        assert row == pytest.approx(expected, abs=1e-6)


def test_sets_in_a_table_are_joined_as_the_shell_does_it(served):
    served, X = served
    table = "\n".join([",".join("abcd"), *(",".join(map(str, row)) for row in X.tolist())])
    found, _, n_rows = answer_table(served, table.encode(), Options(), lambda: None, LIMITS)
    names, _ = dsnc.load(served.path).sets_and_probabilities(X)
    lines = found.decode().splitlines()
    assert n_rows == len(X) and lines[0] == "a,b,c,d,prediction,probability"
    assert [line.split(",")[4] for line in lines[1:]] == ["|".join(row) for row in names]


def test_an_answer_of_too_many_labels_is_refused_though_nobody_knew_before(served):
    served, X = served
    narrow = Limits(max_answers=len(X) + 1)
    with pytest.raises(Refused, match="The answer would have") as refused:
        list(answer(served, np.tile(X, (600, 1)), Options(), lambda: None, narrow))
    assert refused.value.status == 413
