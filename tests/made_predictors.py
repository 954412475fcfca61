"""Predictors of every kind of decoder and encoder, from random arrays, and rows for them."""

import numpy as np
import scipy.sparse as sp

from dsnc.codes import CodeTable, PackedCodes
from dsnc.decoders import (
    CodebookDecoder,
    LinearDecoder,
    NearestDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
)
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.labels import Labels
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors, FeatureReranker

N_BITS, N_CLASSES, N_FEATURES, N_ROWS = 10, 14, 9, 6
LABELS = Labels(np.array([f"class {i}" for i in range(N_CLASSES)]))


class UsersModule:
    """An encoder that is no `NumpyEncoder`."""

    n_features, n_bits = N_FEATURES, N_BITS

    def logits(self, X):
        return np.asarray(X @ np.ones((N_FEATURES, N_BITS), np.float32)) + np.arange(-5, 5)


def vectors(rng):
    return LinearDecoder(rng.normal(size=(N_CLASSES, N_BITS)), rng.normal(size=N_CLASSES))


def codes(rng, n):
    return PackedCodes.from_bits(rng.random((n, N_BITS)) < 0.5)


def owners(rng, n, most=N_CLASSES):
    return np.append(np.arange(most), rng.integers(0, most, n - most))


def shortlist(rng, **settings):
    known = codes(rng, 30), owners(rng, 30)
    return ShortlistDecoder(vectors(rng), *known, closeness=0.3, sharpness=0.7, **settings)


def table(rng, **settings):
    answers = rng.integers(0, N_CLASSES, 1 << N_BITS).astype(np.uint8)
    return TableDecoder(CodeTable(answers, N_BITS), vectors(rng), sharpness=2, prior=0, **settings)


def soft(rng, **settings):
    linear = vectors(rng)
    return SoftDecoder(linear.weight, linear.bias, sharpness=1.4, prior=0.5, **settings)


def nearest(rng, n_neighbors=1, n_known=3):
    known = codes(rng, 20), owners(rng, 20, n_known)  # most classes have no code
    return NearestDecoder(*known, N_CLASSES, n_neighbors=n_neighbors)


DECODERS = {
    "linear": vectors,
    "soft": soft,
    "soft tanh": lambda rng: soft(rng, inputs="tanh"),
    "soft logits": lambda rng: soft(rng, inputs="logits"),
    "soft relu": lambda rng: soft(rng, inputs="relu"),
    "shortlist": lambda rng: shortlist(rng),
    "shortlist of one": lambda rng: shortlist(rng, size=1),
    "table": table,
    "table of one": lambda rng: table(rng, probes=1),
    "nearest": nearest,
    "nearest of one": lambda rng: nearest(rng, n_known=1),
    "nearest five": lambda rng: nearest(rng, n_neighbors=5),
    "codebook": lambda rng: CodebookDecoder(codes(rng, N_CLASSES)),
}


def linear_encoder(rng, *, row_normalize=False):
    layer = Layer(rng.normal(size=(N_FEATURES, N_BITS)), rng.normal(size=N_BITS))
    return NumpyEncoder([layer], row_normalize=row_normalize)


def mlp(rng):
    first = Layer(rng.normal(size=(N_FEATURES, 7)), rng.normal(size=7), "relu")
    return NumpyEncoder([first, Layer(rng.normal(size=(7, N_BITS)), rng.normal(size=N_BITS))])


ENCODERS = {
    "linear": linear_encoder,
    "unit": lambda rng: linear_encoder(rng, row_normalize=True),
    "mlp": mlp,
    "module": lambda rng: UsersModule(),
}


def reranker(rng, *, unit_rows=False, **settings):
    matrix = sp.random(N_CLASSES, N_FEATURES, density=0.6, random_state=rng, format="csr")
    made = ClassVectors.from_matrix(matrix, rng.normal(size=N_CLASSES), unit_rows=unit_rows)
    return FeatureReranker(made, **{"mix": 0.4, "size": 8, "reach": 4.0} | settings)


RERANKERS = {
    "no": lambda rng: None,
    "yes": reranker,
    "of unit rows": lambda rng: reranker(rng, unit_rows=True, reach=1e9),
}


def rows(rng, *, sparse=False):
    """Rows with zeros; the last is nothing but zeros."""
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * (rng.random((N_ROWS, N_FEATURES)) < 0.7)
    X[-1] = 0
    return sp.csr_matrix(X) if sparse else X


def make(decoder="soft", encoder="linear", second="no", seed=0):
    rng = np.random.default_rng(seed)
    parts = ENCODERS[encoder](rng), DECODERS[decoder](rng)
    return Predictor(*parts, reranker=RERANKERS[second](rng)), rng
