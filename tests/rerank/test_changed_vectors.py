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


def test_classes_take_all_of_their_vectors_along():
    old = ClassVectors.from_matrix(np.eye(4), np.arange(4), firsts=[0, 1, 3, 4])
    new = ClassVectors.from_matrix(np.eye(4)[:2] * 7, [8, 9])
    changed = old.with_classes(np.array([1, -1, 0, -1]), new)
    assert changed.firsts.tolist() == [0, 2, 3, 4, 5]
    assert changed.bias.tolist() == [1, 2, 8, 0, 9]
    assert changed.matrix().toarray().tolist() == [
        [0, 1, 0, 0],
        [0, 0, 1, 0],
        [7, 0, 0, 0],
        [1, 0, 0, 0],
        [0, 7, 0, 0],
    ]
    assert new.with_classes(np.array([1, -1]), old.with_classes(np.array([1]))).n_classes == 2
