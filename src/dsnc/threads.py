"""Threads over blocks of rows: kernels and matrix products release the GIL."""

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from dsnc.checks import is_whole
from dsnc.errors import InputError

_MIN_ROWS = 64  # of a thread
_OWN_GROUPS, _GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")  # control groups of Linux


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` asks for: 1 for None, all cores for -1."""
    if n_jobs is None:
        return 1
    if is_whole(n_jobs, -1, -1):
        return n_cores()
    if not is_whole(n_jobs):
        raise InputError(f"n_jobs={n_jobs!r} is not a number of threads; give 1 or more, or -1.")
    return int(n_jobs)


def n_cores() -> int:
    """Return how many cores this process may use: not what the machine has, but what is left to it.

    Of a share of a core (a limit of 1.5), all is used.
    """
    available = getattr(os, "sched_getaffinity", None)
    cores = len(available(0)) if available else os.cpu_count() or 1
    return min(cores, max(1, math.ceil(min(cores, _quota()))))


@cache
def _quota() -> float:
    """Return how many cores' time the control groups allow: no container changes that often."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return math.inf
    limits = [math.inf]
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        within = PurePosixPath(path.lstrip("/"))
        root = _GROUPS / "cpu" if controllers else _GROUPS
        # Where a container sees the path of its host, its own limit is that of the root.
        limits += [_limit(root / group) for group in (within, *within.parents)]
    return min(limits)


def _limit(group: Path) -> float:
    """Return how many cores' time a control group allows, of either version."""
    try:
        if (group / "cpu.max").exists():
            quota, period = (group / "cpu.max").read_text().split()
        else:
            names = "cpu.cfs_quota_us", "cpu.cfs_period_us"
            quota, period = ((group / name).read_text() for name in names)
        return int(quota) / int(period) if quota != "max" and int(quota) > 0 else math.inf
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf


def alone() -> Any:
    """Return a context in which matrix products take one thread: many small ones are faster so.

    Threads of BLAS wait for each other at every product, for long where others use the cores, too.
    """
    from threadpoolctl import threadpool_limits  # not for who only predicts

    return threadpool_limits(1, user_api="blas")


def in_threads(work: Callable[[slice], None], n: int, n_jobs: Any) -> None:
    """Do the work on n rows, in as many blocks as there are threads."""
    count = min(n_threads(n_jobs), max(1, n // _MIN_ROWS))
    if count == 1:
        work(slice(0, n))
        return
    edges = np.linspace(0, n, count + 1).astype(int).tolist()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(work, map(slice, edges[:-1], edges[1:])))
