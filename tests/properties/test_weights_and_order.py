"""A row of weight w counts as w rows, and the order of held-out rows does not matter.

So it is for everything that is fitted on held-out rows and ends up in a model file.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.classifier.open_world import usual_rows
from dsnc.codes import Encoded
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import HeldOut, LinearDecoder, SoftDecoder
from dsnc.decoders.memory import Memory
from dsnc.rerank import ClassVectors
from dsnc.selection import SelectionSettings, choose
from dsnc.selection.balance import offset_by_rows
from dsnc.selection.lesson import Rows
from dsnc.selection.sets import AVERAGES, SetSettings, fit_rule
from dsnc.targets import Targets
from made_evidence import problem

N, N_CLASSES = 600, 30
RNG = np.random.default_rng(0)
WEIGHT = RNG.integers(1, 4, N)
COPIES, ORDER = np.repeat(np.arange(N), WEIGHT), RNG.permutation(N)
SAME = {"copies": (COPIES, None), "another order": (ORDER, WEIGHT[ORDER])}
# Which scoring is the best is a matter of more rows or fewer; here it is given.
PLAIN = {"sharpness": 1.0, "prior": 1.0}
DECODERS = {
    "linear": "linear",
    "soft": {"name": "soft", **PLAIN},
    "shortlist": {"name": "shortlist", "known": "weights", "size": 6, "closeness": 0.0, **PLAIN},
    "nearest": "nearest",
    "table": {"name": "table", **PLAIN},
}


class Trainer:
    """Returns class vectors in place of training them."""

    def __call__(self, decoder, budget, C):
        rng = np.random.default_rng(3)
        matrix = 3 * np.eye(N_CLASSES) + rng.normal(0, 0.5, (N_CLASSES, N_CLASSES))
        return [ClassVectors.from_matrix(matrix, np.zeros(N_CLASSES))]


@pytest.fixture(scope="module")
def known():
    """Codes that tell little of the class, and features that tell more."""
    return problem(N_CLASSES, n=N, noise=1.6)


def with_rows(known, rows, weight):
    """Return the same evidence with some of the held-out rows, in this order."""
    logits, targets = known.held_out.encoded.logits[rows], known.held_out.targets
    noise = np.random.default_rng(1).normal(0, 0.3, (N, N_CLASSES))
    X = (np.eye(N_CLASSES)[targets.y] + noise).astype(np.float32)[rows]
    weight = None if weight is None else weight.astype(np.float32)
    encoded = Encoded(logits, source=(X, slice(0, len(rows))))
    return replace(known, held_out=HeldOut(encoded, targets.take(rows), weight))


def fitted(evidence, decoder, reranker):
    """Return all numbers of what was chosen."""
    evidence = replace(evidence, train_vectors=Trainer())
    chosen = choose(evidence, SelectionSettings(decoder, reranker=reranker))
    numbers = {f"decoder {name}": array for name, array in chosen.decoder.arrays().items()}
    if chosen.reranker is not None:
        more = chosen.reranker.arrays().items()
        numbers |= {f"reranker {name}": array for name, array in more}
    return numbers


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("reranker", [None, "features"])
@pytest.mark.parametrize("decoder", DECODERS)
def test_decoders_and_the_second_stage(known, decoder, reranker, same):
    expected = fitted(with_rows(known, np.arange(N), WEIGHT), DECODERS[decoder], reranker)
    found = fitted(with_rows(known, *SAME[same]), DECODERS[decoder], reranker)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        # A curve is fitted to groups of rows, whose borders copies may move a little.
        atol = 0.02 if name.endswith("curve") and same == "copies" else 1e-4
        np.testing.assert_allclose(found[name], array, rtol=1e-3, atol=atol, err_msg=name)


@pytest.mark.parametrize("decoder", DECODERS)
def test_weights_make_a_difference(known, decoder):
    """Else the test above would say nothing."""
    weight = np.where(known.held_out.targets.y % 2, 9, 1)
    weighted, plain = (
        fitted(with_rows(known, np.arange(N), each), DECODERS[decoder], "features")
        for each in (weight, None)
    )
    differ = [n for n in plain if not np.array_equal(plain[n], weighted[n])]
    assert any(name.startswith("reranker") for name in differ)
    assert any(name.startswith("decoder") for name in differ)


def test_what_is_usual_in_another_order(known):
    linear, owners = known.linear, np.arange(N_CLASSES, dtype=np.int32)
    predictor = SimpleNamespace(decoder=SoftDecoder(linear.weight, linear.bias))
    one, other = (
        usual_rows(predictor, replace(with_rows(known, rows, None), owners=owners), None)
        for rows in (np.arange(N), ORDER)
    )
    np.testing.assert_allclose(other.usual, one.usual, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(other.quantiles, one.quantiles, rtol=1e-4, atol=1e-5)


def balance(rows, judged, copies=1):
    """Return what new classes want on top, as told by these held-out rows and by rows of theirs."""
    rng = np.random.default_rng(2)
    centers, is_new = rng.normal(size=(40, 8)).astype(np.float32), np.arange(40) >= 30
    owners = np.append(rng.integers(30, size=N), rng.integers(30, 40, size=N))
    logits = centers[owners] + 2 * rng.normal(size=(2 * N, 8)).astype(np.float32)
    memory = Memory.empty(8, 40).counting(np.repeat(np.arange(30), 10 * copies))
    memory = memory.with_held_out(SoftCodes.from_logits(logits[rows]), owners[rows])
    judge = Rows(logits[N:][judged], owners[N:][judged])
    bias = 2.0 * is_new - np.square(np.tanh(centers / 2)).sum(axis=1)  # too much on top
    decoder = SoftDecoder(2 * np.tanh(centers / 2), bias)
    offset = offset_by_rows(decoder, memory, judge, is_new, 10.0 * copies)
    return offset * (len(judged) + 100) / len(judged)  # more rows are believed more


def test_the_balance_of_old_and_new_classes():
    expected = balance(np.arange(N), np.arange(N))
    assert expected < -1
    assert balance(ORDER, ORDER) == expected
    twice = np.arange(N).repeat(2)
    assert balance(twice, twice, copies=2) == pytest.approx(expected, abs=1e-9)


def sets_of_labels(rows, weight):
    rng = np.random.default_rng(5)
    linear = LinearDecoder(rng.normal(size=(12, 16)), rng.normal(size=12) - 2)
    logits = rng.normal(size=(N, 16)).astype(np.float32)
    odds = np.tanh(logits / 2) @ linear.weight.T + linear.bias
    has = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    weight = None if weight is None else weight.astype(np.float32)
    targets = Targets(sp.csr_array(has[rows]), 12)
    return SoftDecoder(linear.weight, linear.bias), HeldOut(Encoded(logits[rows]), targets, weight)


@pytest.mark.parametrize("same", SAME)
@pytest.mark.parametrize("per_label", [False, True])
@pytest.mark.parametrize("average", AVERAGES)
def test_rules_for_label_sets(average, per_label, same):
    settings = SetSettings(average, per_label=per_label)
    expected, found = (
        fit_rule(*sets_of_labels(*rows), settings, 12).arrays()
        for rows in ((np.arange(N), WEIGHT), SAME[same])
    )
    for name, array in expected.items():
        close = {"rtol": 0.01, "atol": 0.01 if name == "odds" else 1e-3}  # scores are in groups
        np.testing.assert_allclose(found[name], array, **close, err_msg=name)
