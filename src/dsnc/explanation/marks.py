"""Where the n-grams of a text stand in it, and what each of its characters adds by them."""

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import groupby, pairwise

import numpy as np

from dsnc.features import FittedTextFeatures
from dsnc.features.grams import FIELD
from dsnc.features.naming import placed_grams
from dsnc.features.points import normalized

LEVELS = 4  # shades of a color
_SHOWN = 3  # n-grams of a column
_FAINT = 0.05  # of the largest mark: what is less is not marked


def mark(
    text: str, features: FittedTextFeatures, values: Mapping[int, float]
) -> tuple[str, tuple[float, ...], dict[int, str]]:
    """Return the text, a mark for each of its characters, and the n-grams behind its columns.

    `values` maps columns to what they add. A column that several n-grams of the text fall into is
    shared among them.
    """
    grams = features.grams_
    clean, pieces = _aligned(text, lowercase=grams.lowercase)
    column_of = {int(features.buckets_[column]): column for column in values}
    found = [gram for gram in placed_grams(clean, grams) if gram[1] in column_of]
    counts = Counter(bucket for _, bucket, _, _ in found)
    seen: defaultdict[int, Counter[str]] = defaultdict(Counter)
    steps = np.zeros(len(clean) + 1)
    for name, bucket, start, stop in found:
        column = column_of[bucket]
        seen[column][name] += 1
        share = values[column] / counts[bucket]
        steps[start] += share
        steps[stop] -= share
    names = {column: " / ".join(n for n, _ in c.most_common(_SHOWN)) for column, c in seen.items()}
    of_clean, marks, start = np.cumsum(steps[:-1]), [], 0
    for piece, length in pieces:
        part = of_clean[start : start + length]
        marks += [float(part.mean()) if length else 0.0] * len(piece)
        start += length
    return "".join(piece for piece, _ in pieces), tuple(marks), names


def shades(text: str, marks: tuple[float, ...]) -> list[tuple[str, int]]:
    """Cut a text into pieces of one shade: above 0 for the winner, below against it, up to 4.

    Fields of a text are shown with a bar between them.

    Examples
    --------
    >>> shades("abc", (1.0, 1.0, -0.5))
    [('ab', 4), ('c', -2)]
    """
    top = max(map(abs, marks), default=0.0)
    levels = [_shade(value / top) if top else 0 for value in marks]
    pairs = groupby(zip(text, levels, strict=True), key=lambda pair: pair[1])
    pieces = [("".join(character for character, _ in some), level) for level, some in pairs]
    return [(piece.replace(chr(FIELD), " | "), level) for piece, level in pieces]


def _shade(share: float) -> int:
    if abs(share) < _FAINT:
        return 0
    shade = math.ceil(abs(share) * LEVELS)
    return shade if share > 0 else -shade


def _aligned(text: str, *, lowercase: bool) -> tuple[str, list[tuple[str, int]]]:
    """Return a text as n-grams see it, and pieces of the text with their lengths there.

    A piece is a character with the marks upon it. Where these cannot be normalized one by one, the
    text is given as it was normalized.
    """
    clean = normalized(text, lowercase=lowercase)
    if text.isascii():
        return clean, [(character, 1) for character in text]
    is_mark = [unicodedata.category(character)[0] == "M" for character in text]
    starts = [i for i, mark in enumerate(is_mark) if not i or not mark]
    pieces = [text[i:j] for i, j in pairwise([*starts, len(text)])]
    parts = [normalized(piece, lowercase=lowercase) for piece in pieces]
    if "".join(parts) != clean:
        return clean, [(character, 1) for character in clean]
    return clean, [(piece, len(part)) for piece, part in zip(pieces, parts, strict=True)]
