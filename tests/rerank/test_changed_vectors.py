"""Vectors over features of classes that come and go."""

import numpy as np

from dsnc.rerank import ClassVectors

RNG = np.random.default_rng(0)


def made(n_classes):
    matrix = RNG.normal(size=(n_classes, 9)) * (RNG.random((n_classes, 9)) < 0.5)
    return ClassVectors.from_matrix(matrix, RNG.normal(size=n_classes))


def test_with_classes_takes_and_inserts():
    old, new = made(5), made(2)
    changed = old.with_classes(np.array([4, -1, 0, -1, 2]), new)
    rows = [old.matrix()[4], new.matrix()[0], old.matrix()[0], new.matrix()[1], old.matrix()[2]]
    expected = np.stack([row.toarray().ravel() for row in rows])
    assert (changed.matrix().toarray() == expected).all()
    bias = [old.bias[4], new.bias[0], old.bias[0], new.bias[1], old.bias[2]]
    assert changed.bias.tolist() == bias


def test_other_biases():
    vectors = made(3)
    assert vectors.with_bias([1, 2, 3]).bias.tolist() == [1, 2, 3]
    assert len(vectors.with_bias([1, 2, 3])) == len(vectors)
