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
    first: tuple[int, float] | None = None

    def show(progress: "Progress") -> None:
        nonlocal last, first
        epoch, n_epochs, now = progress.epoch, progress.max_epochs, time.monotonic()
        if first is None:  # how long this one took says little: kernels may have been compiled
            first = epoch.epoch, now
        if not STATE.verbose and now - last < _EVERY:
            return
        last, done = now, epoch.epoch - first[0]
        text = f"epoch {epoch.epoch}/{n_epochs}: {str(epoch).replace('accuracy', measure)}"
        if done:
            left = (now - first[1]) / done * (n_epochs - epoch.epoch)
            if time_limit is not None:
                left = min(left, max(0.0, time_limit - (now - begin)))
            text += f", {duration(left)} left"
        note(text)

    return show


def tell_what_follows(progress: "Progress") -> None:
    """Say, after the last epoch, that there is more to do; a callback of training."""
    if progress.history.stopped:
        note("choosing the decoder and a second stage, and calibrating probabilities ...")


@contextmanager
def interruptible(what_is_kept: Callable[[], str]) -> Iterator[None]:
    """Let Ctrl-C or SIGTERM end what runs inside at once, with a sentence about what is kept."""
    if threading.current_thread() is not threading.main_thread():  # signals are its affair
        yield
        return

    def stop(number: int, _: Any) -> None:
        raise InterruptedRun(what_is_kept(), number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number, old in before.items():
            if old is not signal.SIG_IGN:  # who started us does not want us to hear it
                signal.signal(number, stop)
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
