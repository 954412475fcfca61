"""The training loop. It reads from top to bottom and knows nothing of codes."""

import math
import time
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from dsnc.errors import InputError, warn
from dsnc.progress import progress_bar
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batches
from dsnc.training.checkpoint import Checkpoint
from dsnc.training.feed import Validation
from dsnc.training.history import Epoch, History, Progress
from dsnc.training.settings import RunSettings
from dsnc.training.steps import make_steps
from dsnc.training.world import World

_WARM_UP = 0.3  # share of the steps in which the one-cycle rate rises
LATE, INTERRUPTED = "time_limit reached", "interrupted"  # why training stopped early


def train(
    objective: BaseObjective,
    batches: Batches,
    settings: RunSettings,
    *,
    validation: Validation | None = None,
    world: World | None = None,
    checkpoint: Checkpoint | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    unit: str = "epoch",
) -> History:
    """Train, and leave the best weights in `objective`.

    The best are those with the highest validation accuracy; without validation rows, the last.
    Ctrl-C after the first epoch ends training early and keeps the best so far. An optimizer may be
    given to go on with its state. `unit` is what the bar and warnings count.
    """
    optimizer = optimizer or objective.make_optimizer()
    run = _Run(objective, optimizer, batches, settings, validation, world or World(), checkpoint)
    run.resume()
    shown = settings.verbose and run.world.is_first
    with progress_bar(settings.max_epochs, shown, unit, settings.time_limit) as advance:
        try:
            while not run.history.stopped:
                epoch = run.one_epoch()
                advance(epoch.epoch, str(epoch))
                progress = Progress(epoch, run.history)
                for callback in settings.callbacks:
                    callback(progress)
                if run.world.any(progress.is_stopping):
                    run.history.stopped = "a callback asked for it"
        except KeyboardInterrupt:
            if not run.history.epochs:
                raise  # there is nothing to keep yet
            run.history.stopped = INTERRUPTED
            warn(
                f"Training was interrupted in {unit} {len(run.history) + 1} of "
                f"{settings.max_epochs}; the best model so far is kept."
            )
    run.keep_best()
    return run.history


class _Run:
    """The state of a run, as a checkpoint holds it."""

    def __init__(
        self,
        objective: BaseObjective,
        optimizer: torch.optim.Optimizer,
        batches: Batches,
        settings: RunSettings,
        validation: Validation | None,
        world: World,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.objective, self.batches, self.settings = objective, batches, settings
        self.validation, self.world, self.checkpoint = validation, world, checkpoint
        model = objective if world.size == 1 else DistributedDataParallel(objective)
        self.optimizer = optimizer
        self.steps = make_steps(model, objective, optimizer, batches, settings.max_epochs)
        self.history = History()
        self.best: dict[str, Any] | None = None
        self.started = time.monotonic()
        self.seconds_before = 0.0  # spent by the run before it was resumed

    def one_epoch(self) -> Epoch:
        number = len(self.history)
        self.objective.start_epoch(number)
        self.objective.train()
        sums = torch.zeros(3, dtype=torch.float64, device=self.objective.device)
        n_steps = n_rows = 0
        for step, batch in enumerate(self.steps.inputs(number)):
            self._set_learning_rate(number * len(self.batches) + step)
            terms = self.steps(batch)
            sums += torch.stack([terms.loss, terms.intra, terms.inter])
            n_steps += 1
            n_rows += batch.n_rows
            if self._is_late() and self.world.size == 1:
                break
        self.world.spread(self.objective.buffers())  # batch statistics: each saw its own rows
        loss, intra, inter = self.world.sum(*(sums / n_steps).tolist())
        epoch = Epoch(
            epoch=number + 1,
            rows=n_rows,
            loss=loss / self.world.size,
            intra=intra / self.world.size,
            inter=inter / self.world.size,
            factor=self.objective.factor.factor,
            learning_rate=self.optimizer.param_groups[0]["lr"],
            validation_accuracy=self._validate(number) if math.isfinite(loss) else None,
            validation_rows=self.validation.n_sampled if self.validation else None,
            seconds=self.seconds_before + time.monotonic() - self.started,
        )
        self.history.epochs.append(epoch)
        self.history.stopped = self._reason_to_stop(epoch)
        if n_steps == len(self.batches):  # a run never resumes after half an epoch
            self._save()
        return epoch

    def _set_learning_rate(self, step: int) -> None:
        # Plain numbers: a checkpoint takes no numpy scalars.
        peak, decay = float(self.settings.learning_rate), float(self.settings.weight_decay)
        n_steps = self.settings.max_epochs * len(self.batches)
        rate = one_cycle(step / n_steps) * peak if self.settings.schedule == "one_cycle" else peak
        for group in self.optimizer.param_groups:
            group.update(lr=rate, weight_decay=decay)

    def _validate(self, number: int) -> float | None:
        last = number + 1 == self.settings.max_epochs
        if self.validation is None or not (
            last or (number + 1) % self.settings.validation_every == 0
        ):
            return None
        accuracy = self.validation.accuracy(self.objective, self.world)
        self.objective.after_validation(accuracy)
        # Of equals the last is kept: it was trained longer. (Small validation sets tie often.)
        if self.history.best_accuracy is None or accuracy >= self.history.best_accuracy:
            self.history.best_accuracy, self.history.best_epoch = accuracy, number + 1
            self.best = _copy(self.objective.state_dict())
        return accuracy

    def _reason_to_stop(self, epoch: Epoch) -> str:
        if not math.isfinite(epoch.loss):
            return self._diverged(epoch)
        if epoch.epoch >= self.settings.max_epochs:
            return "max_epochs reached"
        if self.world.any(self._is_late()):
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
        if self.best is None:
            raise InputError(f"The loss is {epoch.loss} after epoch {epoch.epoch}; {advice}.")
        message = f"The loss became {epoch.loss} in epoch {epoch.epoch}; the best model is kept"
        warn(f"{message}. For a better one {advice}.")
        return "the loss is not finite"

    def _is_late(self) -> bool:
        limit = self.settings.time_limit
        return limit is not None and time.monotonic() - self.started >= limit

    def _save(self) -> None:
        if self.checkpoint is None or not self.world.is_first:
            return
        self.checkpoint.save(
            {
                "model": self.objective.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "best": self.best,
                "history": self.history.to_dict(),
            }
        )

    def resume(self) -> None:
        state = self.checkpoint.load() if self.checkpoint is not None else None
        if state is None:
            return
        self.objective.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.best = state["best"]
        self.history = History.from_dict(state["history"])
        self.seconds_before = self.history.epochs[-1].seconds
        if self.history.stopped == LATE:  # the clock starts anew
            self.history.stopped = ""

    def keep_best(self) -> None:
        if self.best is not None:
            self.objective.load_state_dict(self.best)
        self.objective.zero_grad(set_to_none=True)  # as large as the model, and of no use now
        self.objective.eval()


def one_cycle(progress: float) -> float:
    """Return the learning rate as a share of its peak: up along a cosine, then down to nothing."""
    if progress < _WARM_UP:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / _WARM_UP)) / 2
    return (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP))) / 2


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, Tensor) else dict(v) for k, v in state.items()}
