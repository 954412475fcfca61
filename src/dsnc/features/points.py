"""Texts to code points: what the kernels read.

A block of texts becomes one string, is normalized as a whole and comes out as an array of code
points, each text ended by a newline. Every step acts on one character, or on a letter and its
marks, so that a text gives the same alone as among others.
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
from dsnc.features.grams import BREAK, MARK, WORD

Points = NDArray[np.uint32]
Kinds = NDArray[np.uint8]
_ROWS, _LENGTH = 1024, 1 << 20  # texts and characters of a block
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


def read_points(texts: list[str], *, lowercase: bool, first: int = 0) -> tuple[Points, Kinds]:
    """Return the code points of a block and the table of the kinds of characters.

    A newline comes first and after each text; those inside become spaces. ASCII needs no
    normalization and a small table only. Cases are folded by Unicode's rule that looks at no
    neighbors; `first` numbers the texts in messages.
    """
    try:
        joined = "\n".join(["", *texts, ""])
    except TypeError:
        raise not_a_text(texts, first) from None
    if joined.count("\n") != len(texts) + 1:
        joined = "\n".join(["", *(str.replace(text, "\n", " ") for text in texts), ""])
    ascii_only = joined.isascii()
    joined = normalized(joined, lowercase=lowercase)
    data = bytearray(joined.encode("utf-32-le", "surrogatepass"))
    points = np.frombuffer(data, dtype="<u4").astype(np.uint32, copy=False)
    return points, _ascii_kinds() if ascii_only else all_kinds()


def normalized(text: str, *, lowercase: bool) -> str:
    """Return the text in Unicode's form NFKC, with cases folded."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.casefold() if lowercase else text


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
def _ascii_kinds() -> Kinds:
    is_word = [chr(code).isalnum() or chr(code) == "_" for code in range(128)]
    return np.where(is_word, WORD, BREAK).astype(np.uint8)


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
