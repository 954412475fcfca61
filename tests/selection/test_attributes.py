"""The map from attributes to codes and to vectors over features."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from dsnc.codes.soft import SoftCodes
from dsnc.decoders.memory import Memory
from dsnc.errors import InputError
from dsnc.rerank import ClassVectors
from dsnc.selection.attributes import AttributeMap

RNG = np.random.default_rng(0)
A = RNG.normal(size=(40, 3))
LOGITS = A @ RNG.normal(size=(3, 8)) + RNG.normal(size=(40, 8)) * 0.1


@pytest.fixture
def memory():
    memory = Memory.empty(8, 40).with_rows(SoftCodes.from_logits(LOGITS[:30]), np.arange(30), 1, 0)
    return memory.counting(np.arange(30)).with_attributes(A, np.arange(40))


def test_it_is_a_ridge_regression(memory):
    known = AttributeMap.learned(memory)
    assert known.teachers.tolist() == list(range(30))
    inputs = (A - known.mean) / known.deviation
    twin = Ridge(known.penalty).fit(inputs[:30], known.codes).predict(inputs[30:])
    twin *= np.linalg.norm(known.codes, axis=1).mean() / np.linalg.norm(twin, axis=1)[:, None]
    assert np.allclose(known.logits(A[30:]), twin, atol=1e-4)
    assert ((known.logits(A[30:]) > 0) == (LOGITS[30:] > 0)).mean() > 0.9


def test_vectors_come_from_those_of_others(memory):
    weights = A[:30] @ RNG.normal(size=(3, 20))
    vectors = ClassVectors.from_matrix(weights, weights[:, 0])
    known = AttributeMap.learned(memory)
    found = known.vectors(vectors, A[30:])
    inputs = (A - known.mean) / known.deviation
    twin = Ridge(known.penalty).fit(inputs[:30], vectors.matrix().toarray())
    assert (
        np.abs(found.matrix().toarray() - twin.predict(inputs[30:])).max() < 0.3
    )  # what is too small to be kept
    assert found.n_classes == 10


def test_too_few_classes_cannot_teach(memory):
    few = Memory.empty(8, 40).with_attributes(A, np.arange(40))
    with pytest.raises(InputError, match="only 0 classes"):
        AttributeMap.learned(few)
