"""What stands behind a column: the n-grams of a sample, hashed as the kernels do, in Python."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

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


class PlacedGram(NamedTuple):
    """An n-gram, its bucket, and the characters of a normalized text that it covers."""

    name: str
    bucket: int
    start: int
    stop: int


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
    for gram in placed_grams(normalized(text, lowercase=grams.lowercase), grams):
        yield gram.name, gram.bucket


def placed_grams(text: str, grams: Grams) -> Iterator[PlacedGram]:
    """Yield all n-grams of a text that is normalized already, and where they stand in it."""
    first = 0
    for number, field in enumerate(text.split(chr(FIELD))):
        words, salt = _words(field, first), number * OF_A_FIELD & _FULL
        of_words = _word_grams(words, grams.words, salt)
        for name, h, start, stop in chain(
            of_words, _character_grams(words, grams.characters, salt)
        ):
            yield PlacedGram(name, h % grams.n_hashes, start, stop)
        first += len(field) + 1


def _words(text: str, first: int) -> list[tuple[int, str]]:
    """Return the words, as `dsnc.features.points.all_kinds` has it, without that large table.

    Each comes after the place where it begins; `first` is that of the text.
    """
    words, inside = [(first, "")], False
    for place, character in enumerate(text, first):
        is_mark = inside and unicodedata.category(character)[0] == "M"
        if is_mark or character.isalnum() or character == "_":
            start, word = words[-1]
            words[-1] = (start if inside else place, word + character)
            inside = True
        elif inside:
            words.append((place, ""))
            inside = False
    return words if inside else words[:-1]


def _word_grams(
    words: list[tuple[int, str]], sizes: Sizes, salt: int
) -> Iterator[tuple[str, int, int, int]]:
    hashes = [_hash(OF_A_WORD ^ salt, map(ord, word)) for _, word in words]
    for size in range(max(1, sizes[0]), sizes[1] + 1):
        for stop in range(size, len(words) + 1):
            run = slice(stop - size, stop)
            name = " ".join(word for _, word in words[run])
            (start, _), (last, word) = words[stop - size], words[stop - 1]
            yield name, _hash(OF_WORDS, reversed(hashes[run])), start, last + len(word)


def _character_grams(
    words: list[tuple[int, str]], sizes: Sizes, salt: int
) -> Iterator[tuple[str, int, int, int]]:
    shortest, longest = sizes
    for first, bare in words if longest else ():
        word, end = f" {bare} ", first + len(bare)
        least = min(shortest, len(word))
        for size in range(least, min(longest, len(word)) + 1):
            for start in range(len(word) - size + 1):
                gram = word[start : start + size]
                begin = first + start - 1  # a border is no place of its own
                span = max(begin, first), min(begin + size, end)
                yield f"'{gram}'", _hash(OF_CHARACTERS ^ salt, map(ord, gram)), *span


def _hash(seed: int, items: Iterable[int]) -> int:
    h = seed
    for item in items:
        h = (h ^ item) * PRIME & _FULL
    h = (h ^ h >> 16) * MIX_FIRST & _FULL
    h = (h ^ h >> 13) * MIX_SECOND & _FULL
    return h ^ h >> 16
