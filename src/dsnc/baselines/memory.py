"""How large a model with features x classes weights will be, said before it is made."""

import os
import sys
from typing import NamedTuple

from dsnc.errors import InputError

_COPIES = 5  # weights, gradient, two moments, best ones; or, at export, weights in float64, too
_ACTIVE = 3  # rows x classes numbers of a batch: outputs, gradient, one temporary
_FLOAT = 4


class Memory(NamedTuple):
    """Bytes of a model, and of its training besides the rows."""

    model: int
    training: int

    def check(self, device: str, *, verbose: bool) -> None:
        """Say what will be needed, and refuse it where it cannot be there."""
        if verbose:
            sys.stderr.write(f"Memory: {self}.\n")
        there = _on_device(device)
        if there is not None and self.training > there:
            raise InputError(
                f"Training needs {self.training / 1e9:.2f} GB besides X, and device={device!r} has "
                f"{there / 1e9:.2f} GB. Use fewer features, ECOCBaseline or DSNCClassifier: their "
                "size does not grow with features x classes."
            )

    def __str__(self) -> str:
        """Return one line for people."""
        model, training = self.model / 1e9, self.training / 1e9
        return f"{model:.2f} GB for the model, {training:.2f} GB while it is trained"


def linear_memory(n_features: int, n_classes: int, batch_size: int) -> Memory:
    """Return the bytes of a linear layer and of its training with Adam."""
    model = _FLOAT * (n_features + 1) * n_classes
    return Memory(model, _COPIES * model + _ACTIVE * _FLOAT * batch_size * n_classes)


def _on_device(device: str) -> int | None:
    """Return the bytes that a device has, if that can be known."""
    if device != "cpu":
        import torch

        if torch.cuda.is_available():
            return int(torch.cuda.mem_get_info()[1])
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
