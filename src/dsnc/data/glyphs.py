"""The embedded data set: thousands of characters, drawn with distortions.

Matplotlib ships the DejaVu fonts: three families in four styles each, with some 2,300 characters
that all twelve share. This gives a character recognition problem with very many classes that needs
no download. Two ideas make it fast and honest:

- *A class is a shape.* Latin A, Greek Alpha and Cyrillic A are one picture, so they are one class:
  characters whose clean pictures agree in every style are merged before anything is drawn.
- *A distortion is a sum of fields.* Shift, scale, rotation, slant and elastic jitter all say from
  where in the clean picture a pixel takes its ink, and each is a weight times a fixed field over
  the pixels (1, x, y, slow waves). So the sampling positions of all pictures of a class are one
  matrix product, weights times fields.
"""

import math
import shutil
from functools import cache as remember
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import whole
from dsnc.data.dataset import Dataset
from dsnc.data.files import home
from dsnc.data.folder import read_folder, write_folder
from dsnc.data.glyph_shapes import CLEAN_SIZE, STYLES, clean_pictures, glyph_classes, require_report
from dsnc.errors import DataFileError, InputError, warn

GENERATOR_VERSION = 1  # part of the cache key: raise it whenever the pictures change

SIZE = CLEAN_SIZE // 2  # a picture is SIZE x SIZE
_ROWS_AT_ONCE = 1024
_DRAWN_WITH = (("matplotlib", "matplotlib"), ("pillow", "PIL"))  # package, module

# How far a picture may differ from the clean one.
_SHIFT = 0.5  # pixels
_SCALE = 0.08  # log
_ASPECT = 0.06  # log
_ANGLE = 0.1  # radians
_SLANT = 0.08
_BEND = 0.3  # clean pixels, for each wave
_STROKE = 0.6  # log of the exponent
_PALE = 0.35
_NOISE = 0.15

# The random numbers of a picture: four for its look, some for its form, one for each pixel.
_WAVES = [(i, j) for i in range(3) for j in range(3) if i or j]
_LOOK = 4
_FORM = 6 + 2 * len(_WAVES)
_DRAWS = _LOOK + _FORM + SIZE * SIZE


def load_glyphs(
    n_classes: int = 1000, n_per_class: int = 60, random_state: int = 0, *, cache: bool = True
) -> Dataset:
    """Draw characters of the DejaVu fonts, distorted, as a data set of 20 x 20 pictures.

    Each picture shows its class in one of twelve styles: shifted, scaled, rotated, slanted and bent
    a little, with thinner or thicker strokes, paler or darker ink, and noise.

    Parameters
    ----------
    n_classes : int, default 1000
        How many characters, in the order of `glyph_classes`. The pictures of a class do not depend
        on this number.
    n_per_class : int, default 60
        How many pictures of each character.
    random_state : int, default 0
        Seed. The same number gives the same pictures, bit for bit, with the same versions
        installed.
    cache : bool, default True
        Whether to keep the pictures under ``$DSNC_HOME`` and read them from there the next time.

    Returns
    -------
    Dataset
        X is float32 in [0, 1], where 1 is ink. Rows are ordered by class.

    See Also
    --------
    dsnc.data.glyph_shapes.glyph_classes : the characters, and which of them share a class.
    """
    n_classes = whole("n_classes", n_classes, 1)
    n_per_class = whole("n_per_class", n_per_class, 1)
    random_state = whole("random_state", random_state, 0)
    folder = home() / "glyphs" / _key(n_classes, n_per_class, random_state)
    stored = _read(folder, n_classes, n_per_class) if cache else None
    if stored is None:
        stored = _generate(n_classes, n_per_class, random_state)
        if cache:
            _write(stored, folder, n_classes, n_per_class)
    return Dataset(
        np.divide(stored.X, 255, dtype=np.float32),
        stored.y,
        np.asarray(stored.classes, dtype=str),
        name="glyphs",
        source=(
            "characters of the DejaVu fonts inside matplotlib, drawn by "
            f"load_glyphs({n_classes}, {n_per_class}, random_state={random_state}) in "
            f"{len(STYLES)} styles with random shift, scale, rotation, slant, bend, stroke, noise"
        ),
        image_shape=(SIZE, SIZE),
    )


# The pictures


def _generate(n_classes: int, n_per_class: int, random_state: int) -> Dataset:
    """Draw the pictures of one class after the other."""
    groups = glyph_classes()
    if n_classes > len(groups):
        raise InputError(
            f"n_classes={n_classes} is more than the {len(groups)} characters of different shape "
            f"that the fonts have; give at most {len(groups)}."
        )
    classes = [group[0] for group in groups[:n_classes]]
    pixels = np.empty((n_classes, n_per_class, SIZE * SIZE), dtype=np.uint8)
    for character, clean, pictures in zip(classes, clean_pictures(classes)[0], pixels, strict=True):
        smooth = _smooth(clean)
        # A generator of its own, so that no class depends on which others were asked for.
        rng = np.random.default_rng([random_state, ord(character)])
        for start in range(0, n_per_class, _ROWS_AT_ONCE):
            block = pictures[start : start + _ROWS_AT_ONCE]
            block[:] = _draw(smooth, rng.random((len(block), _DRAWS), dtype=np.float32))
    y = np.repeat(np.arange(n_classes, dtype=np.int32), n_per_class)
    return Dataset(pixels.reshape(len(y), -1), y, np.array(classes), image_shape=(SIZE, SIZE))


def _smooth(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Blur by half a drawn pixel, so that sampling misses no hairline; flat, ink is 1."""
    field = pictures.astype(np.float32) / np.float32(255)
    for axis in (1, 2):
        field = (np.roll(field, 1, axis) + 2 * field + np.roll(field, -1, axis)) / 4
    return field.ravel()


@remember
def _fields() -> NDArray[np.float32]:
    """Return the fields over the drawn pixels that positions are made of: 1, x, y, the waves."""
    place = (np.arange(SIZE) - (SIZE - 1) / 2)[None, :]
    x, y = np.broadcast_arrays(place, place.T)
    turn = math.pi / SIZE
    waves = [
        np.cos(i * turn * (x + SIZE / 2)) * np.cos(j * turn * (y + SIZE / 2)) for i, j in _WAVES
    ]
    return np.stack([np.ones_like(x), x, y, *waves]).reshape(-1, SIZE * SIZE).astype(np.float32)


def _draw(clean: NDArray[np.float32], draws: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Draw one picture for each row of `draws`, numbers in [0, 1)."""
    look, form, grain = np.split(draws, [_LOOK, _LOOK + _FORM], axis=1)
    style, stroke, pale, noise = np.split(look, _LOOK, axis=1)
    weights = _weights(2 * form - 1)
    ink = _sample(clean, (style * len(STYLES)).astype(np.int32), *weights)
    # Blurred ink to a power: below 1 its edge spreads and the stroke is thick, above 1 thin.
    ink **= np.exp(_STROKE * (2 * stroke - 1))
    ink *= 1 - _PALE * pale
    ink += _NOISE * noise * (2 * grain - 1)
    np.clip(ink, 0, 1, out=ink)
    ink *= 255
    return np.rint(ink, out=ink).astype(np.uint8)


def _weights(form: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what the fields weigh in the horizontal and the vertical position, (rows, fields)."""
    larger, wider, turned, slant, right, down = form[:, :6].T
    waves = np.split(_BEND * form[:, 6:], 2, axis=1)
    step = 2 * np.exp(-_SCALE * larger)  # clean pixels in one drawn pixel
    stretch = np.exp(_ASPECT * wider)
    cosine, sine = np.cos(_ANGLE * turned), np.sin(_ANGLE * turned)
    middle = (CLEAN_SIZE - 1) / 2
    x_fields = (
        middle + 2 * _SHIFT * right,
        step * stretch * cosine,
        step * stretch * (sine + _SLANT * slant),
    )
    y_fields = (middle + 2 * _SHIFT * down, -step / stretch * sine, step / stretch * cosine)
    return np.column_stack([*x_fields, waves[0]]), np.column_stack([*y_fields, waves[1]])


def _sample(
    clean: NDArray[np.float32],
    style: NDArray[np.int32],
    horizontal: NDArray[np.float32],
    vertical: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Take the ink at the positions that the weights give, bilinear between clean pixels."""
    u = np.clip(horizontal @ _fields(), 0, CLEAN_SIZE - 1.01)
    v = np.clip(vertical @ _fields(), 0, CLEAN_SIZE - 1.01)
    column, row = u.astype(np.int32), v.astype(np.int32)
    u -= column
    v -= row
    at = (style * CLEAN_SIZE + row) * CLEAN_SIZE + column
    upper: NDArray[np.float32] = clean[at]
    upper += u * (clean[at + 1] - upper)
    at += CLEAN_SIZE
    lower = clean[at]
    lower += u * (clean[at + 1] - lower)
    lower -= upper
    lower *= v
    upper += lower
    return upper


# The cache


def _key(n_classes: int, n_per_class: int, random_state: int) -> str:
    made_with = "-".join(f"{package}{_version(package, module)}" for package, module in _DRAWN_WITH)
    return f"v{GENERATOR_VERSION}-{n_classes}x{n_per_class}-seed{random_state}-{made_with}"


def _version(package: str, module: str) -> str:
    """Ask the installer first: importing matplotlib costs more than reading the cache."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return str(require_report(module).__version__)


def _read(folder: Path, n_classes: int, n_per_class: int) -> Dataset | None:
    """Return the stored pictures, or None where there are none or they are damaged."""
    try:
        stored = read_folder(folder)
    except DataFileError:
        return None
    y = np.repeat(np.arange(n_classes), n_per_class)
    whole = (
        stored.X.shape == (len(y), SIZE * SIZE)
        and stored.X.dtype == np.uint8
        and stored.n_classes == n_classes
        and stored.y is not None
        and np.array_equal(stored.y, y)
    )
    return stored if whole else None


def _write(stored: Dataset, folder: Path, n_classes: int, n_per_class: int) -> None:
    """Keep the pictures; if that is not possible, go on with a warning."""
    try:
        write_folder(stored, folder)
    except OSError:
        if _read(folder, n_classes, n_per_class) is not None:
            return  # another process was faster
        shutil.rmtree(folder, ignore_errors=True)  # what stands there is damaged
        try:
            write_folder(stored, folder)
        except OSError as error:
            warn(
                f"The glyphs were drawn but cannot be kept in {folder} ({error}); they will be "
                "drawn again next time. Set DSNC_HOME to a folder that can be written, or give "
                "cache=False."
            )
