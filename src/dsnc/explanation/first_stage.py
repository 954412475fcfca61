"""The score of a decoder as a sum over bits: what tells two classes apart, bit by bit.

    first[winner] - first[runner] = sum_j bits[j] * weight[j] + constants

Where bits are a smooth function of logits, a bit is ``slope * logit`` with a slope that is bounded,
and features can share it by their parts of the logit, however near to 0 that is. A hard bit has no
such slope. Its features share the value that it has on average in training, ``tanh(logit / 2)``,
and what is left of it is a term of its own: what rounding has added.

Nearest neighbors are a sum over bits as well: of two codes, minus the distance is
``sum_j sign[j] * other[j] / 2`` less half the number of bits.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders import (
    Decoder,
    LinearDecoder,
    NearestDecoder,
    ShortlistDecoder,
    SoftDecoder,
    TableDecoder,
)
from dsnc.decoders.scoring import soft_bits
from dsnc.decoders.soft import INPUTS
from dsnc.errors import InputError

Doubles = NDArray[np.float64]
_SURE = np.float32(1e6)  # no bit counts for more: see src/native/shortlist.cpp
CLASS_BIAS, DOUBT = "bias of the classes", "distance to the nearest codes"
NO_CODE, VOTES = "no code is known", "votes of the neighbors"


class FirstStage(NamedTuple):
    """What a decoder has against one class and for another."""

    bits: Doubles  # what the weights multiply
    weight: Doubles  # of the winner less that of the runner-up
    slope: Callable[[Doubles], Doubles]  # of logits: what features share, for a point of a logit
    constants: dict[str, float]  # name to value

    def lead(self) -> float:
        """Return by how much the winner's score is larger."""
        return float(self.bits @ self.weight) + sum(self.constants.values())


def first_stage(
    decoder: Decoder, logits: NDArray[np.float32], pair: tuple[int, int], lead: float
) -> FirstStage:
    """Take the scores of two classes, the winner and the runner-up of a row, apart.

    The lead is by how much the score of the winner is larger, as the decoder says; only votes need
    it.
    """
    if isinstance(decoder, NearestDecoder):
        return _nearest(decoder, logits, pair, lead)
    if isinstance(decoder, SoftDecoder):
        bits = INPUTS[decoder.inputs](np.float32(decoder.sharpness) * logits)
        slope = _slope(decoder.inputs, decoder.sharpness)
        return _linear(decoder, bits, slope, pair, decoder.prior)
    if isinstance(decoder, LinearDecoder):
        return _linear(decoder, _signs(logits), _slope("soft_signs", 1.0), pair)
    if not isinstance(decoder, ShortlistDecoder | TableDecoder):
        raise not_a_sum(decoder)
    bits = soft_bits(logits, decoder.sharpness)
    slope = _slope("soft_signs", decoder.sharpness)
    stage = _linear(decoder.linear, bits, slope, pair, decoder.prior)
    if isinstance(decoder, ShortlistDecoder) and decoder.closeness > 0:
        doubts = [_doubt(decoder, logits, number) for number in pair]
        stage.constants[DOUBT] = -decoder.closeness * (doubts[0] - doubts[1])
    return stage


def not_a_sum(decoder: Decoder) -> InputError:
    """Return what is said of a decoder that is none of ours."""
    return InputError(
        f"decoder {decoder.name!r} cannot be explained: its scores are not a known sum over bits. "
        "Use 'linear', 'soft', 'shortlist', 'table' or 'nearest'."
    )


def _linear(
    linear: LinearDecoder,
    bits: NDArray[np.float32],
    slope: Callable[[Doubles], Doubles],
    pair: tuple[int, int],
    prior: float = 1.0,
) -> FirstStage:
    winner, runner = pair
    weight = linear.weight[winner].astype(np.float64) - linear.weight[runner]
    bias = prior * (float(linear.bias[winner]) - float(linear.bias[runner]))
    return FirstStage(bits.astype(np.float64), weight, slope, {CLASS_BIAS: bias})


def _nearest(
    decoder: NearestDecoder, logits: NDArray[np.float32], pair: tuple[int, int], lead: float
) -> FirstStage:
    code, half = PackedCodes.from_logits(logits[None]), decoder.n_bits / 2
    none, known = np.zeros(decoder.n_bits), [(decoder.labels == k).any() for k in pair]
    codes = [
        _nearest_code(decoder, code, k).to_signs(np.float64)[0] if is_known else none
        for k, is_known in zip(pair, known, strict=True)
    ]
    constants: dict[str, float] = {}
    stage = FirstStage(
        _signs(logits).astype(np.float64),
        (codes[0] - codes[1]) / 2,
        _slope("soft_signs", 1.0),
        constants,
    )
    if known[0] != known[1]:  # an impossible distance stands for that of no code
        constants[NO_CODE] = (half + 1) * (1.0 if known[0] else -1.0)
    if decoder.n_neighbors > 1:
        constants[VOTES] = lead - stage.lead()
    return stage


def _nearest_code(decoder: Any, code: PackedCodes, number: int) -> PackedCodes:
    """Return the known code of a class that is nearest; of equally near ones the first."""
    known: PackedCodes = decoder.codes.take(np.flatnonzero(decoder.labels == number))
    return known.take([int(code.distance(known)[0].argmin())])


def _doubt(decoder: ShortlistDecoder, logits: NDArray[np.float32], number: int) -> float:
    """Return how sure the row is of the bits in which the nearest code of a class differs."""
    code = PackedCodes.from_logits(logits[None])
    differing = _nearest_code(decoder, code, number).to_bits()[0] != code.to_bits()[0]
    return float(np.minimum(np.abs(logits), _SURE)[differing].sum(dtype=np.float64))


def _signs(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.where(logits > 0, np.float32(1), np.float32(-1))


def _slope(inputs: str, sharpness: float) -> Callable[[Doubles], Doubles]:
    """Return what one of `INPUTS` is for a point of a logit, of logits."""
    if inputs == "logits":
        return lambda x: np.full(x.shape, sharpness)
    if inputs == "relu":
        return lambda x: np.where(x > 0, sharpness, 0.0)
    steep = sharpness / 2 if inputs == "soft_signs" else sharpness

    def slope(logits: Doubles) -> Doubles:
        scaled = steep * logits
        near = np.abs(scaled) < 1e-4  # where tanh(x) is x
        ratio: Doubles = np.tanh(scaled) / np.where(near, 1.0, scaled)
        return steep * np.where(near, 1.0, ratio)

    return slope
