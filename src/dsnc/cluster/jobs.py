"""Units of work through actors of Ray Data, which starts anew what a lost node had in hand."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from dsnc.cluster.connection import quiet
from dsnc.errors import require

_FRUGAL = {  # allocators are to keep little of what is freed: a node has many such processes
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": "1000000",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
}
_IN_FLIGHT = 2  # units that an actor has in hand: it need not wait for the next


def run_units(
    worker: type, job: Any, numbers: Sequence[int], *, workers: int, cpus: int
) -> Iterator[dict[str, Any]]:
    """Yield what workers say of each unit, as they get done, in any order.

    Parameters
    ----------
    worker : type
        ``worker(job)`` is made once for each actor; called with the number of a unit, it returns a
        dict of plain values.
    job : object
        What all of them have to know.
    numbers : sequence of int
        The units.
    workers, cpus : int
        How many actors, and how many cores each.
    """
    data = require("ray.data", extra="ray", caller="dsnc.cluster")
    context = data.DataContext.get_current()
    with (
        quiet(),
        _settings(context, enable_progress_bars=False, enable_operator_progress_bars=False),
    ):
        items = [{"unit": int(number)} for number in numbers]
        units = data.from_items(items, override_num_blocks=len(items))
        done = units.map_batches(
            _Each,
            fn_constructor_args=(worker, job),
            batch_size=1,
            num_cpus=cpus,
            runtime_env={"env_vars": _FRUGAL},
            compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=_IN_FLIGHT),
        )
        yield from done.iter_rows()


class _Each:
    """A worker, as Ray Data calls one: batches in, batches out."""

    def __init__(self, worker: type, job: Any) -> None:
        self._worker = worker(job)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Work on the units of a batch."""
        found = [self._worker(int(number)) for number in batch["unit"]]
        return {key: [one[key] for one in found] for key in found[0]}


@contextlib.contextmanager
def _settings(context: Any, **settings: Any) -> Iterator[None]:
    """Set some of a context, and set them back."""
    before = {name: getattr(context, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(context, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
