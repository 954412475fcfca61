"""One turn of one contestant: a process of its own, with so many threads and so much time."""

import contextlib
import json
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from peers.environments import Place

_BENCHMARKS = Path(__file__).resolve().parents[1]
_THREADS = ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")  # each with _NUM_THREADS
_SHOWN = 20  # lines of a failed process
_running: set[subprocess.Popen[bytes]] = set()
_ended = threading.Event()


class Job(NamedTuple):
    """What `peers.measure` is to do."""

    contestant: str
    settings: dict[str, Any]
    threads: int
    data: str
    cores: tuple[int, ...] = ()  # that it may use; none: all


def run(place: Place, job: Job, folder: Path, limit: float) -> dict[str, Any]:
    """Run a job; return its figures and answers, or a note why there are none.

    Parameters
    ----------
    place : Place
        The contestant's environment.
    job : Job
    folder : Path
        An empty folder for files in between.
    limit : float
        Seconds after which it is ended.
    """
    if _ended.is_set():
        return {"note": "ended"}
    work, figures = folder / "work", folder / "figures.json"
    work.mkdir()
    described = job._asdict() | {"work": str(work), "figures": str(figures)}
    (folder / "job.json").write_text(json.dumps(described), encoding="utf-8")
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [place.python, "-m", "peers.measure", str(folder / "job.json")],
            env=_environment(job.threads, place.path),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it starts ends with it
        )
        _running.add(process)
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            return {"note": f"over {limit:,.0f} s"}
        finally:
            _running.remove(process)
            _end(process)
    if process.returncode or not figures.is_file():
        lines = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines()
        print("\n".join(lines[-_SHOWN:]))
        why = lines[-1] if lines and process.returncode > 0 else f"status {process.returncode}"
        return {"note": f"failed: {why}"}
    result: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return result | {"answers": np.load(figures.with_suffix(".npy"))}


def end_all() -> None:
    """End all that run, and start no other."""
    _ended.set()
    for process in list(_running):
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(threads: int, tools: str) -> dict[str, str]:
    """Return our variables, with `peers` on the path and the threads that libraries obey."""
    parts = str(_BENCHMARKS), tools, os.environ.get("PYTHONPATH")
    path = os.pathsep.join(filter(None, parts))
    counts = {f"{name}_NUM_THREADS": str(threads) for name in _THREADS}
    return os.environ | counts | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
