"""The training loop. It reads from top to bottom and knows nothing of codes."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from dsnc.errors import DsncWarning, InputError
from dsnc.labels import Targets
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batches, RowSource
from dsnc.training.checkpoint import Checkpoint
from dsnc.training.distributed import World
from dsnc.training.history import Epoch, History
from dsnc.training.progress import progress_bar

_WARM_UP = 0.3  # share of the steps in which the one-cycle rate rises
_VALIDATION_ROWS = 4096  # encoded at a time
LATE, INTERRUPTED = "time_limit reached", "interrupted"  # why training stopped early

Callback = Callable[[Epoch, BaseObjective], bool | None]


@dataclass(frozen=True)
class TrainConfig:
    """How long and how fast.

    Parameters
    ----------
    max_epochs : int
        At most so many passes over the rows.
    learning_rate : float
        Of Adam; the peak of a one-cycle schedule.
    weight_decay : float
        Of Adam.
    schedule : "one_cycle" or "constant"
        How the learning rate moves.
    validation_every : int
        Epochs between two measurements of the validation accuracy.
    patience : int, optional
        Stop after so many of them without a new best.
    time_limit : float, optional
        Stop after so many seconds.
    verbose : bool
        Draw a progress bar on stderr.
    counted : str
        What it and warnings count.
    depth : int
        Calls from the user's to the one that warns.
    """

    max_epochs: int = 50
    learning_rate: float = 2e-2
    weight_decay: float = 0.0
    schedule: str = "one_cycle"
    validation_every: int = 1
    patience: int | None = None
    time_limit: float | None = None
    verbose: bool = False
    counted: str = "epoch"
    depth: int = 4


@dataclass
class Validation:
    """Rows that training does not see, and how much each counts."""

    source: RowSource
    targets: Targets
    weight: Tensor

    def accuracy(self, objective: BaseObjective, world: World) -> float:
        """Return the (weighted) share of rows that the objective gets right."""
        objective.eval()
        device = objective.device
        n_rows = len(self.targets)
        rows = torch.arange(n_rows, device=device)[world.share(n_rows)]
        hits = 0.0
        for part in rows.split(_VALIDATION_ROWS):
            answers = objective.predict(self.source.take(part)).cpu().numpy()
            right = self.targets.take(part.cpu().numpy()).contains(answers)
            hits += float((torch.from_numpy(right).to(device) * self.weight[part]).sum())
        objective.train()
        # Rounded, so that a row of next to no weight does not decide which epoch is best.
        total = float(self.weight.sum()) or 1.0  # the rows held out may all weigh nothing
        return round(world.sum(hits, device=device)[0] / total, 6)


def train(
    objective: BaseObjective,
    batches: Batches,
    config: TrainConfig,
    *,
    validation: Validation | None = None,
    world: World | None = None,
    checkpoint: Checkpoint | None = None,
    callbacks: Sequence[Callback] = (),
    optimizer: torch.optim.Optimizer | None = None,
) -> History:
    """Train, and leave the best weights in `objective`.

    The best are those with the highest validation accuracy; without validation rows, the last.
    Ctrl-C after the first epoch ends training early and keeps the best so far. An optimizer may be
    given to go on with its state.
    """
    optimizer = optimizer or make_optimizer(objective, config)
    run = _Run(objective, optimizer, batches, config, validation, world or World(), checkpoint)
    run.resume()
    shown = config.verbose and run.world.is_first
    with progress_bar(config.max_epochs, shown, config.counted) as advance:
        try:
            while not run.history.stopped:
                epoch = run.one_epoch()
                advance(epoch)
                wish = any([callback(epoch, objective) for callback in callbacks])
                if run.world.any(wish, device=objective.device):
                    run.history.stopped = "a callback asked for it"
        except KeyboardInterrupt:
            if not run.history.epochs:
                raise  # there is nothing to keep yet
            run.history.stopped = INTERRUPTED
            warnings.warn(
                f"Training was interrupted in {config.counted} {len(run.history) + 1} of "
                f"{config.max_epochs}; the best model so far is kept.",
                DsncWarning,
                stacklevel=config.depth,  # where the user called fit
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
        config: TrainConfig,
        validation: Validation | None,
        world: World,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.objective, self.batches, self.config = objective, batches, config
        self.validation, self.world, self.checkpoint = validation, world, checkpoint
        self.model = objective if world.size == 1 else DistributedDataParallel(objective)
        self.optimizer = optimizer
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
        for step, batch in enumerate(self.batches.epoch(number)):
            self._set_learning_rate(number * len(self.batches) + step)
            terms = self.model(batch)
            self.optimizer.zero_grad(set_to_none=True)
            terms.total.backward()
            self.optimizer.step()
            sums += torch.stack([terms.loss, terms.intra, terms.inter])
            n_steps += 1
            n_rows += batch.place[2]
            if self._is_late() and self.world.size == 1:
                break
        self.world.spread(self.objective.buffers())  # batch statistics: each saw its own rows
        loss, intra, inter = self.world.sum(*(sums / n_steps).tolist(), device=sums.device)
        epoch = Epoch(
            epoch=number + 1,
            rows=n_rows,
            loss=loss / self.world.size,
            intra=intra / self.world.size,
            inter=inter / self.world.size,
            factor=self.objective.factor.factor,
            learning_rate=self.optimizer.param_groups[0]["lr"],
            validation_accuracy=self._validate(number) if math.isfinite(loss) else None,
            seconds=self.seconds_before + time.monotonic() - self.started,
        )
        self.history.epochs.append(epoch)
        self.history.stopped = self._reason_to_stop(epoch)
        if n_steps == len(self.batches):  # one that the clock cut short is not to go on from
            self._save()
        return epoch

    def _set_learning_rate(self, step: int) -> None:
        peak = self.config.learning_rate
        n_steps = self.config.max_epochs * len(self.batches)
        rate = one_cycle(step / n_steps) * peak if self.config.schedule == "one_cycle" else peak
        for group in self.optimizer.param_groups:
            group.update(lr=rate, weight_decay=self.config.weight_decay)

    def _validate(self, number: int) -> float | None:
        last = number + 1 == self.config.max_epochs
        if self.validation is None or not (
            last or (number + 1) % self.config.validation_every == 0
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
        if epoch.epoch >= self.config.max_epochs:
            return "max_epochs reached"
        if self.world.any(self._is_late(), device=self.objective.device):
            return LATE
        if self.config.patience is not None:
            measured = [a for a in self.history.column("validation_accuracy") if a is not None]
            if (
                measured
                and len(measured) - 1 - measured.index(max(measured)) >= self.config.patience
            ):
                return f"no progress in {self.config.patience} validations"
        return ""

    def _diverged(self, epoch: Epoch) -> str:
        advice = f"try learning_rate={self.config.learning_rate / 10:g}"
        if self.best is None:
            raise InputError(f"The loss is {epoch.loss} after epoch {epoch.epoch}; {advice}.")
        message = f"The loss became {epoch.loss} in epoch {epoch.epoch}; the best model is kept"
        warnings.warn(f"{message}. For a better one {advice}.", DsncWarning, stacklevel=4)
        return "the loss is not finite"

    def _is_late(self) -> bool:
        limit = self.config.time_limit
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


def make_optimizer(objective: BaseObjective, config: TrainConfig) -> torch.optim.Optimizer:
    """Return the optimizer that the objective asks for."""
    return objective.make_optimizer(config.learning_rate, config.weight_decay)


def one_cycle(progress: float) -> float:
    """Return the learning rate as a share of its peak: up along a cosine, then down to nothing."""
    if progress < _WARM_UP:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / _WARM_UP)) / 2
    return (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP))) / 2


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, Tensor) else dict(v) for k, v in state.items()}
