"""Code (and bit confidences) to classes: an open family, one small file per member."""

from dsnc.decoders.base import Cost, Decoder
from dsnc.decoders.codebook import CodebookDecoder
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.nearest import NearestDecoder
from dsnc.decoders.scores import ScoresDecoder
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder
from dsnc.decoders.table import TableDecoder

DECODERS: dict[str, type[Decoder]] = {
    "linear": LinearDecoder,
    "codebook": CodebookDecoder,
    "scores": ScoresDecoder,
    "soft": SoftDecoder,
    "nearest": NearestDecoder,
    "table": TableDecoder,
    "shortlist": ShortlistDecoder,
}

__all__ = [
    "DECODERS",
    "CodebookDecoder",
    "Cost",
    "Decoder",
    "LinearDecoder",
    "NearestDecoder",
    "ScoresDecoder",
    "ShortlistDecoder",
    "SoftDecoder",
    "TableDecoder",
]
