"""One code for each class, chosen before training: the nearest one in Hamming distance wins.

T. Dietterich, G. Bakiri, "Solving Multiclass Learning Problems via Error-Correcting Output Codes",
JAIR 1995. If any two codes differ in at least d bits, (d - 1) // 2 wrong bits do no harm.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.codes import PackedCodes
from dsnc.decoders.base import CONFIDENCE
from dsnc.decoders.checks import Check
from dsnc.decoders.confidence import Confidence
from dsnc.decoders.nearest import NearestDecoder
from dsnc.rows import Cost

if TYPE_CHECKING:
    from dsnc.decoders.evidence import Evidence


class CodebookDecoder(NearestDecoder):
    """Gives a code the class of the nearest code in a codebook.

    The score of a class is minus its distance. If each bit is wrong with probability e,
    independently, then a temperature of ``1 / log((1 - e) / e)`` makes the probabilities right.

    Parameters
    ----------
    codes : PackedCodes
        The code of each class.

    Examples
    --------
    >>> from dsnc.codes import Encoded
    >>> decoder = CodebookDecoder(PackedCodes.from_bits([[0, 0, 0, 1], [1, 1, 1, 0]]))
    >>> decoder.top_k(Encoded(codes=PackedCodes.from_bits([[1, 1, 0, 0]])), 2)
    (array([[1, 0]]), array([[-1., -3.]], dtype=float32))
    """

    name: ClassVar[str] = "codebook"
    settings: ClassVar[Mapping[str, Check] | None] = None
    stands_alone: ClassVar[bool] = False

    def __init__(self, codes: PackedCodes) -> None:
        classes = np.arange(len(codes))
        super().__init__(codes, classes, max(1, len(classes)))

    @classmethod
    def make(cls, evidence: "Evidence", **settings: Any) -> Self:
        """Raise an error: the codes of a codebook are given, not learned."""
        return super(NearestDecoder, cls).make(evidence, **settings)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the codes, and how scores become probabilities."""
        return {**self.codes.arrays(), **self.confidence.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        expected = {"words": "uint64 2", "n_bits": "int64 1", **CONFIDENCE}
        check_arrays("codebook decoder", arrays, expected)
        codes = PackedCodes.from_arrays({key: arrays[key] for key in ("words", "n_bits")})
        return cls(codes).with_confidence(Confidence.from_arrays(arrays))

    def cost(self) -> Cost:
        """Return the operations of a search among the codes, and the bytes of the codes."""
        return Cost(self.search_operations(), self.codes.words.nbytes)
