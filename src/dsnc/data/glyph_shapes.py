"""The shapes that the embedded data set is drawn from: which characters there are, and merged how.

Latin A, Greek Alpha and Cyrillic A are one picture, so they must be one class: no reader of
pictures can tell them apart. A *clean picture* is a character in one font style, undistorted, its
ink in the middle, so that it does not matter where on the line the character stands.
"""

import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import require
from dsnc.sparse import sp

STYLES = tuple(
    f"DejaVu{family}{style}"
    for family, slanted in (("Sans", "Oblique"), ("SansMono", "Oblique"), ("Serif", "Italic"))
    for style in ("", "-Bold", f"-{slanted}", f"-Bold{slanted}")
)
CLEAN_SIZE = 40  # side of a clean picture

_BOX = CLEAN_SIZE - 4  # the ink's place in it; the rim stays empty
_EM = 32  # font size
_LARGEST = 1.4  # em; a larger character would be unreadable once shrunk to the box
_SAME = 0.02  # characters that differ in less than this share of their ink are one class
_ALIKE = 0.12  # and in less than this are look-alikes


def require_report(module: str) -> Any:
    """Import matplotlib, Pillow or a part of them."""
    return require(module, extra="report", caller="load_glyphs")


@cache
def glyph_classes() -> tuple[str, ...]:
    """Return the available classes, each as the string of the characters that share its shape.

    Its first character, the lowest code point, names the class. The classes come in the order of
    these, in two passes: first the characters of a shape of their own, then the look-alikes, which
    are made of others (accented letters, superscripts, fractions) or resemble an earlier one. A
    thousand classes are then a thousand shapes, and not fifty letters under twenty accents.
    """
    from scipy.sparse.csgraph import connected_components  # slow to import, and seldom needed

    characters = _candidates()
    pictures, extents = clean_pictures(characters)
    fits = (extents.min(axis=1) > 0) & (extents.max(axis=1) <= _LARGEST)
    characters = [character for character, fit in zip(characters, fits, strict=True) if fit]
    difference = _differences(pictures[fits])
    # Components, because "looks the same" must be transitive to make classes.
    number = connected_components(sp.coo_array(difference < _SAME), directed=False)[1]
    members: dict[int, str] = {}
    for character, group in zip(characters, number.tolist(), strict=True):
        members[group] = members.get(group, "") + character
    _, first = np.unique(number, return_index=True)
    late = _come_late([characters[i] for i in first], difference[np.ix_(first, first)])
    return tuple(sorted(members.values(), key=lambda group: (group[0] in late, group)))


def _come_late(characters: list[str], difference: NDArray[np.float32]) -> set[str]:
    """Return the characters made of others, and those that resemble an earlier one."""
    composed = np.array([unicodedata.normalize("NFKD", c) != c for c in characters])
    order = np.lexsort((np.array(characters), composed))
    resembles = np.tril(difference[np.ix_(order, order)] < _ALIKE, -1).any(axis=1)
    late = composed[order] | resembles
    return {characters[i] for i in order[late]}


def _candidates() -> list[str]:
    """Return the letters, numbers, punctuation and symbols that every style has."""
    charmaps = [
        require_report("matplotlib.ft2font").FT2Font(path).get_charmap() for path in font_paths()
    ]
    shared = sorted(set.intersection(*map(set, charmaps)))
    return [c for c in map(chr, shared) if unicodedata.category(c)[0] in "LNPS"]


def font_paths() -> list[str]:
    """Return the files of the styles, in the order of `STYLES`."""
    folder = Path(require_report("matplotlib").get_data_path()) / "fonts" / "ttf"
    return [str(folder / f"{style}.ttf") for style in STYLES]


def _differences(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return |a - b|^2 for all pairs of characters over all styles, as a share of their ink.

    It is |a|^2 + |b|^2 - 2ab, so that all pairs are one matrix product; at half the resolution,
    which is what the drawn pictures show. The ink is that of the character with less of it.
    """
    n, half = len(pictures), CLEAN_SIZE // 2
    halves = pictures.reshape(n, -1, half, 2, half, 2).mean(axis=(3, 5), dtype=np.float32)
    flat = halves.reshape(n, -1) / np.float32(255)
    difference: NDArray[np.float32] = flat @ flat.T
    ink = difference.diagonal().copy()
    difference *= -2
    difference += ink[:, None]
    difference += ink
    difference /= np.minimum(ink[:, None], ink)
    return difference


def clean_pictures(characters: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Draw each character in each style: pictures (n, styles, side, side), largest sides in em."""
    truetype = require_report("PIL.ImageFont").truetype
    pictures = np.zeros((len(characters), len(STYLES), CLEAN_SIZE, CLEAN_SIZE), dtype=np.uint8)
    extents = np.zeros((len(characters), len(STYLES)))
    for style, path in enumerate(font_paths()):
        # The basic layout, because the other one depends on what else is installed.
        font = truetype(path, 2 * _EM, layout_engine=0)
        for row, character in enumerate(characters):
            pictures[row, style], extents[row, style] = _clean_picture(character, font)
    return pictures, extents


def _clean_picture(character: str, font: Any) -> tuple[NDArray[np.uint8], float]:
    """Draw one character in the middle of its picture; what is too large for it shrinks to fit."""
    # Twice as large as needed, and reduced: that smooths the edges evenly, whatever the hinting.
    canvas = require_report("PIL.Image").new("L", (6 * _EM, 6 * _EM))
    require_report("PIL.ImageDraw").Draw(canvas).text((2 * _EM, _EM), character, 255, font)
    ink = canvas.getbbox()
    if ink is None:
        return np.zeros((CLEAN_SIZE, CLEAN_SIZE), dtype=np.uint8), 0.0
    extent = max(ink[2] - ink[0], ink[3] - ink[1])
    if extent > 2 * _BOX:
        canvas = canvas.crop(ink)
        canvas.thumbnail((2 * _BOX, 2 * _BOX))
        ink = (0, 0, *canvas.size)
    left, top = (ink[0] + ink[2]) // 2 - CLEAN_SIZE, (ink[1] + ink[3]) // 2 - CLEAN_SIZE
    frame = canvas.crop((left, top, left + 2 * CLEAN_SIZE, top + 2 * CLEAN_SIZE))
    return np.asarray(frame.reduce(2)), extent / (2 * _EM)
