"""The training loop. It reads from top to bottom and knows nothing of codes, nor of torch."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from dsnc.errors import InputError, warn
from dsnc.progress import progress_bar
from dsnc.training.history import Epoch, History, Progress
from dsnc.training.settings import RunSettings

LATE, INTERRUPTED = "time_limit reached", "interrupted"  # why training stopped early


class Pass(NamedTuple):
    """What one pass over the rows was like; `is_whole` unless the clock cut it short."""

    rows: int
    loss: float
    learning_rate: float
    intra: float = 0.0
    inter: float = 0.0
    factor: float = 1.0
    is_whole: bool = True


class Steps(ABC):
    """What the loop drives: weights, the steps that move them, and rows to validate on."""

    is_first = True  # of several processes, the one that writes and speaks

    @abstractmethod
    def run(self, epoch: int, is_late: Callable[[], bool]) -> Pass:
        """Pass over the rows once; stop where it is late."""

    @abstractmethod
    def validate(self) -> tuple[float, int] | None:
        """Return the accuracy on held-out rows, and their number; None where there are none."""

    @abstractmethod
    def keep(self) -> None:
        """Remember the weights as they are: they are the best so far."""

    @abstractmethod
    def keep_best(self) -> None:
        """Go back to the best weights, if any were remembered; training is over."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return everything that a checkpoint needs, the best weights included."""

    @abstractmethod
    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""

    def agree(self, flag: bool) -> bool:
        """Tell whether the flag is set in any process: all must stop at the same step."""
        return flag


class Store(Protocol):
    """Where a run is kept from epoch to epoch; see `dsnc.training.checkpoint`."""

    def save(self, state: dict[str, Any]) -> None:
        """Write a state, whole or not at all."""

    def load(self) -> dict[str, Any] | None:
        """Return the state, or None if there is none yet."""


def train(
    steps: Steps,
    settings: RunSettings,
    *,
    checkpoint: Store | None = None,
    unit: str = "epoch",
) -> History:
    """Train, and leave the best weights in `steps`.

    The best are those with the highest validation accuracy; without validation rows, the last.
    Ctrl-C after the first epoch ends training early and keeps the best so far. `unit` is what the
    bar and warnings count. What is "auto" in settings has become a number here.
    """
    run, max_epochs = _Run(steps, settings, checkpoint), int(settings.max_epochs)
    run.resume()
    shown = settings.verbose and steps.is_first
    with progress_bar(max_epochs, shown, unit, settings.time_limit) as advance:
        try:
            while not run.history.stopped:
                epoch = run.one_epoch()
                advance(epoch.epoch, str(epoch))
                progress = Progress(epoch, run.history, max_epochs)
                for callback in settings.callbacks:
                    callback(progress)
                if steps.agree(progress.is_stopping):
                    run.history.stopped = "a callback asked for it"
        except KeyboardInterrupt:
            if not run.history.epochs:
                raise  # there is nothing to keep yet
            run.history.stopped = INTERRUPTED
            warn(
                f"Training was interrupted in {unit} {len(run.history) + 1} of {max_epochs}; the "
                "best model so far is kept."
            )
    steps.keep_best()
    return run.history


class _Run:
    """The state of a run, as a checkpoint holds it."""

    def __init__(self, steps: Steps, settings: RunSettings, checkpoint: Store | None) -> None:
        self.steps, self.settings, self.checkpoint = steps, settings, checkpoint
        self.max_epochs = int(settings.max_epochs)
        self.history = History()
        self.started = time.monotonic()
        self.seconds_before = 0.0  # spent by the run before it was resumed

    def one_epoch(self) -> Epoch:
        number = len(self.history)
        made = self.steps.run(number, self._is_late)
        measured = self._validate(number) if math.isfinite(made.loss) else None
        accuracy, n_rows = measured or (None, None)
        epoch = Epoch(
            epoch=number + 1,
            rows=made.rows,
            loss=made.loss,
            intra=made.intra,
            inter=made.inter,
            factor=made.factor,
            learning_rate=made.learning_rate,
            validation_accuracy=accuracy,
            validation_rows=n_rows,
            seconds=self.seconds_before + time.monotonic() - self.started,
        )
        self.history.epochs.append(epoch)
        self.history.stopped = self._reason_to_stop(epoch)
        if made.is_whole:  # a run never resumes after half an epoch
            self._save()
        return epoch

    def _validate(self, number: int) -> tuple[float, int] | None:
        last = number + 1 == self.max_epochs
        if not (last or (number + 1) % self.settings.validation_every == 0):
            return None
        measured = self.steps.validate()
        if measured is None:
            return None
        accuracy = measured[0]
        # Of equals the last is kept: it was trained longer. (Small validation sets tie often.)
        if self.history.best_accuracy is None or accuracy >= self.history.best_accuracy:
            self.history.best_accuracy, self.history.best_epoch = accuracy, number + 1
            self.steps.keep()
        return measured

    def _reason_to_stop(self, epoch: Epoch) -> str:
        if not math.isfinite(epoch.loss):
            return self._diverged(epoch)
        if epoch.epoch >= self.max_epochs:
            return "max_epochs reached"
        if self.steps.agree(self._is_late()):
            return LATE
        if self.settings.patience is not None:
            measured = [a for a in self.history.column("validation_accuracy") if a is not None]
            if (
                measured
                and len(measured) - 1 - measured.index(max(measured)) >= self.settings.patience
            ):
                return f"no progress in {self.settings.patience} validations"
        return ""

    def _diverged(self, epoch: Epoch) -> str:
        advice = f"try learning_rate={float(self.settings.learning_rate) / 10:g}"
        if self.history.best_epoch is None:
            raise InputError(f"The loss is {epoch.loss} after epoch {epoch.epoch}; {advice}.")
        message = f"The loss became {epoch.loss} in epoch {epoch.epoch}; the best model is kept"
        warn(f"{message}. For a better one, {advice}.")
        return "the loss is not finite"

    def _is_late(self) -> bool:
        limit = self.settings.time_limit
        return limit is not None and time.monotonic() - self.started >= limit

    def _save(self) -> None:
        if self.checkpoint is not None and self.steps.is_first:
            self.checkpoint.save({**self.steps.state(), "history": self.history.to_dict()})

    def resume(self) -> None:
        state = self.checkpoint.load() if self.checkpoint is not None else None
        if state is None:
            return
        self.history = History.from_dict(state.pop("history"))
        self.steps.load_state(state)
        self.seconds_before = self.history.epochs[-1].seconds
        if self.history.stopped == LATE:  # the clock starts anew
            self.history.stopped = ""
