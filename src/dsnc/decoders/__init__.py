"""Decoders, which turn a code (and the confidence of its bits) into classes, and their registry."""

from dsnc.decoders.base import Decoder
from dsnc.decoders.codebook import CodebookDecoder
from dsnc.decoders.evidence import Evidence, HeldOut
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.nearest import NearestDecoder
from dsnc.decoders.registry import DECODERS, decoder_names, parse_decoder
from dsnc.decoders.scores import ScoresDecoder
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder
from dsnc.decoders.table import TableDecoder
from dsnc.rows import Cost

__all__ = [
    "DECODERS",
    "CodebookDecoder",
    "Cost",
    "Decoder",
    "Evidence",
    "HeldOut",
    "LinearDecoder",
    "NearestDecoder",
    "ScoresDecoder",
    "ShortlistDecoder",
    "SoftDecoder",
    "TableDecoder",
    "decoder_names",
    "parse_decoder",
]
