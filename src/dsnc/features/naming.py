"""What stands behind a column: the n-grams of a sample, hashed as the kernels do, in Python."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from dsnc.features.grams import (
    FIELD,
    MIX_FIRST,
    MIX_SECOND,
    OF_A_FIELD,
    OF_A_WORD,
    OF_CHARACTERS,
    OF_WORDS,
    PRIME,
    Grams,
    Sizes,
)
from dsnc.features.points import normalized

_SHOWN = 3  # n-grams of a column
_FULL = (1 << 32) - 1


def readable_buckets(texts: Iterable[str], grams: Grams) -> dict[int, list[str]]:
    """Return the n-grams of each bucket that occurs, the most frequent ones first, three at most.

    N-grams of characters stand in quotes, where a space is the border of a word.
    """
    seen: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for text in texts:
        for name, bucket in grams_of(text, grams):
            seen[bucket][name] += 1
    best = {b: sorted(names, key=lambda n: (-names[n], n)) for b, names in seen.items()}
    return {bucket: names[:_SHOWN] for bucket, names in best.items()}


def grams_of(text: str, grams: Grams) -> Iterator[tuple[str, int]]:
    """Yield all n-grams of a text with their buckets, repeated ones repeatedly."""
    fields = normalized(text, lowercase=grams.lowercase).split(chr(FIELD))
    for number, field in enumerate(fields):
        words, salt = _words(field), number * OF_A_FIELD & _FULL
        of_words = _word_grams(words, grams.words, salt)
        for name, h in chain(of_words, _character_grams(words, grams.characters, salt)):
            yield name, h % grams.n_hashes


def _words(text: str) -> list[str]:
    """Return the words, as `dsnc.features.points.all_kinds` has it, without that large table."""
    words, inside = [""], False
    for character in text:
        is_mark = inside and unicodedata.category(character)[0] == "M"
        if is_mark or character.isalnum() or character == "_":
            words[-1] += character
            inside = True
        elif inside:
            words.append("")
            inside = False
    return words if inside else words[:-1]


def _word_grams(words: list[str], sizes: Sizes, salt: int) -> Iterator[tuple[str, int]]:
    hashes = [_hash(OF_A_WORD ^ salt, map(ord, word)) for word in words]
    for size in range(max(1, sizes[0]), sizes[1] + 1):
        for stop in range(size, len(words) + 1):
            run = slice(stop - size, stop)
            yield " ".join(words[run]), _hash(OF_WORDS, reversed(hashes[run]))


def _character_grams(words: list[str], sizes: Sizes, salt: int) -> Iterator[tuple[str, int]]:
    shortest, longest = sizes
    for word in words if longest else ():
        word = f" {word} "
        least = min(shortest, len(word))
        for size in range(least, min(longest, len(word)) + 1):
            for start in range(len(word) - size + 1):
                gram = word[start : start + size]
                yield f"'{gram}'", _hash(OF_CHARACTERS ^ salt, map(ord, gram))


def _hash(seed: int, items: Iterable[int]) -> int:
    h = seed
    for item in items:
        h = (h ^ item) * PRIME & _FULL
    h = (h ^ h >> 16) * MIX_FIRST & _FULL
    h = (h ^ h >> 13) * MIX_SECOND & _FULL
    return h ^ h >> 16
