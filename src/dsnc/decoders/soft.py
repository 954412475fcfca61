"""The linear decoder on real numbers, which also uses how sure each bit is.

``score[k] = prior * bias[k] + sum_j f(sharpness * logit[j]) * weight[k, j]``, with f one of

    logits       x                 loss-based decoding of a codebook, see below
    soft_signs   tanh(x / 2)       the mean of a random bit of -1 and +1; sigmoid units
    tanh         tanh(x)
    relu         max(x, 0)

Loss-based decoding (E. Allwein, R. Schapire, Y. Singer, "Reducing Multiclass to Binary", JMLR 2000)
chooses the class whose row s of the codebook has the least ``sum_j loss(s[j] * logit[j])``. With
the logistic loss that is ``sum_j log(2 cosh(logit[j] / 2)) - s[j] * logit[j] / 2``: the first term
is the same for all classes, so this is the same decoder on the logits, with weight s / 2, and its
softmax is the probability of the class if bits err independently.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import check_arrays, numbers
from dsnc.checks import one_of
from dsnc.codes import Encoded
from dsnc.decoders.base import CONFIDENCE
from dsnc.decoders.checks import Check
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.linear import VECTORS, Floats, LinearDecoder, needed_vectors
from dsnc.decoders.scoring import (
    NOTHING,
    SCORING,
    SCORING_CHECKS,
    WIDTH,
    Candidates,
    Scoring,
    best_scoring,
    rows_to_score,
    valid_scoring,
)
from dsnc.errors import InputError
from dsnc.threads import alone

if TYPE_CHECKING:
    from dsnc.decoders.changes import Change
    from dsnc.decoders.evidence import Evidence, HeldOut

_LARGEST = 1e18  # inputs are cut there: no score can overflow

INPUTS: dict[str, Callable[[Floats], Floats]] = {  # model files hold the position: append only
    "logits": lambda x: np.clip(x, -_LARGEST, _LARGEST),
    "soft_signs": lambda x: np.tanh(x * np.float32(0.5)),
    "tanh": np.tanh,
    "relu": lambda x: np.clip(x, 0, _LARGEST),
}


class Tuned(NamedTuple):
    """A decoder, and where it is right on held-out rows, as `HeldOut.take` has them."""

    decoder: "SoftDecoder"
    right: NDArray[np.bool_]


class SoftDecoder(LinearDecoder):
    """Scores every class by its weights, on a function of the logits.

    Parameters
    ----------
    weight : array of shape (n_classes, n_bits)
    bias : array of shape (n_classes,)
    inputs : "logits", "soft_signs", "tanh" or "relu", default "soft_signs"
        The function of a logit that the weights multiply: a key of `INPUTS`.
    sharpness, prior : float, default 1.0
        The logits are multiplied by `sharpness`, the biases by `prior`; see
        `dsnc.decoders.scoring`.

    Examples
    --------
    >>> decoder = SoftDecoder([[1, 0], [0, 1]], [0, 0], inputs="logits")
    >>> decoder.top_k(Encoded([[0.5, 2.0]]), 2)
    (array([[1, 0]]), array([[2. , 0.5]], dtype=float32))
    """

    name: ClassVar[str] = "soft"
    settings: ClassVar[Mapping[str, Check] | None] = SCORING_CHECKS
    sees_soft_bits: ClassVar[bool] = True
    largest_input: ClassVar[float] = _LARGEST
    _numbers: ClassVar[Mapping[str, str]] = {**LinearDecoder._numbers, **SCORING}

    def __init__(
        self,
        weight: ArrayLike,
        bias: ArrayLike,
        *,
        inputs: str = "soft_signs",
        sharpness: float = 1.0,
        prior: float = 1.0,
    ) -> None:
        super().__init__(weight, bias)
        self.inputs = one_of("inputs", inputs, INPUTS)
        self.sharpness, self.prior = valid_scoring(sharpness, prior)
        self._offset = np.float32(prior) * self.bias

    @classmethod
    def make(cls, evidence: "Evidence", **settings: Any) -> Self:
        """Use the class vectors for soft bits; held-out rows choose what is not set."""
        scorer, scoring = evidence.linear, soft_scoring(evidence, settings)
        return cls(scorer.weight, scorer.bias, **scoring)

    @classmethod
    def tuned(
        cls, linear: LinearDecoder, held_out: "HeldOut", fixed: Mapping[str, Any] = NOTHING
    ) -> "Tuned":
        """Return the decoder whose scoring suits held-out rows best, and which it gets right.

        The scoring is chosen and measured among the classes that score best before. If even that
        would take too long, the scoring stays plain and is not measured. What is `fixed` is not
        chosen.
        """
        plain = cls(linear.weight, linear.bias, **fixed)
        n = rows_to_score(linear)
        if n < min(256, len(held_out.targets)):
            return Tuned(plain, np.zeros(0, np.bool_))
        sample = held_out.take(n)
        with alone():
            classes, scores = plain.candidates(sample.encoded, WIDTH)
        doubts = np.zeros_like(scores)
        logits = sample.encoded.numbers()
        candidates = Candidates(linear, logits, classes, doubts, sample.targets, sample.weight)
        best = best_scoring(candidates, {**fixed, "closeness": 0.0})
        decoder = cls(linear.weight, linear.bias, sharpness=best.sharpness, prior=best.prior)
        return Tuned(decoder, candidates.right(candidates.scores(best)))

    def evidence(self) -> "Evidence":
        """Return the class vectors and their scoring."""
        return replace(super().evidence(), scoring=Scoring(self.sharpness, self.prior))

    def with_classes(self, change: "Change") -> Self:
        """Return a decoder with the vectors of other classes, whose biases count fully."""
        linear = needed_vectors(change)
        return self._like(linear, prior=1.0)

    def _like(self, linear: LinearDecoder, **changed: float) -> Self:
        names = ("inputs", "sharpness", "prior")
        settings: dict[str, Any] = {name: getattr(self, name) for name in names} | changed
        found = type(self)(linear.weight, linear.bias, **settings)
        return found.with_confidence(self.confidence)

    def _inputs(self, encoded: Encoded) -> Floats:
        logits, sharpness = encoded.numbers(), np.float32(self.sharpness)
        return INPUTS[self.inputs](logits if sharpness == 1 else sharpness * logits)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the linear decoder, and the number of the function."""
        number = np.array([list(INPUTS).index(self.inputs)], dtype=np.int8)
        return {**super().arrays(), "inputs": number}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        expected = {**VECTORS, **CONFIDENCE, **cls._numbers, "inputs": "int8 1"}
        check_arrays("soft decoder", arrays, expected)
        settings = numbers("soft decoder", arrays, [*cls._numbers, "inputs"])
        number = settings.pop("inputs")
        if not 0 <= number < len(INPUTS):
            raise InputError(
                f"soft decoder: array 'inputs' is {number}; expected 0 to {len(INPUTS) - 1}."
            )
        inputs = list(INPUTS)[number]
        decoder = cls(arrays["weight"], arrays["bias"], inputs=inputs, **settings)
        return decoder.with_confidence(Confidence.from_arrays(arrays))


def soft_scoring(evidence: "Evidence", fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return how bits and biases should count where all classes are scored, beside what is set."""
    fixed = {name: fixed[name] for name in SCORING if name in fixed}
    rows = evidence.rows
    chosen: Any = evidence.scoring
    if rows is not None:
        chosen = SoftDecoder.tuned(evidence.linear, rows, fixed).decoder
    return {name: getattr(chosen, name) for name in SCORING} | fixed
