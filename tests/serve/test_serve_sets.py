"""Models of label sets are served as they predict."""

import json

import numpy as np
import pytest

import dsnc
from dsnc.serve.answers import answer, as_json, as_lines
from dsnc.serve.oip import infer
from dsnc.serve.options import options_of
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served


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
    return list(answer(served, X, options_of(wishes), lambda: None))


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
    lines = as_lines(asked(served, X)[0], options_of({})).decode().splitlines()
    assert [json.loads(line)["labels"] for line in lines] == dsnc.load(served.path).predict_sets(X)


def test_the_best_labels(served):
    served, X = served
    block = asked(served, X, top_k=3)[0]
    assert block.labels == dsnc.load(served.path).predict_top_k(X, 3)[0].tolist()


def test_tensors_need_a_shape(served):
    served, X = served
    tensor = {"name": "inputs", "shape": [1, 4], "datatype": "FP32", "data": X[0].tolist()}
    with pytest.raises(Refused, match="give the parameter top_k"):
        infer(served, json.dumps({"inputs": [tensor]}).encode(), None, 100, lambda: None)
