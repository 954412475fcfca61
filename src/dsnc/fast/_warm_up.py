"""Compile what training runs ahead of its first use."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from dsnc.codes import Encoded
from dsnc.data.svmlight import parse_lines
from dsnc.decoders import HeldOut, LinearDecoder
from dsnc.decoders.known_codes import weight_codes
from dsnc.decoders.shortlist_tuning import tune_shortlist
from dsnc.fast.class_centers import find_class_centers
from dsnc.fast.class_vectors import Recipe, train_class_vectors
from dsnc.fast.learner import FastLearner
from dsnc.fast.rows import Feed, Scaling
from dsnc.rerank import FeatureReranker
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.settings import Settings


def _reading() -> None:
    parse_lines("-", [b"1 1:1"] * 50_000, 1, 1)


def _training(n_bits: int) -> None:
    rows, targets = np.eye(4, dtype=np.float32), Targets(np.arange(4, dtype=np.int32), 4)
    for X in (rows, sp.csr_matrix(rows)):  # of sparse rows, some features are left out
        examples = Examples(X, targets)
        learner = FastLearner(Settings(n_bits=n_bits, max_epochs=1), examples, 4, 0, n_jobs=1)
        learner.fit(examples, examples)


def _choosing() -> None:
    linear = LinearDecoder(np.eye(2, 8), np.zeros(2))
    rows = HeldOut(Encoded(np.eye(2, 8, dtype=np.float32)), Targets(np.arange(2), 2))
    tune_shortlist(linear, {"weights": weight_codes(linear)}, rows)


def _class_vectors() -> None:
    rows = np.eye(4, dtype=np.float32)
    targets, candidates = Targets(np.arange(4, dtype=np.int32), 4), np.zeros((4, 1), np.int32)
    for X, scaling in ((rows, Scaling()), (sp.csr_matrix(rows), Scaling(unit_rows=True))):
        feed = Feed(Examples(X, targets), scaling)
        vectors = train_class_vectors(feed, candidates, 4, Recipe(1.0, 100))
        encoded = Encoded(rows, source=(X, slice(0, 4)))
        FeatureReranker(vectors).margins(encoded, candidates.astype(np.int64))
    find_class_centers(Feed(Examples(rows, targets), Scaling()), candidates, most=1)


STEPS: dict[str, Callable[[], None]] = {
    "reading": _reading,
    "training": lambda: _training(8),
    "training of long codes": lambda: _training(512),  # distances in two octets
    "choosing a decoder": _choosing,
    "class vectors": _class_vectors,
}
"""What there is to compile, piece by piece, in words for who waits."""
