"""The lead of the winner over the runner-up, taken apart."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.encoders.numpy import NumpyEncoder
from dsnc.explanation.first_stage import FirstStage, not_a_sum
from dsnc.explanation.ranking import Ranking, compared
from dsnc.explanation.result import BIT, OTHER, Term
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors

_ROUNDED = 1e-5  # a share of the terms that single precision may lose
_MISTAKEN = 1e-4  # a share that is no rounding
_BITS_BIAS, _ROUNDING = "bias of the bits", "rounding of the bits"
_VECTORS_BIAS = "bias of the class vectors"

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]


class Row(NamedTuple):
    """The features of a row that are not 0."""

    features: Ints
    values: Doubles

    def unit(self) -> Doubles:
        """Return the values of a row of length 1; one of zeros has none."""
        length = np.sqrt(np.square(self.values).sum())
        return self.values / (length if length > 0 else 1.0)


class Parts(NamedTuple):
    """What adds up to the lead of a row; each bit's part once more for itself."""

    bits: Doubles
    first: Doubles  # of the features of the row
    second: Doubles
    others: list[Term]


def row_of(rows: Any, i: int) -> Row:
    """Return a row of an array or a CSR matrix."""
    if sp.issparse(rows):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        features, values = rows.indices[part].astype(np.int64), rows.data[part]
    else:
        values = np.asarray(rows[i])
        features = np.flatnonzero(values)
        values = values[features]
    return Row(features, values.astype(np.float64))


def parts_of(
    predictor: Predictor, row: Row, logits: NDArray[np.float32], ranking: Ranking
) -> Parts:
    """Take the lead of the winner over the runner-up apart."""
    none, reranker = np.zeros(len(row.features)), predictor.reranker
    if len(ranking.classes) < 2:
        return Parts(np.zeros(len(logits)), none, none, [])
    pair, stage = compared(predictor, logits, ranking)
    told = float(ranking.first[0] - ranking.first[1])
    size = np.abs(stage.bits * stage.weight).sum() + np.abs(ranking.first[:2]).sum()
    if abs(told - stage.lead()) > _MISTAKEN * (1 + size):  # it scores in a way of its own
        raise not_a_sum(predictor.decoder)
    twice, mix, second, others = bool(ranking.looked_at[1]), 1.0, none, []
    if reranker is not None and twice:
        mix = reranker.mix
        vectors = [class_vector(reranker.vectors, number, row) for number in pair]
        second = vectors[0][0] - vectors[1][0]
        others.append(Term(_VECTORS_BIAS, OTHER, 0.0, vectors[0][1] - vectors[1][1]))
    first, of_bits = _shared(predictor.encoder, row, stage)
    of_bits += [Term(name, OTHER, value) for name, value in stage.constants.items()]
    others += [replace(term, first=mix * term.first) for term in of_bits]
    return Parts(mix * stage.bits * stage.weight, mix * first, second, others)


def _shared(encoder: Any, row: Row, stage: FirstStage) -> tuple[Doubles, list[Term]]:
    """Share what the bits add among the features, if the encoder is linear; return the rest, too.

    Behind hidden layers, and in a module of the user's, a bit is the smallest part there is.
    """
    parts = stage.bits * stage.weight
    layers = encoder.layers if isinstance(encoder, NumpyEncoder) else ()
    if len(layers) != 1 or layers[0].activation != "none":
        terms = [Term(f"bit {j}", BIT, part) for j, part in enumerate(parts.tolist())]
        return np.zeros(len(row.features)), terms
    x = row.unit() if encoder.row_normalize else row.values
    weight = layers[0].weight[row.features].astype(np.float64)
    bias = layers[0].bias.astype(np.float64)
    logits = bias + x @ weight
    pull = stage.slope(logits) * stage.weight
    terms = [Term(_BITS_BIAS, OTHER, float(bias @ pull))]
    rounding = float(parts.sum() - logits @ pull)
    if abs(rounding) > _ROUNDED * np.abs(parts).sum():
        terms.append(Term(_ROUNDING, OTHER, rounding))
    return x * (weight @ pull), terms


def class_vector(vectors: ClassVectors, number: int, row: Row) -> tuple[Doubles, float]:
    """Return what a class thinks of each feature of a row, and its bias.

    Of several vectors, the one that says most counts.
    """
    own = vectors.of_class(number)
    each = [_one_vector(vectors, v, row) for v in range(own.start, own.stop)]
    return max(each, key=lambda parts: float(parts[0].sum()) + parts[1])


def _one_vector(vectors: ClassVectors, number: int, row: Row) -> tuple[Doubles, float]:
    part = slice(vectors.starts[number], vectors.starts[number + 1])
    places = np.searchsorted(row.features, vectors.features[part])
    places[places == len(row.features)] = 0
    weights = np.zeros(len(row.features))
    if len(row.features):
        own = row.features[places] == vectors.features[part]
        scaled = vectors.weights[part][own] * float(vectors.scales[number])
        np.add.at(weights, places[own], scaled)
    values = row.unit() if vectors.unit_rows else row.values
    return weights * values, float(vectors.bias[number])
