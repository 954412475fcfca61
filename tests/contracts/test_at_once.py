"""A whole prediction as one call answers as the parts do one after the other."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.confidence import Confidence
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.features import TextFeatures
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors, FeatureReranker

N_ROWS, N_CLASSES, N_KNOWN = 40, 30, 70
WORDS = "nurse night bus driver ward truck school teacher cook chef Straße naïve".split()
NUMBERS = "float32", "float64"
CURVE = ((-2.0, 0.0, 3.0), (-1.0, 0.5, 2.0))
FIRST = Confidence(1.3, 0.4, 0.7, 0.9, 0.3, -0.2, 1.2, 0.1, CURVE).checked()
SECOND = Confidence(0.8, -0.4, 1.7, 1.1, 0.0, 0.2, 0.9, 0.3).checked()
DECODERS = {
    "near": {"size": 6},
    "far": {"size": 12, "flips": 3, "closeness": 0.2, "sharpness": 0.6},
    "one": {"size": 1},
    "all": {"size": N_CLASSES, "prior": 0.5},
}
STAGES = {
    "none": None,
    "trained": {"size": 5, "reach": 3.0, "mix": 1.5},
    "all": {"size": 50, "reach": 1e6, "mix": 0.2},
    "unit rows": {"size": 8, "reach": 1.0, "mix": 1.0, "unit_rows": True},
}


def texts(rng, n=N_ROWS):
    counts = rng.integers(0, 6, n)
    return [" ".join(rng.choice(WORDS, count)) for count in counts]


def rows_of(kind, rng):
    """Return rows, features that turn them into numbers, and their width."""
    if kind == "texts":
        some = texts(rng)
        features = TextFeatures(min_rows=1, n_hashes=2**12).fit(some)
        return some, features, features.n_features_
    X = rng.normal(size=(N_ROWS, 37)) * (rng.random((N_ROWS, 37)) < 0.4)
    X[3] = 0
    name, number = kind.split()
    X = X.astype(number)
    if name == "dense":
        return X, None, X.shape[1]
    X = sp.csr_matrix(X)
    return scattered(X, rng) if name == "scattered" else X, None, X.shape[1]


def scattered(X, rng):
    """Return the rows with entries in any order, and some of them in two pieces."""
    rows, columns = X.nonzero()
    values = np.asarray(X[rows, columns]).ravel() / 2
    rows, columns, values = (np.concatenate([part, part]) for part in (rows, columns, values))
    order = np.lexsort([rng.random(len(rows)), rows])
    starts = np.searchsorted(rows[order], np.arange(N_ROWS + 1))
    entries = (
        values[order].astype(X.dtype),
        columns[order].astype(np.int32),
        starts.astype(np.int32),
    )
    return sp.csr_matrix(entries, shape=X.shape)


def made(kind, decoder, stage, n_bits, *, unit=False):
    rng = np.random.default_rng([len(kind), len(decoder), len(stage), n_bits])
    X, features, width = rows_of(kind, rng)
    layer = Layer(rng.normal(size=(width, n_bits)), rng.normal(size=n_bits))
    linear = LinearDecoder(rng.normal(size=(N_CLASSES, n_bits)), rng.normal(size=N_CLASSES))
    labels = np.append(np.arange(N_CLASSES), rng.integers(0, N_CLASSES, N_KNOWN - N_CLASSES))
    known = PackedCodes.from_bits(rng.random((N_KNOWN, n_bits)) < 0.5)
    shortlist = ShortlistDecoder(linear, known, labels, **DECODERS[decoder])
    reranker = None
    if STAGES[stage] is not None:
        settings = dict(STAGES[stage])
        weights = rng.normal(size=(N_CLASSES, width)) * (rng.random((N_CLASSES, width)) < 0.5)
        vectors = ClassVectors.from_matrix(
            weights, rng.normal(size=N_CLASSES), unit_rows=settings.pop("unit_rows", False)
        )
        reranker = FeatureReranker(vectors, confidence=SECOND, **settings)
    encoder = NumpyEncoder([layer], row_normalize=unit)
    return X, Predictor(encoder, shortlist.with_confidence(FIRST), features, reranker=reranker)


def step_by_step(predictor):
    """Return the same predictor, which does not know the core as a whole."""
    other = predictor.with_decoder(predictor.decoder, reranker=predictor.reranker)
    vars(other)["_core"] = None
    return other


KINDS = (
    "texts",
    *(f"{name} {number}" for name in ("dense", "sparse", "scattered") for number in NUMBERS),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("stage", STAGES)
def test_answers_are_those_of_the_parts(kind, decoder, stage):
    unit = stage == "all"
    X, predictor = made(kind, decoder, stage, 20 if decoder == "far" else 67, unit=unit)
    parts = step_by_step(predictor)
    for k in 1, 2, 5, 13, N_CLASSES:
        assert predictor.top_k_at_once(X, k) is not None
        for found, expected in zip(predictor.top_k(X, k), parts.top_k(X, k), strict=True):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
        for found, expected in zip(
            predictor.top_k_proba(X, k), parts.top_k_proba(X, k), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
    found = predictor.predict(X)
    np.testing.assert_array_equal(found, parts.predict(X))
    assert found.dtype == np.int64


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_the_same_answers_alone_and_in_threads(kind):
    X, predictor = made(kind, "far", "trained", 67)
    X = X * 8 if isinstance(X, list) else (sp.vstack if sp.issparse(X) else np.concatenate)([X] * 8)
    X = X.tocsr() if sp.issparse(X) else X
    expected = predictor.top_k_proba(X, 4)
    for found, whole in zip(predictor.top_k_proba(X, 4, n_jobs=3), expected, strict=True):
        np.testing.assert_array_equal(found, whole)
    for row in range(N_ROWS):
        alone = predictor.top_k_proba(X[row : row + 1], 4)
        for found, whole in zip(alone, expected, strict=True):
            np.testing.assert_array_equal(found, whole[row : row + 1])
