"""What stands behind a column: the n-grams of a sample, hashed in Python as in the native core."""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

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
)
from dsnc.features.points import normalized

_SHOWN = 3  # n-grams of a column
_FULL = (1 << 32) - 1


Placed = tuple[str, int, int, int]  # an n-gram, its bucket, where it begins and ends


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
    for name, bucket, _, _ in placed_grams(normalized(text, lowercase=grams.lowercase), grams):
        yield name, bucket


def placed_grams(text: str, grams: Grams) -> Iterator[Placed]:
    """Yield all n-grams of a text that is normalized already, and where they stand in it."""
    first = 0
    for number, field in enumerate(text.split(chr(FIELD))):
        words, salt = placed_words(field, first), number * OF_A_FIELD & _FULL
        yield from _word_grams(words, grams, salt)
        yield from _character_grams(words, grams, salt)
        first += len(field) + 1


def placed_words(text: str, first: int = 0) -> list[tuple[int, str]]:
    """Return the words, as `dsnc.features.points.all_kinds` has it, without that large table.

    Each comes after the place where it begins; `first` is that of the text.
    """
    words, start = [], -1  # where the word began that is being read
    for place, character in enumerate(text):
        is_mark = start >= 0 and unicodedata.category(character)[0] == "M"
        if is_mark or character.isalnum() or character == "_":
            start = place if start < 0 else start
        elif start >= 0:
            words.append((first + start, text[start:place]))
            start = -1
    return words if start < 0 else [*words, (first + start, text[start:])]


def _word_grams(words: list[tuple[int, str]], grams: Grams, salt: int) -> Iterator[Placed]:
    hashes = [_hash(OF_A_WORD ^ salt, map(ord, word)) for _, word in words]
    for size in range(max(1, grams.words[0]), grams.words[1] + 1):
        for stop in range(size, len(words) + 1):
            run = slice(stop - size, stop)
            name = " ".join([word for _, word in words[run]])
            bucket = _hash(OF_WORDS, reversed(hashes[run])) % grams.n_hashes
            last, word = words[stop - 1]
            yield name, bucket, words[stop - size][0], last + len(word)


def _character_grams(words: list[tuple[int, str]], grams: Grams, salt: int) -> Iterator[Placed]:
    shortest, longest = grams.characters
    for first, bare in words if longest else ():
        word, begin, end = f" {bare} ", first - 1, first + len(bare)  # borders are no places
        least = min(shortest, len(word))
        for size in range(least, min(longest, len(word)) + 1):
            for start in range(len(word) - size + 1):
                gram = word[start : start + size]
                bucket = _hash(OF_CHARACTERS ^ salt, map(ord, gram)) % grams.n_hashes
                stop = begin + start + size
                yield (
                    f"'{gram}'",
                    bucket,
                    begin + start if start else first,
                    stop if stop < end else end,
                )


def _hash(seed: int, items: Iterable[int]) -> int:
    h = seed
    for item in items:
        h = (h ^ item) * PRIME & _FULL
    h = (h ^ h >> 16) * MIX_FIRST & _FULL
    h = (h ^ h >> 13) * MIX_SECOND & _FULL
    return h ^ h >> 16
