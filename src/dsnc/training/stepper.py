"""A step of training: what a batch costs, backwards, and the parameters move.

On a GPU a step is some hundred small pieces of work, and handing them over takes longer than doing
them. Where every step is the same but for its rows, it is recorded once, as a CUDA graph, and from
then on handed over as one. Its numbers do not depend on when it was recorded: so a resumed run
still ends with the same bits.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from dsnc.training.base_objective import BaseObjective, Terms
from dsnc.training.batches import Batch, Batches, Draw

WORTH_IT = 200  # steps of a run from which on recording one pays
_WARM_UP = 3  # steps before recording, in which libraries set themselves up


class Stepper(Protocol):
    """Goes through epochs, step by step."""

    def inputs(self, number: int) -> Iterator[Any]:
        """Yield what the steps of epoch `number` are made of; each tells its `n_rows`."""
        ...

    def __call__(self, item: Any) -> Terms:
        """Make a step; the terms hold until the next."""
        ...


class PlainStepper:
    """One piece of work after the other, on any device, maybe in several processes."""

    def __init__(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches
    ) -> None:
        self._model, self._optimizer, self._batches = model, optimizer, batches

    def inputs(self, number: int) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        return self._batches.epoch(number)

    def __call__(self, item: Batch) -> Terms:
        """Make a step."""
        terms: Terms = self._model(item)
        self._optimizer.zero_grad(set_to_none=True)
        terms.total.backward()
        self._optimizer.step()
        return terms._replace(total=terms.total.detach())


class RecordedStepper:
    """Steps of whole batches that are recorded; the others are plain."""

    def __init__(
        self, objective: BaseObjective, optimizer: torch.optim.Optimizer, batches: Batches
    ) -> None:
        self._objective, self._optimizer, self._batches = objective, optimizer, batches
        self._plain = PlainStepper(objective, optimizer, batches)
        device = objective.device
        self._noise = torch.Generator(device)  # the graph knows this one
        self._rows = torch.zeros(batches.size, dtype=torch.int64, device=device)
        self._rate = torch.zeros((), device=device)
        self._room = batches.usual_room()
        self._graph: torch.cuda.CUDAGraph | None = None
        self._terms: Terms

    def inputs(self, number: int) -> Iterator[Draw]:
        """Yield what the batches of an epoch are made of."""
        for step, draw in enumerate(self._batches.draws(number)):
            if step == 0:
                self._noise.manual_seed(draw.noise.initial_seed())
            yield draw._replace(noise=self._noise)

    def __call__(self, item: Draw) -> Terms:
        """Make a step."""
        if item.n_rows < len(self._rows) or item.room > (self._room or 0):
            return self._plain(self._batches.batch(item))
        self._rows.copy_(item.whole)
        self._graph = self._graph or self._record(item)
        self._rate.fill_(self._optimizer.param_groups[0]["lr"])
        self._graph.replay()
        return self._terms

    def _record(self, draw: Draw) -> torch.cuda.CUDAGraph:
        """Record a step; nothing moves by it."""
        groups = self._optimizer.param_groups
        rates = [group["lr"] for group in groups]
        for group in groups:
            group["lr"] = self._rate  # 0 for now
        before = _State(self._objective, self._optimizer)
        noise_before = draw.noise.get_state()
        draw = draw._replace(whole=self._rows)
        stream = torch.cuda.Stream(self._objective.device)
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UP):
                self._plain(self._batches.batch(draw, self._room))
            self._optimizer.zero_grad(set_to_none=True)
        torch.cuda.current_stream().wait_stream(stream)
        before.restore()
        draw.noise.set_state(noise_before)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self._noise)
        for group in groups:
            group["capturable"] = True
        with torch.cuda.graph(graph):
            self._terms = self._plain(self._batches.batch(draw, self._room))
        for group, rate in zip(groups, rates, strict=True):
            group.update(lr=rate, capturable=False)
        return graph


class _State:
    """What steps at a rate of 0 change all the same: moments, and what buffers gather."""

    def __init__(self, objective: BaseObjective, optimizer: torch.optim.Optimizer) -> None:
        self._optimizer = optimizer
        tensors = [*objective.buffers(), *self._moments()]
        self._known = {id(tensor): (tensor, tensor.clone()) for tensor in tensors}

    def _moments(self) -> Iterator[Tensor]:
        for state in self._optimizer.state.values():
            yield from state.values()

    def restore(self) -> None:
        """Put everything back; moments that were not there begin at 0."""
        for tensor in self._moments():
            if id(tensor) not in self._known:
                tensor.zero_()
        for tensor, value in self._known.values():
            tensor.copy_(value)


def make_stepper(
    model: nn.Module,
    objective: BaseObjective,
    optimizer: torch.optim.Optimizer,
    batches: Batches,
    max_epochs: int,
) -> Stepper:
    """Return the fastest way to make the steps of a run."""
    if (
        objective.is_steady
        and batches.is_on_device
        and type(optimizer) is torch.optim.Adam
        and max_epochs * len(batches) >= WORTH_IT
    ):
        return RecordedStepper(objective, optimizer, batches)
    return PlainStepper(model, optimizer, batches)
