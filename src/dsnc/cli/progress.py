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
_WEIGHT = 0.25  # of the last epoch in how long one takes: epochs differ by how busy a machine is


def log_epochs(
    time_limit: float | None = None, measure: str = "accuracy", then: str = ""
) -> Callable[["Progress"], None]:
    """Return a callback of training that writes a line now and then.

    `measure` is what validation rows are measured by, and `then` what follows the last epoch, in
    words.
    """
    last = begin = time.monotonic()
    ended: float | None = None  # when the epoch before did
    usual: float | None = None  # seconds that an epoch takes

    def show(progress: "Progress") -> None:
        nonlocal last, ended, usual
        epoch, n_epochs, now = progress.epoch, progress.max_epochs, time.monotonic()
        if ended is not None:  # the first one takes longer than others
            usual = usual or now - ended
            usual += _WEIGHT * (now - ended - usual)
        ended = now
        if not STATE.verbose and now - last < _EVERY:
            return
        last, text = now, f"epoch {epoch.epoch}/{n_epochs}: {epoch}".replace("accuracy", measure)
        if usual is not None and not progress.history.stopped:
            left = usual * (n_epochs - epoch.epoch)
            if time_limit is not None:
                left = min(left, max(0.0, time_limit - (now - begin)))
            text += f", {duration(left)} left{then}"
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
