"""Code (and bit confidences) to classes: an open family, one small file per member."""

from dsnc.decoders.base import Cost, Decoder
from dsnc.decoders.codebook import CodebookDecoder
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.scores import ScoresDecoder
from dsnc.decoders.soft import SoftDecoder

DECODERS: dict[str, type[Decoder]] = {
    "linear": LinearDecoder,
    "codebook": CodebookDecoder,
    "scores": ScoresDecoder,
    "soft": SoftDecoder,
}

__all__ = [
    "DECODERS",
    "CodebookDecoder",
    "Cost",
    "Decoder",
    "LinearDecoder",
    "ScoresDecoder",
    "SoftDecoder",
]
