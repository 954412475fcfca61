"""Packed binary codes, and exact search among them in Hamming space."""

from dsnc.codes.encoded import Encoded
from dsnc.codes.index import HammingIndex
from dsnc.codes.packed import PackedCodes, UniqueCodes
from dsnc.codes.table import CodeTable

__all__ = ["CodeTable", "Encoded", "HammingIndex", "PackedCodes", "UniqueCodes"]
