"""A contact sheet: some pictures of some classes, side by side.

The first thing to look at in a data set of pictures is how much the pictures of one class differ,
and how little those of two classes do. So a sheet shows several samples of each class in one strip.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import whole
from dsnc.data.dataset import Dataset
from dsnc.errors import InputError
from dsnc.pictures.drawing import FAINT, look, new_figure, readable, save

_LABEL_LENGTH = 14  # characters of a label that are shown
_LABEL_WIDTH = 1.6  # of a strip's label, in pictures
_GAP = 0.12  # between pictures, in pictures
_INCHES = 0.42  # side of a picture on the sheet


def contact_sheet(
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    rows: int = 16,
    columns: int = 2,
    samples: int = 8,
    random_state: int = 0,
) -> Path:
    """Write a PNG with samples of some classes of a data set.

    Parameters
    ----------
    dataset : Dataset
        One class per row, with an ``image_shape``.
    path : path
        The file to write; its folder is created, and an existing file is replaced.
    rows, columns : int, default 16 and 2
        Strips on the sheet; each shows one class, drawn at random.
    samples : int, default 8
        Pictures in a strip, drawn at random from the class; fewer if it has fewer.
    random_state : int, default 0
        Seed; the same number gives the same choice.

    Returns
    -------
    Path
        The file that was written.
    """
    for parameter, value in (("rows", rows), ("columns", columns), ("samples", samples)):
        whole(parameter, value)
    if dataset.image_shape is None:
        raise InputError(
            f"dataset {dataset.name!r} has no image_shape, so its rows are not known to be "
            "pictures; set image_shape=(height, width)."
        )
    chosen = _choose(dataset, rows * columns, samples, np.random.default_rng(random_state))
    with look("contact_sheet"):
        strips = [(number, _pictures(dataset, rows)) for number, rows in chosen]
        return save(_figure(dataset, strips, columns, samples), Path(path), "png")


def _choose(
    dataset: Dataset, n_strips: int, samples: int, rng: np.random.Generator
) -> list[tuple[int, NDArray[np.int64]]]:
    """Return classes and, for each, the rows to show."""
    if dataset.y is None:
        raise InputError(f"dataset {dataset.name!r} is multi-label; a sheet shows one class a row.")
    present = np.flatnonzero(dataset.rows_per_class)
    chosen = np.sort(rng.choice(present, min(n_strips, len(present)), replace=False))
    if not len(chosen):
        raise InputError(f"dataset {dataset.name!r} has no rows, so there is nothing to show.")
    rows = np.flatnonzero(np.isin(dataset.y, chosen))
    rows = rows[np.argsort(dataset.y[rows], kind="stable")]
    parts = np.split(rows, np.cumsum(dataset.rows_per_class[chosen])[:-1])
    return [
        (int(number), np.sort(rng.choice(part, min(samples, len(part)), replace=False)))
        for number, part in zip(chosen, parts, strict=True)
    ]


def _figure(
    dataset: Dataset, strips: Sequence[tuple[int, NDArray[Any]]], columns: int, samples: int
) -> Any:
    """Lay the strips out column by column, in units of one picture and its gap."""
    height, width = dataset.image_shape or (1, 1)
    tall = height / width
    lines = -(-len(strips) // columns)
    strip_width = _LABEL_WIDTH + samples + 0.6
    across = min(columns, -(-len(strips) // lines)) * strip_width
    down = lines * tall + 1.9  # the title's room
    figure, axes = new_figure(_INCHES * across, _INCHES * down, layout=None)
    axes.set_position((0, 0, 1, 1))
    axes.set_axis_off()
    # One scale of gray for the whole sheet, so that pale pictures look pale.
    lowest = min(float(pictures.min()) for _, pictures in strips)
    highest = max(float(pictures.max()) for _, pictures in strips)
    for place, (number, pictures) in enumerate(strips):
        left, top = (place // lines) * strip_width, 1.6 + (place % lines) * tall
        label = readable(str(dataset.classes[number]), _LABEL_LENGTH)
        size = 15 if len(label) <= 2 else max(5.0, 13 - 0.7 * len(label))
        middle = top + (1 - _GAP) * tall / 2
        axes.text(left + _LABEL_WIDTH - 0.3, middle, label, ha="right", va="center", fontsize=size)
        for column, picture in enumerate(pictures):
            start = left + _LABEL_WIDTH + column
            extent = (start, start + 1 - _GAP, top + (1 - _GAP) * tall, top)
            axes.imshow(picture, cmap="gray_r", vmin=lowest, vmax=highest, extent=extent)
    axes.set(xlim=(0, across), ylim=(down, 0), aspect="auto")
    axes.text(0.45, 0.8, readable(dataset.name, 60), va="center", fontsize=17)
    facts = f"{len(dataset):,} pictures of {height} x {width} pixels, {dataset.n_classes:,} classes"
    right = {"ha": "right", "va": "center", "fontsize": 9, "color": FAINT}
    axes.text(across - 0.7, 0.84, facts, **right)
    return figure


def _pictures(dataset: Dataset, rows: NDArray[np.int64]) -> NDArray[Any]:
    picked = dataset.X[rows]
    dense = picked.toarray() if dataset.is_sparse else np.asarray(picked)
    return dense.reshape(len(rows), *(dataset.image_shape or ()))
