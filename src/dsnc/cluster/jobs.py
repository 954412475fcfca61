"""Units of work through actors of Ray; what a lost worker had in hand is done again by another.

Ray Data would do the same, but its actors have twice the memory before any work begins.
"""

import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

from dsnc.errors import ClusterError, require

_FRUGAL = {  # allocators are to keep little of what is freed: a node has many such processes
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_TRIES = 4  # workers that may be lost with the same unit: one that kills them would kill all


def run_units(
    worker: Callable[[Any], Any], job: Any, numbers: Sequence[int], *, workers: int, cpus: int
) -> Iterator[dict[str, Any]]:
    """Yield what workers say of each unit, as they get done, in any order.

    ``worker(job)`` is made once for each of `workers` actors, which have `cpus` cores; called with
    the number of a unit, it returns a dict of plain values.
    """
    ray = require("ray", extra="ray", caller="dsnc.cluster")
    waiting, left, lost = deque(numbers), len(numbers), Counter[int | None]()
    with closing(_Crew(ray, worker, job, cpus)) as crew:
        for _ in range(workers):
            crew.hire()
        while left:
            one, number, said = crew.hear()
            try:
                found = ray.get(said)
            except ray.exceptions.RayTaskError:  # of our own code: another worker would say it, too
                raise
            except ray.exceptions.RayError as error:
                lost[number] += 1
                if lost[number] == _TRIES:
                    raise ClusterError(f"{_TRIES} workers in a row were lost: {error}") from error
                waiting.extend([] if number is None else [number])
                ray.kill(one)
                crew.hire()
                continue
            lost.pop(number, None)
            if waiting:
                crew.give(one, waiting.popleft())
            else:
                ray.kill(one)  # its cores are for one that takes the place of a lost one
            if number is not None:
                left -= 1
                yield found


class _Crew:
    """Actors, and the unit that each has in hand: None while it gets ready."""

    def __init__(self, ray: Any, worker: Callable[[Any], Any], job: Any, cpus: int) -> None:
        self._ray, self._told = ray, ray.put((worker, job))
        self._actor = ray.remote(num_cpus=cpus, runtime_env={"env_vars": _FRUGAL})(UnitWorker)
        self._busy: dict[Any, tuple[Any, int | None]] = {}  # by what they will say

    def hire(self) -> None:
        one = self._actor.remote()
        self._busy[one.start.remote(self._told)] = one, None

    def give(self, one: Any, number: int) -> None:
        self._busy[one.work.remote(number)] = one, number

    def hear(self) -> tuple[Any, int | None, Any]:
        """Wait for one of them; return who it is, its unit, and what it says."""
        [said], _ = self._ray.wait(list(self._busy), num_returns=1)
        return *self._busy.pop(said), said

    def close(self) -> None:
        for one, _ in self._busy.values():
            self._ray.kill(one)


class UnitWorker:
    """A worker in a process of its own."""

    _worker: Any

    def start(self, told: tuple[Callable[[Any], Any], Any]) -> None:
        """Make the worker; here and not at birth, so that its errors arrive as they are."""
        _let_arrow_do_without_pandas()
        worker, job = told
        self._worker = worker(job)

    def work(self, number: int) -> dict[str, Any]:
        """Return what the worker says of a unit."""
        found: dict[str, Any] = self._worker(number)
        return found


def _let_arrow_do_without_pandas() -> None:
    """Let pyarrow look for pandas in vain: it takes 30 MB to tell a list from a Series."""
    if "pandas" in sys.modules:
        return
    pyarrow = require("pyarrow", extra="ray", caller="dsnc.cluster")
    sys.meta_path.insert(0, _NoPandas)
    try:
        pyarrow.array([])  # it looks once
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """Says to who imports that there is no pandas."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name, name=name)
