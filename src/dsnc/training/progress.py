"""A progress bar that says how training goes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dsnc.progress import counting_bar
from dsnc.training.history import Epoch


@contextmanager
def progress_bar(
    n_epochs: int, enabled: bool, counted: str = "epoch"
) -> Iterator[Callable[[Epoch], None]]:
    """Yield a function that takes note of an epoch; draws on stderr if enabled."""
    if not enabled:
        yield lambda epoch: None
        return
    with counting_bar(counted) as bar:
        task = bar.add_task("", total=n_epochs)
        yield lambda epoch: bar.update(task, completed=epoch.epoch, description=str(epoch))
