"""The steps of an epoch in torch: a batch forward, its gradient, the optimizer."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batches
from dsnc.training.feed import Validation
from dsnc.training.loop import Pass, Steps
from dsnc.training.settings import RunSettings
from dsnc.training.stepper import make_stepper
from dsnc.training.world import World

_WARM_UP = 0.3  # share of the steps in which the one-cycle rate rises


class TorchSteps(Steps):
    """Trains an objective on batches of rows, with rates that are numbers in the settings.

    Held-out rows are optional, as is the world where it takes place (by default alone) and an
    optimizer, to go on with its state.
    """

    def __init__(
        self,
        objective: BaseObjective,
        batches: Batches,
        settings: RunSettings,
        *,
        validation: Validation | None = None,
        world: World | None = None,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        self.objective, self.batches, self.settings = objective, batches, settings
        self.validation, self.world = validation, world or World()
        self.optimizer = optimizer or objective.make_optimizer()
        model = objective if self.world.size == 1 else DistributedDataParallel(objective)
        n_epochs = int(settings.max_epochs)
        self._step = make_stepper(model, objective, self.optimizer, batches, n_epochs)
        self.best: dict[str, Any] | None = None

    @property
    def is_first(self) -> bool:  # type: ignore[override]
        """Whether this process is the one that writes and speaks."""
        return self.world.is_first

    def run(self, epoch: int, is_late: Callable[[], bool]) -> Pass:
        """Pass over the batches of an epoch."""
        self.objective.start_epoch(epoch)
        self.objective.train()
        sums = torch.zeros(3, dtype=torch.float64, device=self.objective.device)
        n_steps = n_rows = 0
        for step, batch in enumerate(self._step.inputs(epoch)):
            self._set_learning_rate(epoch * len(self.batches) + step)
            terms = self._step(batch)
            sums += torch.stack([terms.loss, terms.intra, terms.inter])
            n_steps += 1
            n_rows += batch.n_rows
            if is_late() and self.world.size == 1:
                break
        self.world.spread(self.objective.buffers())  # batch statistics: each saw its own rows
        loss, intra, inter = self.world.sum(*(sums / n_steps).tolist())
        return Pass(
            rows=n_rows,
            loss=loss / self.world.size,
            intra=intra / self.world.size,
            inter=inter / self.world.size,
            factor=self.objective.factor.factor,
            learning_rate=self.optimizer.param_groups[0]["lr"],
            is_whole=n_steps == len(self.batches),
        )

    def _set_learning_rate(self, step: int) -> None:
        # Plain numbers: a checkpoint takes no numpy scalars.
        peak, decay = float(self.settings.learning_rate), float(self.settings.weight_decay)
        n_steps = int(self.settings.max_epochs) * len(self.batches)
        rate = one_cycle(step / n_steps) * peak if self.settings.schedule == "one_cycle" else peak
        for group in self.optimizer.param_groups:
            group.update(lr=rate, weight_decay=decay)

    def validate(self) -> tuple[float, int] | None:
        """Return the accuracy on held-out rows, and let the objective adapt to it."""
        if self.validation is None:
            return None
        accuracy = self.validation.accuracy(self.objective, self.world)
        self.objective.after_validation(accuracy)
        return accuracy, len(self.validation.targets)

    def keep(self) -> None:
        """Remember the weights as they are."""
        self.best = _copy(self.objective.state_dict())

    def keep_best(self) -> None:
        """Go back to the best weights, if any were remembered."""
        if self.best is not None:
            self.objective.load_state_dict(self.best)
        self.objective.zero_grad(set_to_none=True)  # as large as the model, and of no use now
        self.objective.eval()

    def state(self) -> dict[str, Any]:
        """Return the weights, the best ones, and the optimizer's moments."""
        model, optimizer = self.objective.state_dict(), self.optimizer.state_dict()
        return {"model": model, "optimizer": optimizer, "best": self.best}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        self.objective.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.best = state["best"]

    def agree(self, flag: bool) -> bool:
        """Tell whether the flag is set in any process."""
        return self.world.any(flag)


def one_cycle(progress: float) -> float:
    """Return the learning rate as a share of its peak: up along a cosine, then down to nothing."""
    if progress < _WARM_UP:
        return 0.04 + 0.96 * (1 - math.cos(math.pi * progress / _WARM_UP)) / 2
    return (1 + math.cos(math.pi * (progress - _WARM_UP) / (1 - _WARM_UP))) / 2


def _copy(state: dict[str, Any]) -> dict[str, Any]:
    return {k: v.detach().clone() if isinstance(v, Tensor) else dict(v) for k, v in state.items()}
