"""Code (and bit confidences) to classes: an open family, one small file per member."""

from dsnc.decoders.base import Cost, Decoder
from dsnc.decoders.linear import LinearDecoder

DECODERS: dict[str, type[Decoder]] = {
    "linear": LinearDecoder,
}

__all__ = ["DECODERS", "Cost", "Decoder", "LinearDecoder"]
