"""How far something is, for people: a bar that counts on stderr; times and settings in words."""

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

_LONG = 3600.0  # seconds whose speed says how long the rest takes: an epoch may take minutes


def counting_bar(unit: str, *columns: "ProgressColumn") -> "Progress":
    """Return a bar on stderr that opens with ``epoch 3/20``; enter it, then add a task.

    `columns` follow the bar: by default the time that is left, and the task's description.
    """
    import rich.progress as rp
    from rich.console import Console

    after = columns or (rp.TimeRemainingColumn(), rp.TextColumn("{task.description}"))
    counted = (rp.TextColumn(unit), rp.MofNCompleteColumn(), rp.BarColumn())
    shown = Console(stderr=True)
    return rp.Progress(*counted, *after, console=shown, speed_estimate_period=_LONG)


@contextmanager
def progress_bar(
    n: int, enabled: bool, unit: str, time_limit: float | None = None
) -> "Iterator[Callable[[int, str], None]]":
    """Yield a function that says how many of n are done, with a text; draws if enabled.

    Where there is a `time_limit` in seconds, no more time than that is said to be left.
    """
    if not enabled:
        yield lambda done, text: None
        return
    with counting_bar(unit, *_columns(time_limit)) as bar:
        task = bar.add_task("", total=n)
        yield lambda done, text: bar.update(task, completed=done, description=text)


def heartbeat(say: Callable[[], str], seconds: float = 60.0) -> AbstractContextManager[None]:
    """Write a line on stderr again and again, where there is no terminal to draw on."""
    if sys.stderr.isatty():
        return nullcontext()
    return every(seconds, lambda: sys.stderr.write(f"{say()}\n"))


@contextmanager
def every(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Do something again and again in a thread, as long as the block takes."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _columns(time_limit: float | None) -> "tuple[ProgressColumn, ...]":
    """Return the time that is left, at most up to the limit, and the description."""
    import rich.progress as rp
    from rich.text import Text

    class TimeLeft(rp.TimeRemainingColumn):
        def render(self, task: rp.Task) -> Any:
            left, passed = task.time_remaining, task.elapsed or 0.0
            if time_limit is None or (left is not None and left <= time_limit - passed):
                return super().render(task)
            minutes, seconds = divmod(max(0, int(time_limit - passed)), 60)
            clock = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
            return Text(clock, style="progress.remaining")

    return TimeLeft(), rp.TextColumn("{task.description}")


def duration(seconds: float) -> str:
    """Return a time as people read it.

    Examples
    --------
    >>> duration(7.25), duration(125), duration(7260)
    ('7.2 s', '2 min 5 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count(n: int, thing: str) -> str:
    """Return how many there are of something.

    Examples
    --------
    >>> count(1, "class"), count(2500, "class"), count(0, "row")
    ('1 class', '2,500 classes', '0 rows')
    """
    ending = "" if n == 1 else "es" if thing.endswith("s") else "s"
    return f"{n:,} {thing}{ending}"


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings in one line, numbers short."""
    shown = {k: f"{v:.3g}" if isinstance(v, float) else str(v) for k, v in settings.items()}
    return ", ".join(f"{key}={value}" for key, value in shown.items())


def figure_name(name: str) -> str:
    """Return what people call a figure.

    Examples
    --------
    >>> figure_name("top_5_accuracy"), figure_name("psprecision_at_3"), figure_name("macro_f1")
    ('top-5 accuracy', 'PSP@3', 'macro F1')
    """
    measure, at, k = name.partition("_at_")
    if at:
        usual = {"precision": "P", "psprecision": "PSP", "ndcg": "nDCG"}
        return f"{usual.get(measure, measure)}@{k}"
    return name.replace("_", " ").replace("top ", "top-").replace(" f1", " F1")
