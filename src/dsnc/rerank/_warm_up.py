"""Compile what a second stage runs ahead of its first use."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.rerank.class_vectors import ClassVectors
from dsnc.rerank.reranker import FeatureReranker


def _look() -> None:
    rows = np.eye(4, dtype=np.float32)
    reranker = FeatureReranker(ClassVectors.from_matrix(rows, np.zeros(4)))
    for X in (rows, sp.csr_matrix(rows)):
        classes, scores = np.tile(np.arange(4), (4, 1)), np.zeros((4, 4), dtype=np.float32)
        reranker.look(Encoded(rows, source=(X, slice(0, 4))), classes, scores)


STEPS: dict[str, Callable[[], None]] = {"second stage": _look}
"""What there is to compile, in words for who waits."""
