"""The linear decoder on real numbers: what the signs of a code leave out decides as well.

``score[k] = prior * bias[k] + sum_j f(sharpness * logit[j]) * weight[k, j]``, with f one of

    logits       x                 loss-based decoding of a codebook, see below
    soft_signs   tanh(x / 2)       the mean of a random bit of -1 and +1; sigmoid units
    tanh         tanh(x)
    relu         max(x, 0)

Loss-based decoding (E. Allwein, R. Schapire, Y. Singer, "Reducing Multiclass to Binary", JMLR
2000) takes the class whose row s of the codebook has the least ``sum_j loss(s[j] * logit[j])``.
With the logistic loss that is ``sum_j log(2 cosh(logit[j] / 2)) - s[j] * logit[j] / 2``: the first
term is the same for all classes, so it is this decoder on the logits, with weight s / 2, and its
softmax is the probability of the class if bits err independently.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.arrays import check_arrays, one_each
from dsnc.codes import Encoded
from dsnc.decoders.linear import Floats, LinearDecoder
from dsnc.decoders.scoring import PLAIN_ARRAYS, SCORING, scoring_arrays, valid_scoring
from dsnc.errors import InputError, unknown_name

_LARGEST = 1e18  # inputs are cut there: no score can overflow

INPUTS: dict[str, Callable[[Floats], Floats]] = {  # model files hold the position: append only
    "logits": lambda x: np.clip(x, -_LARGEST, _LARGEST),
    "soft_signs": lambda x: np.tanh(x * np.float32(0.5)),
    "tanh": np.tanh,
    "relu": lambda x: np.clip(x, 0, _LARGEST),
}


class SoftDecoder(LinearDecoder):
    """Scores every class by its weights, on a function of the logits.

    Parameters
    ----------
    weight : array of shape (n_classes, n_bits)
    bias : array of shape (n_classes,)
    temperature : float
        Divides the scores before they become probabilities.
    inputs : str
        The function of a logit that the weights multiply: a key of `INPUTS`.
    sharpness, prior : float
        What logits and biases are multiplied by; see `dsnc.decoders.scoring`.

    Examples
    --------
    >>> decoder = SoftDecoder([[1, 0], [0, 1]], [0, 0], inputs="logits")
    >>> decoder.top_k(Encoded([[0.5, 2.0]]), 2)
    (array([[1, 0]]), array([[2. , 0.5]], dtype=float32))
    """

    name: ClassVar[str] = "soft"
    largest_input: ClassVar[float] = _LARGEST

    def __init__(
        self,
        weight: ArrayLike,
        bias: ArrayLike,
        temperature: float = 1.0,
        *,
        inputs: str = "soft_signs",
        sharpness: float = 1.0,
        prior: float = 1.0,
    ) -> None:
        super().__init__(weight, bias, temperature)
        if inputs not in INPUTS:
            raise unknown_name("inputs", inputs, INPUTS)
        self.inputs = inputs
        self.sharpness, self.prior = valid_scoring(sharpness, prior)
        self._offset = np.float32(prior) * self.bias

    def renewed(self, weight: ArrayLike, bias: ArrayLike, temperature: float | None = None) -> Self:
        """Return a decoder of other weights, with the settings of this one."""
        settings: dict[str, Any] = {
            name: getattr(self, name) for name in ("inputs", "sharpness", "prior")
        }
        return type(self)(weight, bias, temperature or self.temperature, **settings)

    def _inputs(self, encoded: Encoded) -> Floats:
        logits, sharpness = encoded.numbers(), np.float32(self.sharpness)
        return INPUTS[self.inputs](logits if sharpness == 1 else sharpness * logits)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return those of the linear decoder, the number of the function, and the scoring."""
        number = np.array([list(INPUTS).index(self.inputs)], dtype=np.int8)
        return {**super().arrays(), "inputs": number, **scoring_arrays(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, checking them."""
        expected = {
            "weight": "float32 2",
            "bias": "float32 1",
            "temperature": "float32 1",
            "inputs": "int8 1",
            **SCORING,
        }
        arrays = {**PLAIN_ARRAYS, **arrays}
        check_arrays("soft decoder", arrays, expected)
        numbers = arrays["inputs"].tolist()
        if len(numbers) != 1 or not 0 <= numbers[0] < len(INPUTS):
            raise InputError(f"soft decoder: array 'inputs' is {numbers}; expected one function.")
        names = ["temperature", *SCORING]
        temperature, sharpness, prior = one_each("soft decoder", arrays, names)
        return cls(
            arrays["weight"],
            arrays["bias"],
            temperature,
            inputs=list(INPUTS)[numbers[0]],
            sharpness=sharpness,
            prior=prior,
        )
