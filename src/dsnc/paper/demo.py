"""The demo: models of the embedded pictures of characters, compared, with some of their answers."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.paper.experiments import Plan, Record, reproduce
from dsnc.paper.experiments.accuracy_table import series_key
from dsnc.paper.experiments.cost_curve import TITLES, curves
from dsnc.paper.experiments.prepare import prepare

_SHADES = " ░▒▓█"


class Comparison(NamedTuple):
    """A model, and what it is worth on the test rows."""

    title: str
    n_bits: int
    accuracy: float
    top_5: float
    microseconds: float  # to decode a row
    n_bytes: int  # of the decoder


class Answer(NamedTuple):
    """What was said of a test picture."""

    drawing: str
    said: list[str]  # the three best classes
    confidence: float  # in the first
    truth: str
    is_right: bool


def run_demo(
    runs: str | os.PathLike[str],
    *,
    n_classes: int,
    max_epochs: int,
    n_jobs: int = 1,
    progress: bool = False,
) -> list[Record]:
    """Train six models on pictures of characters and return their records, failed ones included."""
    plan = Plan(
        bits=(24, 64),
        seeds=(0,),
        recipes=("default",),
        methods=("dsnc", "mlp", "ecoc"),
        settings={"max_epochs": max_epochs},
        n_classes=n_classes,
    )
    names = ["accuracy", "cost"]
    return reproduce(names, "glyphs", plan, runs, n_jobs=n_jobs, progress=progress)[1]


def compare(records: list[Record], runs: Path) -> list[Comparison]:
    """Return every model with each of its decoders, the most accurate first."""
    found = {
        (series_key(record.definition.method, name), record.definition.n_bits): outcome
        for record in records
        for name, outcome in record.outcomes.items()
    }
    rows = []
    for curve in curves(records, runs):
        for point in sorted(curve.points, key=lambda p: -p.accuracy):
            outcome = found[point.series, point.n_bits]
            figures = point.accuracy, outcome["top_5"], point.microseconds, int(outcome["bytes"])
            rows.append(Comparison(TITLES[point.series], point.n_bits, *figures))
    return rows


def answers(records: list[Record], n: int) -> list[Answer]:
    """Return what the 64-bit shortlist says of n test pictures: half of them right, then wrong."""
    record = next(
        (r for r in records if (r.definition.method, r.definition.n_bits) == ("dsnc", 64)), None
    )
    if record is None or record.error:
        return []
    prepared = prepare(record.definition.source)
    test, y, top = prepared.parts.test, record.arrays["y"], record.arrays["top.shortlist"]
    confidence = record.arrays["confidence.shortlist"]
    is_right = test.targets.contains(top[:, 0])
    shape = prepared.image_shape or (1, test.width or 1)
    return [
        Answer(
            drawn(test.X[row].reshape(shape)),
            [str(test.classes[number]) for number in top[row, :3]],
            float(confidence[row]),
            str(test.classes[y[row]]),
            bool(is_right[row]),
        )
        for row in [*_spread(is_right, n - n // 2), *_spread(~is_right, n // 2)]
    ]


def drawn(picture: NDArray[Any]) -> str:
    """Return a picture as text, two rows of pixels in a line."""
    top = max(float(picture.max()), 1e-9)
    levels = ((len(_SHADES) - 1) * picture / top + 0.5).astype(int)
    lines = (levels[i : i + 2].max(axis=0) for i in range(0, len(levels), 2))
    return "\n".join("  " + "".join(_SHADES[level] for level in line) for line in lines)


def _spread(chosen: NDArray[np.bool_], n: int) -> NDArray[np.int64]:
    """Return the numbers of some rows that lie far apart: neighbors are of one class."""
    rows = np.flatnonzero(chosen)
    return rows[:: max(1, len(rows) // n)][:n]
