"""From examples to what the loop takes: batches to learn from, rows to validate on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dsnc.targets import Targets
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batches, RowSource, Subset, make_source
from dsnc.training.class_sets import classes_on
from dsnc.training.examples import Examples
from dsnc.training.regularizer import make_sampler
from dsnc.training.world import World

_VALIDATION_ROWS = 4096  # encoded at a time
# Where a step scores few classes, an epoch must not score all of them for every row held out: so
# many scores, but so many rows at least.
_SCORES, _LEAST_ROWS = 1 << 30, 4096


@dataclass
class Validation:
    """Rows that training does not see, or some of them, and how much each counts."""

    source: RowSource
    targets: Targets
    weight: Tensor

    def accuracy(self, objective: BaseObjective, world: World) -> float:
        """Return what the objective's answers are worth, rows by weight; see `Targets.worth`."""
        objective.eval()
        device = objective.device
        n_rows = len(self.targets)
        rows = torch.arange(n_rows, device=device)[world.share(n_rows)]
        n_ranks = min(self.targets.n_ranks, objective.n_classes)
        total = 0.0
        for part in rows.split(_VALIDATION_ROWS):
            answers = objective.best(self.source.take(part), n_ranks).cpu().numpy()
            targets = self.targets.take(part.cpu().numpy())
            worth = torch.from_numpy(targets.worth(targets.contains(answers))).float()
            total += float((worth.to(device) * self.weight[part]).sum())
        objective.train()
        # Rounded, so that a row of next to no weight does not decide which epoch is best.
        weight = float(self.weight.sum()) or 1.0  # the rows held out may all weigh nothing
        return round(world.sum(total)[0] / weight, 6)


def feed(
    objective: BaseObjective,
    examples: Examples,
    validation: Examples | None = None,
    *,
    batch_size: int,
    unit_rows: bool,
    seed: int,
    world: World,
) -> tuple[Batches, Validation | None]:
    """Return the batches of a run, and its validation rows if there are any.

    The objective knows whether batches come with partners. Both kinds of rows may be of one X,
    which is then shared. With `unit_rows`, they are divided by their length. The seed decides their
    order, their partners and their noise.
    """
    source = make_source(examples.X, world.device, unit_rows=unit_rows)
    chosen, targets, weight = _used(examples, source, world)
    y = classes_on(targets, world.device, one_each=not objective.takes_sets)
    batches = Batches(
        chosen,
        y,
        weight,
        batch_size=batch_size,
        seed=seed,
        partners=make_sampler(y, objective.n_classes) if objective.is_regularized else None,
        world=world,
    )
    if validation is None:
        return batches, None
    if validation.X is not examples.X:
        source = make_source(validation.X, world.device, unit_rows=unit_rows)
    some = _some(validation, objective, seed)
    return batches, Validation(*_used(some, source, world))


def _some(examples: Examples, objective: BaseObjective, seed: int) -> Examples:
    """Return as many examples as an epoch may be validated on."""
    most = max(_LEAST_ROWS, _SCORES // objective.n_classes)
    if not objective.scores_few or examples.n_rows <= most:
        return examples
    picked = np.sort(np.random.default_rng(seed).choice(examples.n_rows, most, replace=False))
    return examples._replace(rows=picked if examples.rows is None else examples.rows[picked])


def _used(examples: Examples, source: RowSource, world: World) -> tuple[Any, Targets, Tensor]:
    """Return the rows that are used, their targets and, on the device, their weights."""
    targets, weight = examples.used()
    if examples.rows is not None:
        source = Subset(source, torch.from_numpy(examples.rows).to(world.device))
    if weight is None:
        return source, targets, torch.ones(len(targets), device=world.device)
    return source, targets, torch.from_numpy(weight).to(world.device)
