"""Small pictures for a page, as data addresses: no file, no request."""

import base64
import io

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import require

_LEVELS = 16  # shades of a heat map: more are not told apart, and cost bytes
_LOW, _HIGH = (248, 250, 252), (8, 48, 107)  # of a heat map: nothing, the most


def picture(pixels: NDArray[np.uint8]) -> str:
    """Return pixels (0 is paper, 255 is ink) as a picture; the page scales it."""
    return _address(255 - pixels)


def sheet(pictures: NDArray[np.uint8], columns: int) -> str:
    """Return pictures of shape (n, height, width) side by side, with a gap between them."""
    n, height, width = pictures.shape
    rows = -(-n // columns)
    gap = max(1, width // 14)
    pixels = np.zeros((rows, height + gap, columns, width + gap), dtype=np.uint8)
    for number, one in enumerate(pictures):
        pixels[number // columns, :height, number % columns, :width] = one
    whole = pixels.reshape(rows * (height + gap), columns * (width + gap))
    return _address(255 - whole[:-gap, :-gap])


def heat_map(values: NDArray[np.float64], largest: float) -> str:
    """Return a matrix as a picture of one pixel for each entry, from 0 (pale) to `largest`."""
    image = require("PIL.Image", extra="report", caller="the report")
    shares = np.clip(values / largest, 0, 1)
    levels = np.rint(shares * (_LEVELS - 1)).astype(np.uint8)
    made = image.fromarray(levels, mode=None).convert("P")
    made.putpalette([channel for level in range(_LEVELS) for channel in _shade(level)])
    return _encoded(made, bits=4)


def shades() -> list[str]:
    """Return the colors of a heat map, palest first, as CSS has them."""
    return ["#{:02x}{:02x}{:02x}".format(*_shade(level)) for level in range(_LEVELS)]


def _shade(level: int) -> tuple[int, ...]:
    share = level / (_LEVELS - 1)
    return tuple(round(a + (b - a) * share) for a, b in zip(_LOW, _HIGH, strict=True))


def _address(pixels: NDArray[np.uint8]) -> str:
    image = require("PIL.Image", extra="report", caller="the report")
    return _encoded(image.fromarray(np.ascontiguousarray(pixels)))


def _encoded(image: object, **options: object) -> str:
    file = io.BytesIO()
    image.save(file, format="PNG", optimize=True, **options)  # type: ignore[attr-defined]
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")
