"""Long work on the command line: a line now and then for a log, and a clean end at Ctrl-C."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import STATE, InterruptedRun, note
from dsnc.progress import duration

if TYPE_CHECKING:
    from dsnc.training.history import Progress

_EVERY = 15.0  # seconds between two lines of a log


def log_epochs(
    time_limit: float | None = None, measure: str = "accuracy"
) -> Callable[["Progress"], None]:
    """Return a callback of training that writes a line now and then.

    `measure` is what validation rows are measured by, in words.
    """
    last = begin = time.monotonic()
    first: int | None = None

    def show(progress: "Progress") -> None:
        nonlocal last, first
        epoch, n_epochs = progress.epoch, progress.max_epochs
        first = epoch.epoch - 1 if first is None else first  # a resumed run starts later
        now = time.monotonic()
        if not STATE.verbose and now - last < _EVERY:
            return
        last = now
        left = (now - begin) / (epoch.epoch - first) * (n_epochs - epoch.epoch)
        if time_limit is not None:
            left = min(left, max(0.0, time_limit - (now - begin)))
        figures = str(epoch).replace("accuracy", measure)
        note(f"epoch {epoch.epoch}/{n_epochs}: {figures}, {duration(left)} left")

    return show


@contextmanager
def interruptible(what_is_kept: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C end what runs inside at once, with a sentence about what is kept."""
    here = threading.current_thread() is threading.main_thread()  # signals are its affair
    if not here or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield  # who started us in the background does not want us to hear Ctrl-C
        return

    def stop(*_: Any) -> None:
        raise InterruptedRun(what_is_kept())

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
