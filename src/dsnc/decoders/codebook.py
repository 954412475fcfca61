"""One code for each class, fixed beforehand: the nearest one in Hamming distance wins.

T. Dietterich, G. Bakiri, "Solving Multiclass Learning Problems via Error-Correcting Output Codes",
JAIR 1995. If codes differ from each other in d bits at least, (d - 1) // 2 wrong bits do no harm.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.base import Decoder, search_operations
from dsnc.decoders.linear import Floats, softmax
from dsnc.errors import InputError
from dsnc.rows import Cost

if TYPE_CHECKING:
    from dsnc.codes import HammingIndex

_BLOCK = 1 << 20  # distances held at a time


class CodebookDecoder(Decoder):
    """Gives a code the class of the nearest code of the book.

    The score of a class is minus its distance. If each bit is wrong with probability e,
    independently, then ``temperature = 1 / log((1 - e) / e)`` makes the probabilities right.

    Parameters
    ----------
    codes : PackedCodes
        The code of each class.
    temperature : float
        Divides the distances before they become probabilities.

    Examples
    --------
    >>> decoder = CodebookDecoder(PackedCodes.from_bits([[0, 0, 0, 1], [1, 1, 1, 0]]))
    >>> decoder.top_k(Encoded(codes=PackedCodes.from_bits([[1, 1, 0, 0]])), 2)
    (array([[1, 0]]), array([[-1., -3.]], dtype=float32))
    """

    name: ClassVar[str] = "codebook"

    def __init__(self, codes: PackedCodes, temperature: float = 1.0) -> None:
        if not len(codes):
            raise InputError("codes is empty; a codebook has one code for each class.")
        if not (np.isfinite(temperature) and np.float32(temperature) > 0):
            raise InputError(f"temperature={temperature!r} is not a number above 0.")
        self.codes, self.temperature = codes, float(np.float32(temperature))
        self.n_classes, self.n_bits = len(codes), codes.n_bits

    @cached_property
    def _index(self) -> "HammingIndex":
        """Make the search structure at the first use, since it loads a compiler."""
        from dsnc.codes import HammingIndex

        return HammingIndex(self.codes)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, which is made from the codes."""
        return {key: value for key, value in vars(self).items() if key != "_index"}

    def top_k(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Find the k nearest codes of each row; see `Decoder.top_k`."""
        self.check_width(encoded)
        distances, classes = self._index.search(encoded.codes, self.check_k(k))
        return classes, -distances.astype(np.float32)

    def proba(self, encoded: Encoded) -> Floats:
        """Return the softmax of minus the distances; see `Decoder.proba`."""
        self.check_width(encoded)
        result = np.empty((len(encoded), self.n_classes), dtype=np.float32)
        for rows, block in encoded.blocks(max(1, _BLOCK // self.n_classes)):
            np.negative(block.codes.distance(self.codes), out=result[rows])
            softmax(result[rows], self.temperature)
        return result

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the codes and the temperature."""
        temperature = np.array([self.temperature], dtype=np.float32)
        return {**self.codes.arrays(), "temperature": temperature}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, checking them."""
        expected = {"words": "uint64 2", "n_bits": "int64 1", "temperature": "float32 1"}
        check_arrays("codebook decoder", arrays, expected)
        if arrays["temperature"].size != 1:
            raise InputError("codebook decoder: array 'temperature' is not one number.")
        codes = PackedCodes.from_arrays({key: arrays[key] for key in ("words", "n_bits")})
        return cls(codes, arrays["temperature"].item())

    def cost(self) -> Cost:
        """Return the operations of a search among the codes, and their bytes."""
        return Cost(search_operations(self.n_bits, self.n_classes), self.codes.words.nbytes)
