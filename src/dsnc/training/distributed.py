"""One run in several processes: which one is this, and what do they have together.

Under ``torchrun`` every process calls the same ``fit``. The rows of a batch are dealt out,
gradients averaged by DDP, counts summed here. A run of several processes computes what one process
with the whole batch computes, up to rounding.
"""

import atexit
import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist

from dsnc.errors import InputError


@dataclass(frozen=True)
class World:
    """The place of this process among all."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """Return this process's part of n things."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def sum(self, *values: float, device: torch.device) -> list[float]:
        """Add up figures over all processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def spread(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give all processes the values of the first, in place."""
        if self.size > 1:
            for tensor in tensors:
                if tensor.numel():
                    dist.broadcast(tensor, src=0)

    def any(self, flag: bool, *, device: torch.device) -> bool:
        """Tell whether the flag is set in any process: all must stop at the same step."""
        return self.sum(float(flag), device=device)[0] > 0


def join_world(device_type: str) -> World:
    """Join the other processes, if ``torchrun`` started any.

    They stay together until the program ends: meeting again at the same address, for a second
    `fit`, they would miss each other and wait for ever.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return World()
    try:
        world = World(rank=int(os.environ["RANK"]), size=int(os.environ["WORLD_SIZE"]))
    except (KeyError, ValueError) as error:
        raise InputError(
            f"WORLD_SIZE is set, but it or RANK is missing or wrong ({error}); start with torchrun."
        ) from error
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device_type == "cuda" else "gloo")
        atexit.register(_part)
    return world


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
