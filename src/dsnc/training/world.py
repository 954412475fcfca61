"""Where a run takes place: on which device, and in which of several processes.

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
    """The place of this process among all, and its device."""

    rank: int = 0
    size: int = 1
    device: torch.device = torch.device("cpu")  # noqa: RUF009 - it never changes

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """Return this process's part of n things."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def sum(self, *values: float) -> list[float]:
        """Add up figures over all processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def spread(self, tensors: Iterable[torch.Tensor]) -> None:
        """Give all processes the values of the first, in place."""
        if self.size > 1:
            for tensor in tensors:
                if tensor.numel():
                    dist.broadcast(tensor, src=0)

    def any(self, flag: bool) -> bool:
        """Tell whether the flag is set in any process: all must stop at the same step."""
        return self.sum(float(flag))[0] > 0


def lone_world(device: str) -> World:
    """Return the world of a process that trains by itself."""
    return World(device=choose_device(device))


def join_world(device: str) -> World:
    """Join the other processes, if ``torchrun`` started any.

    They stay together until the program ends: meeting again at the same address, for a second
    `fit`, they would miss each other and wait for ever.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return lone_world(device)
    try:
        rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    except (KeyError, ValueError) as error:
        raise InputError(
            f"WORLD_SIZE is set, but it or RANK is missing or wrong ({error}); start with torchrun."
        ) from error
    world = World(rank, size, choose_device(device))
    if not dist.is_initialized():
        dist.init_process_group("nccl" if world.device.type == "cuda" else "gloo")
        atexit.register(_part)
    return world


def choose_device(device: str) -> torch.device:
    """Return the device by name; "auto" is CUDA where there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if device == "cuda":  # under torchrun each process has its own
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        raise InputError(f"device={device!r} cannot be used here ({error}); try 'cpu'.") from error
    if chosen.type == "meta":
        raise InputError(f"device={device!r} holds no numbers; try 'cpu'.")
    return chosen


def _part() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
