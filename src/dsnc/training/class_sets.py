"""Sets of classes on a device: flat while they wait, padded for the rows of a batch alone."""

from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from dsnc.targets import Targets


class ClassSets:
    """The set of classes of every row.

    As a tensor of one class a row, it is asked for rows by ``sets[rows]``. That gives (n, m)
    classes, each row's ascending and then -1, with m of the largest of these sets (1 at least): one
    row with very many classes costs the batches that it is in, and no others.

    Parameters
    ----------
    starts : (rows + 1,) of int64
        Where the classes of each row begin; at last, where they end.
    classes : (n,) of int
        The classes of all rows, one row after the other, each row's ascending.
    n_classes : int
        Number of classes.
    """

    def __init__(self, starts: Tensor, classes: Tensor, n_classes: int) -> None:
        self.starts, self.classes, self.n_classes = starts, classes, n_classes

    @classmethod
    def of(cls, targets: Targets) -> Self:
        """Return the sets of targets."""
        starts, classes = targets.lists()
        return cls(torch.from_numpy(starts), torch.from_numpy(classes), targets.n_classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Return the sets of some rows, padded with -1."""
        starts, sizes = self.starts[rows], self.sizes[rows]
        most = max(1, int(sizes.max())) if len(rows) else 1
        column = torch.arange(most, device=self.starts.device)
        is_class = column < sizes[:, None]
        padded = torch.full(is_class.shape, -1, device=self.starts.device)
        padded[is_class] = self.classes[(starts[:, None] + column)[is_class]].long()
        return padded

    def to(self, device: torch.device) -> "ClassSets":
        """Return the sets on a device."""
        return ClassSets(self.starts.to(device), self.classes.to(device), self.n_classes)

    @cached_property
    def sizes(self) -> Tensor:
        """How many classes each row has."""
        return self.starts.diff()

    @cached_property
    def owners(self) -> Tensor:
        """The row of each of `classes`."""
        rows = torch.arange(len(self), device=self.starts.device)
        return torch.repeat_interleave(rows, self.sizes)

    def contain(self, rows: Tensor, classes: Tensor) -> Tensor:
        """Tell of (n, m) classes whether they are in the sets of n rows; -1 is in none."""
        wanted = rows[:, None] * self.n_classes + classes
        places = torch.searchsorted(self._keys, wanted).clamp_(max=max(0, len(self._keys) - 1))
        if not len(self._keys):
            return torch.zeros_like(wanted, dtype=torch.bool)
        return (self._keys[places] == wanted) & (classes >= 0)

    @cached_property
    def _keys(self) -> Tensor:
        """Row and class in one integer, ascending: sets are looked up by bisection."""
        return self.owners * self.n_classes + self.classes


Classes = Tensor | ClassSets
"""What every row should be: (rows,) of int64, one class each, or sets."""


def classes_on(targets: Targets, device: torch.device, *, one_each: bool) -> Classes:
    """Return targets on a device; sets are refused where each row must have one class."""
    if targets.is_single or one_each:
        return torch.from_numpy(targets.y.astype(np.int64)).to(device)
    return ClassSets.of(targets).to(device)


def repeat_rows(y: Tensor, times: int) -> Tensor:
    """Return the classes of rows several times over: (n,), one each, or (n, m), padded sets."""
    return y.repeat(times, *(1 for _ in y.shape[1:]))
