"""Codes of one class together, codes of different classes apart.

The paper adds ``beta * sum ||phi(x) - phi(x')||^2`` over the pairs of one class and subtracts
``gamma`` times the sum over the pairs of different classes. With more classes than a batch has rows
such pairs are rare within a batch, so each row draws two partners: one from its own class, one from
all rows. Weighted as below, the mean over a batch is an unbiased estimate of the *mean* over all
ordered pairs (a row and itself included, as the paper's set has it): `beta` and `gamma` multiply
means. The authors' 1e-6 on the sums of a batch of 1,000 is about 1e-3 here.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class Partners(NamedTuple):
    """For each row of a batch, a partner of its class and one of any class, and their weights."""

    same: Tensor
    same_weight: Tensor
    other: Tensor
    other_weight: Tensor


class PartnerSampler:
    """Draws partners for rows, so that weighted means over them are means over all pairs.

    Parameters
    ----------
    y : (n,) of int64
        The class of every row.
    n_classes : int
        Number of classes.
    """

    def __init__(self, y: Tensor, n_classes: int) -> None:
        self._y = y
        self._order = torch.argsort(y, stable=True)
        self._count = torch.bincount(y, minlength=n_classes)
        self._start = torch.cumsum(self._count, dim=0) - self._count
        n = len(y)
        n_same = float((self._count.double() ** 2).sum())
        self._rows_per_same_pair = n / n_same
        self._rows_per_other_pair = n * n / (n * n - n_same) if n_same < n * n else 0.0

    def draw(self, rows: Tensor, generator: torch.Generator) -> Partners:
        """Draw partners for some rows."""
        uniform = torch.rand(2, len(rows), generator=generator, dtype=torch.float64).to(rows.device)
        y = self._y[rows]
        count = self._count[y]
        within = (uniform[0] * count).long()
        same = self._order[self._start[y] + within]
        other = (uniform[1] * len(self._y)).long()
        # A class of n rows has n^2 pairs but is met only n times: weight n. Rows of one class that
        # were drawn as strangers count nothing, the strangers a little more.
        same_weight = count.float() * self._rows_per_same_pair
        other_weight = (self._y[other] != y).float() * self._rows_per_other_pair
        return Partners(same, same_weight, other, other_weight)


def pair_distance(phi: Tensor, partner: Tensor, weight: Tensor) -> Tensor:
    """Return the weighted mean of squared distances between rows and their partners."""
    return (weight * (phi - partner).square().sum(dim=1)).sum()


@dataclass
class AdaptiveFactor:
    """Scales the regularizer: doubled when validation accuracy rises, halved when it falls.

    Parameters
    ----------
    rule : "none", "previous" or "best"
        What an accuracy is compared with: nothing, so that the factor stays 1; the one before, as
        the paper says; or the best so far, as the authors' script does.
    factor : float
        Its value now.
    reference : float, optional
        The accuracy that the next one is compared with.
    """

    rule: str = "previous"
    factor: float = 1.0
    reference: float | None = None

    def update(self, accuracy: float) -> float:
        """Take note of an accuracy; return the factor from now on."""
        if self.rule == "none":
            return self.factor
        reference = accuracy if self.reference is None else self.reference
        if accuracy > reference:
            self.factor *= 2
        elif accuracy < reference:
            self.factor /= 2
        self.reference = max(accuracy, reference) if self.rule == "best" else accuracy
        return self.factor
