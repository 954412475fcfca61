"""Texts that are not ASCII: what the native core leaves to Python's tables of Unicode.

Those of a block become one string, which is normalized as a whole, each text ended by a newline.
Every step acts on one character, or on a letter and its marks, so that a text gives the same alone
as among others.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError, shorten
from dsnc.features.grams import MARK, WORD

Kinds = NDArray[np.uint8]
_ROWS, _LENGTH = 1024, 1 << 20  # texts and characters of a block
_RUN = 30  # marks in a row; more are left out, as in Unicode's Stream-Safe Text Format
_STEP = _RUN // 2  # a longer run covers two places that are so far apart, and all between them
_PIECE = 1 << 12  # characters that are normalized at a time: others have their turn in between
_FEW = 100  # characters that are looked up faster one by one
_BECOME_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
_MARKED = (range(0x80, 0x20000), range(0xE0000, 0xE1000))  # other planes have no marks


def blocks_of(texts: Iterable[Any]) -> Iterator[list[Any]]:
    """Cut the texts into lists that are worth a call and fit the memory.

    A text that is longer than a block is one by itself. Items that are no texts go through.
    """
    iterator = iter(texts)
    while block := list(islice(iterator, _ROWS)):
        try:
            total = sum(map(len, block))
        except TypeError:  # what has no length is not text, either
            total = 0
        if total <= _LENGTH:
            yield block
        else:
            yield from _shorter(block)


def _shorter(block: list[Any]) -> Iterator[list[Any]]:
    part: list[Any] = []
    room = _LENGTH
    for text in block:
        if part and len(text) > room:
            yield part
            part, room = [], _LENGTH
        part.append(text)
        room -= len(text)
    yield part


def read_others(texts: list[str], lowercase: bool) -> tuple[str, Kinds]:
    """Return texts that are not all ASCII, normalized, and the table of the kinds of characters.

    A newline ends each text; those inside become spaces. Cases are folded by Unicode's rule that
    looks at no neighbors.
    """
    joined = "\n".join([*texts, ""])
    if joined.count("\n") != len(texts):
        joined = "\n".join([*(str.replace(text, "\n", " ") for text in texts), ""])
    return normalized(joined, lowercase=lowercase), all_kinds()


def normalized(text: str, *, lowercase: bool) -> str:
    """Return the text in Unicode's form NFKC, with cases folded; long runs of marks are cut."""
    if text.isascii():
        return text.casefold() if lowercase else text
    pieces = (unicodedata.normalize("NFKC", piece) for piece in _pieces(_with_short_runs(text)))
    return "".join([piece.casefold() for piece in pieces] if lowercase else pieces)


def _pieces(text: str) -> Iterator[str]:
    """Cut a text where a character begins that joins none before it."""
    start = 0
    while start < len(text):
        end = start + _PIECE
        while end < len(text) and _joins(text[end]):
            end += 1
        yield text[start:end]
        start = end


def _joins(character: str) -> bool:
    """Tell whether a character may become one with those before it: a mark, a vowel of Hangul."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first)[0] == "M" or "\u1161" <= first <= "\u11ff"


def _with_short_runs(text: str) -> str:
    """Return the text without marks that follow 30 others: to sort n of them takes Python n^2."""
    if len(text) <= _RUN or not _has_long_run(text):
        return text
    codes = _codes(text)
    run = _marks()[1].take(codes)
    for step in (1, 2, 4, 8, 15):  # whether the next 2, 4, 8, 16, 31 are marks
        run = run[step:] & run[:-step]
    kept = np.ones(len(codes), dtype=np.bool_)
    kept[_RUN:] = ~run
    return codes[kept].tobytes().decode("utf-32-le", "surrogatepass")


def _has_long_run(text: str) -> bool:
    """Tell whether more than 30 marks are in a row, or almost so many, by few looks."""
    (marks, table), some = _marks(), text[::_STEP]
    if len(some) < _FEW and marks.isdisjoint(some):
        return False
    found = table.take(_codes(some))
    places = np.flatnonzero(found[1:] & found[:-1]) * _STEP
    return any(marks.issuperset(text[place : place + _STEP]) for place in places.tolist())


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def is_missing(item: Any) -> bool:
    """Tell whether an item stands for nothing: None, NaN, or what pandas has for it."""
    return item is None or type(item).__name__ in ("NAType", "NaTType") or bool(item != item)


def not_a_text(texts: Iterable[Any], first: int = 0) -> InputError:
    """Name the first item that is not text."""
    for row, item in enumerate(texts, first):
        if not isinstance(item, str):
            missing = is_missing(item)
            fix = "give missing texts as ''" if missing else "convert it with str()"
            fix = "decode it, as by .decode()" if isinstance(item, bytes) else fix
            kind = type(item).__name__
            return InputError(f"texts[{row}] is {shorten(item)} of type {kind}; {fix}.")
    return InputError("texts holds something that is not text.")


@functools.cache
def _marks() -> tuple[frozenset[str], NDArray[np.bool_]]:
    """Return the characters that normalization may sort among their neighbors, and a table."""
    some = (chr(code) for codes in _MARKED for code in codes)
    marks = frozenset(filter(unicodedata.combining, some)).union(_BECOME_MARKS)
    return marks, np.isin(np.arange(0x110000), [*map(ord, marks)])


@functools.cache
def all_kinds() -> Kinds:
    r"""Return the kind of each code point; made at the first text that is not ASCII.

    Words are of characters for which `str.isalnum` holds, or "_" (what ``\w`` is in patterns), and
    of the combining marks after them, without which most scripts of India fall to pieces.
    """
    kinds = np.zeros(0x110000, dtype=np.uint8)
    for some in _MARKED:
        for code in some:
            if unicodedata.category(chr(code))[0] == "M":
                kinds[code] = MARK
    codes = np.arange(0x110000, dtype="<u4")
    everything = codes.tobytes().decode("utf-32-le", "surrogatepass")
    for match in re.finditer(r"\w+", everything):
        kinds[match.start() : match.end()] = WORD
    return kinds
