"""From arrays to trained arrays: set up, fit, export."""

from dataclasses import replace
from time import monotonic
from typing import Any

import torch

from dsnc.encoders.torch import ModuleEncoder
from dsnc.training.base_objective import BaseObjective
from dsnc.training.examples import Examples
from dsnc.training.export import Trained, export, take_over
from dsnc.training.feed import feed
from dsnc.training.history import History
from dsnc.training.loop import INTERRUPTED, LATE, train
from dsnc.training.objective import Objective
from dsnc.training.pace import derived_seed, pace_of_a_pass
from dsnc.training.scaling import divides_rows, is_mostly_zeros
from dsnc.training.settings import RunSettings
from dsnc.training.setup import MakeObjective, set_up
from dsnc.training.steps import TorchSteps
from dsnc.training.torch_checkpoint import TorchCheckpoint
from dsnc.training.world import World, lone_world


class Learner:
    """Learns from arrays.

    Parameters
    ----------
    settings : RunSettings
        How.
    examples : Examples
        The rows that decide the scaling; training may use them or others of the same width.
    n_classes : int
        Number of classes.
    seed : int
        Decides everything that is random.
    make_objective : MakeObjective
        What to train around the encoder; by default the model of the paper.
    world : World, optional
        Where `fit` takes place, maybe with other processes; by default alone.
    """

    trainer = "torch"

    def __init__(
        self,
        settings: RunSettings,
        examples: Examples,
        n_classes: int,
        seed: int,
        make_objective: MakeObjective = Objective,
        world: World | None = None,
    ) -> None:
        settings.check()
        self.settings, self.n_classes, self.seed = settings, n_classes, seed
        self.n_features = int(examples.X.shape[1])
        self._sparse = is_mostly_zeros(examples.X)
        self.unit_rows = divides_rows(settings.scaling, self._sparse)
        self.world = world or lone_world(settings.device)
        generator = torch.Generator().manual_seed(derived_seed(seed, 0))
        self.objective = set_up(
            settings, examples, n_classes, generator, make_objective, self.world.device
        )
        # Of `partial_fit`, from call to call: its moments are what it has learned.
        self._optimizer: torch.optim.Optimizer | None = None
        self.is_over = False  # whether the user or the clock has ended training
        self._seconds = 0.0  # that it took

    @property
    def device(self) -> str:
        """Where it takes place."""
        return str(self.world.device)

    def fit(self, examples: Examples, validation: Examples | None = None) -> History:
        """Train from the first epoch to the last."""
        begun = monotonic()
        batches, held_out = self._feed(self.objective, examples, validation, self.seed, self.world)
        counts = torch.tensor(examples.counts(), dtype=torch.float32)
        self.objective.expect(counts, examples.total_weight())
        pace = self._pace()
        checkpoint = TorchCheckpoint.of_run(
            self.settings, self.seed, self.n_classes, examples, validation
        )
        steps = TorchSteps(self.objective, batches, pace, validation=held_out, world=self.world)
        history = train(steps, pace, checkpoint=checkpoint)
        self.is_over = history.stopped in (INTERRUPTED, LATE)
        self._seconds = monotonic() - begun
        return history

    def seconds_left(self) -> float | None:
        """Return how much of the time limit training has left, if there is one."""
        limit = self.settings.time_limit
        return None if limit is None else limit - self._seconds

    def partial_fit(self, examples: Examples, call: int) -> History:
        """Pass once over some rows with a constant learning rate; `call` numbers the passes."""
        seed = derived_seed(self.seed, call)
        history, self._optimizer = self._pass(self.objective, examples, seed, self._optimizer)
        return history

    def load(self, encoder: Any, decoder: Any) -> None:
        """Go on from trained arrays; the scaling is inside their weights."""
        take_over(self.objective, encoder, decoder)
        self.objective.to(self.world.device)
        if not isinstance(encoder, ModuleEncoder):
            self.unit_rows = encoder.row_normalize

    def export(self) -> Trained:
        """Return what was learned."""
        return export(self.objective, self.n_features, unit_rows=self.unit_rows)

    def _pace(self) -> RunSettings:
        """Return the settings with numbers where they say "auto"."""
        rate, epochs = self.settings.rate(sparse=self._sparse), self.settings.max_epochs
        epochs = self.settings.epochs if isinstance(epochs, str) else epochs
        return replace(self.settings, learning_rate=rate, max_epochs=epochs)

    def _feed(
        self,
        objective: BaseObjective,
        examples: Examples,
        validation: Examples | None,
        seed: int,
        world: World,
    ) -> Any:
        objective.has_sets = not examples.targets.is_single
        if examples.gains is not None:
            objective.gains = torch.tensor(examples.gains, device=world.device)
        return feed(
            objective,
            examples,
            validation,
            batch_size=self.settings.rows_of_a_step(examples.n_rows, sparse=self._sparse),
            unit_rows=self.unit_rows,
            seed=seed,
            world=world,
        )

    def _pass(
        self,
        objective: BaseObjective,
        examples: Examples,
        seed: int,
        optimizer: torch.optim.Optimizer | None,
    ) -> tuple[History, torch.optim.Optimizer]:
        """Pass once over some rows, in this process alone."""
        world = World(device=self.world.device)
        pace = pace_of_a_pass(self._pace())
        optimizer = optimizer or objective.make_optimizer()
        batches, _ = self._feed(objective, examples, None, seed, world)
        steps = TorchSteps(objective, batches, pace, world=world, optimizer=optimizer)
        return train(steps, pace), optimizer
