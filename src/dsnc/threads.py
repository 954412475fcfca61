"""Threads over blocks of rows: kernels and matrix products release the GIL."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dsnc.checks import is_whole
from dsnc.errors import InputError

_MIN_ROWS = 64  # of a thread


def n_threads(n_jobs: Any) -> int:
    """Return the number of threads that `n_jobs` asks for: 1 for None, all cores for -1."""
    if n_jobs is None:
        return 1
    if is_whole(n_jobs, -1, -1):
        available = getattr(os, "sched_getaffinity", None)
        return len(available(0)) if available else os.cpu_count() or 1
    if not is_whole(n_jobs):
        raise InputError(f"n_jobs={n_jobs!r} is not a number of threads; give 1 or more, or -1.")
    return int(n_jobs)


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
