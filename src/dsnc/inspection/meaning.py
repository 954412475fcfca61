"""What codes mean: what each bit separates, and which classes are near each other.

Class codes are the signs of a linear decoder's weights, or the codebook where there is one. Which
classes are confused, the codes alone hardly tell: a bit that a class does not care about counts as
much as any. So near codes are only where to look, and how alike the class vectors are, the cosine
of their angle, is what puts classes in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import HammingIndex, PackedCodes
from dsnc.decoders import CodebookDecoder, LinearDecoder
from dsnc.encoders import NumpyEncoder
from dsnc.errors import InputError, did_you_mean
from dsnc.model import first_index

_COMPARED = 20_000  # labels that a misspelled one is compared with
_NEAR = 32  # classes of the nearest codes, among which the most alike are sought
_SPARE = 4  # times as many as are wanted, at least
_BLOCK = 1 << 22  # numbers held at a time


@dataclass(frozen=True)
class Neighbor:
    """A class near another."""

    label: Any
    distance: int  # bits in which their codes differ
    likeness: float  # cosine of their vectors


@dataclass(frozen=True)
class Pair:
    """Two classes that are near each other."""

    first: Any
    second: Any
    distance: int  # bits in which their codes differ
    likeness: float  # cosine of their vectors


@dataclass(frozen=True)
class BitFacts:
    """What a bit separates; each side begins with its most typical members."""

    bit: int
    share_set: float  # of the classes
    set_classes: list[tuple[Any, float]]  # label and weight
    unset_classes: list[tuple[Any, float]]
    set_features: list[tuple[str, float]]  # name and weight; empty behind hidden layers
    unset_features: list[tuple[str, float]]


def class_codes(model: Any) -> PackedCodes:
    """Return the code of each class, in the order of `classes_`."""
    decoder = model.predictor_.decoder
    if isinstance(decoder, CodebookDecoder):
        return decoder.codes
    return PackedCodes.from_logits(class_weights(model))


def class_weights(model: Any) -> NDArray[np.float32]:
    """Return (classes, bits) weights: how much each class wishes each bit to be set."""
    decoder = model.predictor_.decoder
    if isinstance(decoder, CodebookDecoder):
        return decoder.codes.to_signs(np.float32)
    linear = decoder if isinstance(decoder, LinearDecoder) else getattr(decoder, "linear", None)
    if linear is None or not hasattr(model, "encode"):
        raise InputError(
            f"a model of kind {model.kind!r} with decoder {decoder.name!r} has no codes of classes."
        )
    weight: NDArray[np.float32] = linear.weight
    return weight


def class_number(model: Any, label: Any) -> int:
    """Return the number of a class by its label, or by how the label is written."""
    labels = [str(known) for known in model.classes_.tolist()]
    try:
        return labels.index(str(label))
    except ValueError:
        hint = did_you_mean(str(label), labels[:_COMPARED])
        raise InputError(
            f"class {str(label)!r} is not one of the {len(labels):,} classes of the model.{hint}"
        ) from None


def nearest_classes(model: Any, label: Any, k: int = 10) -> list[Neighbor]:
    """Return k classes whose vectors are most like that of a class, the most alike first.

    They are sought among those of the nearest codes, 32 or four times as many as are wanted.
    """
    codes, number = class_codes(model), np.array([class_number(model, label)])
    near = _alike(HammingIndex(codes), class_weights(model), number, max(_NEAR, _SPARE * k))
    found = zip(*(array[0, :k].tolist() for array in near), strict=True)
    return [Neighbor(_label(model, row), d, likeness) for row, d, likeness in found]


def closest_pairs(model: Any, k: int = 10) -> list[Pair]:
    """Return the pairs of classes that are hardest to tell apart, the most alike first.

    Every class is paired only with the one most like it among the 32 of the nearest codes.
    """
    codes, weight = class_codes(model), class_weights(model)
    if len(codes) < 2:
        return []
    index, near = HammingIndex(codes), min(_NEAR, len(codes) - 1)
    step = max(1, _BLOCK // (near * codes.n_bits))
    blocks = [np.arange(i, min(i + step, len(codes))) for i in range(0, len(codes), step)]
    best = [[array[:, 0] for array in _alike(index, weight, rows, near)] for rows in blocks]
    other, distance, likeness = (np.concatenate(arrays) for arrays in zip(*best, strict=True))
    pairs: dict[tuple[int, int], Pair] = {}
    for row in np.lexsort([distance, -likeness])[: 2 * k].tolist():  # a pair is there twice at most
        low, high = sorted((row, int(other[row])))
        names = _label(model, low), _label(model, high)
        pair = Pair(*names, int(distance[row]), float(likeness[row]))
        pairs.setdefault((low, high), pair)
    return list(pairs.values())[:k]


def _alike(
    index: HammingIndex, weight: NDArray[np.float32], rows: NDArray[np.int64], near: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return the classes near some others, their distances and likenesses: most alike first."""
    distances, others = index.search(index.codes.take(rows), near + 1)
    own = others == rows[:, None]
    own[:, -1] |= ~own.any(axis=1)  # so many have its code that the class itself is not listed
    shape = len(rows), others.shape[1] - 1
    distances, others = distances[~own].reshape(shape), others[~own].reshape(shape)
    likeness = np.einsum("ij,ikj->ik", _unit(weight[rows]), _unit(weight[others]))
    order = np.lexsort([others, distances, -likeness])
    found = (np.take_along_axis(array, order, axis=1) for array in (others, distances, likeness))
    return tuple(found)  # type: ignore[return-value]


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors with a length of 1; one of zeros stays."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = (vectors / np.where(length > 0, length, 1)).astype(np.float32)
    return scaled


def bit_facts(
    model: Any, bit: int, *, n: int = 8, names: Mapping[int, str] | None = None
) -> BitFacts:
    """Return what a bit separates: n classes and features of each side.

    Features without a name in `names` are called by their number.
    """
    up, down = pushing_features(model, bit, n)
    column = class_weights(model)[:, bit]
    high, low = extremes(column, n)
    names = names or {}
    # In svmlight files the first feature may be called 1; people know it by that number.
    shift = first_index(model) or 0

    def feature(i: int) -> tuple[str, float]:
        weight = float(model.predictor_.encoder.layers[0].weight[i, bit])
        return names.get(i, f"feature {i + shift}"), weight

    return BitFacts(
        bit=bit,
        share_set=float((column > 0).mean()),
        set_classes=[(_label(model, i), float(column[i])) for i in high],
        unset_classes=[(_label(model, i), float(column[i])) for i in low],
        set_features=[feature(i) for i in up],
        unset_features=[feature(i) for i in down],
    )


def pushing_features(model: Any, bit: int, n: int) -> tuple[list[int], list[int]]:
    """Return the features with the largest and the smallest weights for a bit.

    Behind hidden layers a feature pushes no bit by itself, and there are none.
    """
    n_bits, encoder = model.predictor_.n_bits, model.predictor_.encoder
    if not 0 <= bit < n_bits:
        raise InputError(f"bit {bit} is not one of the codes' bits, 0 to {n_bits - 1}.")
    if not isinstance(encoder, NumpyEncoder) or len(encoder.layers) > 1:
        return [], []
    return extremes(np.asarray(encoder.layers[0].weight[:, bit]), n)


def feature_names(model: Any, columns: list[int], texts: Any = None) -> dict[int, str]:
    """Name features: by the n-grams of sample texts, as in training, or not at all."""
    features = model.predictor_.features
    if features is not None and texts is not None:
        found = features.names(texts, sorted(set(columns)))
        return {column: " / ".join(grams) for column, grams in found.items()}
    given = getattr(model, "feature_names_in_", None)
    return {} if given is None else {column: str(given[column]) for column in columns}


def extremes(values: NDArray[Any], n: int) -> tuple[list[int], list[int]]:
    """Return the places of the n largest positive and of the n smallest negative values."""
    high, low = _largest(values, n), _largest(-values, n)
    return [i for i in high if values[i] > 0], [i for i in low if values[i] < 0]


def _largest(values: NDArray[Any], n: int) -> list[int]:
    """Return the places of the n largest values, of equal ones the first, without sorting all."""
    if n < len(values):
        places = np.flatnonzero(values >= np.partition(values, -n)[-n])
    else:
        places = np.arange(len(values))
    order = np.argsort(-values[places], kind="stable")[:n]
    return [int(place) for place in places[order]]


def _label(model: Any, number: int) -> Any:
    return model.classes_[number : number + 1].tolist()[0]
