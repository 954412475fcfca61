"""What an n-gram is and how it is hashed, as the native core has it.

Model files hold buckets, so that the hash may never change.
"""

from typing import NamedTuple

BREAK, MARK, WORD = 0, 1, 2  # kinds of characters
LONGEST = 32  # items of an n-gram

PRIME = 0x01000193
OF_CHARACTERS, OF_A_WORD, OF_WORDS = 0x811C9DC5, 0x9AE16A3B, 0xC3A5C85C  # where a hash starts
OF_A_FIELD = 0x9E3779B1  # added for each field before: a word of another field is another word
FIELD = 0x1F  # between fields of a text, whose n-grams are their own; ASCII's unit separator
MIX_FIRST, MIX_SECOND = 0x85EBCA6B, 0xC2B2AE35

Sizes = tuple[int, int]  # shortest and longest n-gram; (0, 0) for none
NO_SIZES: Sizes = (0, 0)


class Grams(NamedTuple):
    """Which n-grams are made of a text, and how repetitions count."""

    words: Sizes
    characters: Sizes
    lowercase: bool
    sublinear: bool
    n_hashes: int  # buckets, a power of two of 64 or more
