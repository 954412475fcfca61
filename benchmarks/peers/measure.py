"""Measure one contestant, inside its environment: ``python -m peers.measure JOB.json``.

The job says who, on which data, with which settings and threads; the figures go to the file that it
names, because libraries print what they like. With one thread times are those of the processor, in
which other work of the machine does not count; with several, of the clock on the wall.
"""

import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memory import now, peak
from peers.contestant import Contestant
from peers.contestants import CONTESTANTS
from peers.data import Data, read
from peers.rankings import calibration_error, ranking_figures, validation_score

SINGLE = 200  # rows that are asked for one by one
TURNS = 3  # of which the fastest counts
ENOUGH = 5  # seconds of turns, after which there is no other
TOP = 5


def measure(contestant: Contestant, data: Data) -> dict[str, Any]:
    """Train, predict and save; return the figures."""
    clock = time.process_time if contestant.threads == 1 else time.perf_counter
    contestant.prepare(data)
    before = now()  # its libraries count, the data does not
    figures: dict[str, Any] = {"warm-up s": _seconds(clock, lambda: contestant.warm_up(data))}
    cpu = time.process_time()
    figures["train s"] = _seconds(clock, lambda: contestant.fit(data))
    figures["train CPU s"] = time.process_time() - cpu
    figures["peak MB"] = peak() - before
    figures["chosen"] = contestant.chosen()
    figures["validation %"] = score_of_validation(contestant, data)
    rows, y, most = contestant.rows(data.test), data.test.y, min(TOP, data.n_classes)
    several = contestant.numbers(contestant.predict(rows, most))
    if data.has_sets:
        figures |= ranking_figures(data.train.y, y, several)
        best = several[:, 0]
        is_right = (np.asarray(y[np.arange(len(best)), best]).ravel() > 0) & (best >= 0)
    else:
        best = contestant.numbers(contestant.predict(rows, 1))[:, 0]
        is_right = best == y
        figures["top-1 %"] = 100 * float(is_right.mean())
        named = (several == y[:, None]).any(axis=1).mean()
        figures["top-5 %"] = 100 * float(named) if several.shape[1] == most else None
    figures["answers"] = np.column_stack([best, several]).astype(np.int32)
    confidences = contestant.confidences(rows)
    figures["ECE"] = None if confidences is None else calibration_error(is_right, confidences)
    n_rows, k = y.shape[0], most if data.has_sets else 1
    ones = [rows[i : i + 1] for i in range(min(SINGLE, n_rows))]
    batch = _least_seconds(clock, lambda: contestant.predict(rows, k))
    single = _least_seconds(clock, lambda: [contestant.predict(one, k) for one in ones])
    figures["µs/row"], figures["µs single"] = 1e6 * batch / n_rows, 1e6 * single / len(ones)
    figures["MB"] = _bytes(contestant.save()) / 1e6
    return figures


def score_of_validation(contestant: Contestant, data: Data) -> float | None:
    """Return what settings are chosen by, where there are validation rows."""
    rows, y = contestant.rows(data.validation), data.validation.y
    if not y.shape[0]:
        return None
    most = min(TOP, data.n_classes) if data.has_sets else 1
    return validation_score(data.train.y, y, contestant.numbers(contestant.predict(rows, most)))


def _least_seconds(clock: Callable[[], float], function: Callable[[], object]) -> float:
    """Return the seconds of the fastest turn; who takes long has fewer turns."""
    times = [_seconds(clock, function)]
    while len(times) < TURNS and sum(times) < ENOUGH:
        times.append(_seconds(clock, function))
    return min(times)


def _seconds(clock: Callable[[], float], function: Callable[[], object]) -> float:
    start = clock()
    function()
    return clock() - start


def _version(kind: type[Contestant]) -> str:
    try:
        return importlib.metadata.version(kind.package)
    except importlib.metadata.PackageNotFoundError:  # it runs from its source
        return str(getattr(importlib.import_module(kind.module), "__version__", "unknown"))


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def main(path: Path) -> None:
    """Do the job of a file."""
    job = json.loads(path.read_text(encoding="utf-8"))
    if job["cores"]:
        os.sched_setaffinity(0, job["cores"])
    kind, settings = CONTESTANTS[job["contestant"]]
    work = Path(job["work"])
    contestant = kind(settings | job["settings"], job["threads"], work)
    figures = measure(contestant, read(Path(job["data"]), kind.reads))
    figures["version"] = f"{kind.package} {_version(kind)}"
    np.save(Path(job["figures"]).with_suffix(".npy"), figures.pop("answers"))
    finite = {key: None if value != value else value for key, value in figures.items()}
    Path(job["figures"]).write_text(json.dumps(finite), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
