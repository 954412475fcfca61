"""What an n-gram is and how it is hashed: the numbers that kernels and plain Python share.

Model files hold buckets, so that the hash may never change.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    def settings(self) -> NDArray[np.int64]:
        """Return what the kernels have to know."""
        return np.array([*self.words, *self.characters, self.sublinear], dtype=np.int64)

    def room(self, n_points: int) -> NDArray[np.uint32]:
        """Return room for all n-grams of so many characters.

        A word has a border on both sides, so that n words have 2n characters or more.
        """
        (a, b), (c, d) = self.words, self.characters
        most = (b - a + 1 if b else 0) + 2 * (d - c + 1 if d else 0)
        return np.empty(LONGEST + most * n_points, dtype=np.uint32)
