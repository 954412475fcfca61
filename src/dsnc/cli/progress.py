"""How training goes, on stderr: a bar for people, a line now and then for a log."""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import STATE, InterruptedRun, note
from dsnc.progress import counting_bar, duration

if TYPE_CHECKING:
    from dsnc.training.history import Epoch, Progress

_EVERY = 15.0  # seconds between two lines of a log

Callback = Callable[["Progress"], None]


@contextmanager
def epoch_bar(n_epochs: int) -> Iterator[Callback]:
    """Yield a callback of the training loop that shows loss, accuracy and the time that is left."""
    if STATE.quiet or not sys.stderr.isatty():
        yield _log(n_epochs)
        return
    import rich.progress as rp

    figures, left = rp.TextColumn("{task.description}"), rp.TimeRemainingColumn()
    with counting_bar("epoch", figures, left) as bar:
        task = bar.add_task("", total=n_epochs)

        def show(progress: "Progress") -> None:
            epoch = progress.epoch
            bar.update(task, completed=epoch.epoch, description=_figures(epoch))

        yield show


def _log(n_epochs: int) -> Callback:
    last = begin = time.monotonic()
    first: int | None = None

    def show(progress: "Progress") -> None:
        nonlocal last, first
        epoch = progress.epoch
        first = epoch.epoch - 1 if first is None else first  # a resumed run starts later
        now = time.monotonic()
        if not STATE.verbose and now - last < _EVERY:
            return
        last = now
        left = (now - begin) / (epoch.epoch - first) * (n_epochs - epoch.epoch)
        note(f"epoch {epoch.epoch}/{n_epochs}: {_figures(epoch)}, {duration(left)} left")

    return show


def _figures(epoch: "Epoch") -> str:
    text = f"loss {epoch.loss:.4f}"
    if epoch.validation_accuracy is not None:
        text += f", validation accuracy {100 * epoch.validation_accuracy:.2f} %"
    return text


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
