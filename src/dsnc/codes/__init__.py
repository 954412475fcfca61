"""Bits: packed binary codes and, built on them, everything that searches in Hamming space."""

from dsnc.codes.packed import PackedCodes, UniqueCodes

__all__ = ["PackedCodes", "UniqueCodes"]
