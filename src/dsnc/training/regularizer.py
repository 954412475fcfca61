"""Codes of one class together, codes of different classes apart.

The paper adds ``beta * sum ||phi(x) - phi(x')||^2`` over the pairs of one class and subtracts
``gamma`` times the sum over the pairs of different classes. With more classes than a batch has rows
such pairs are rare within a batch, so each row draws two partners: one from its own class, one from
all rows. Weighted as below, the mean over a batch is an unbiased estimate of the *mean* over all
ordered pairs (a row and itself included, as the paper's set has it): `beta` and `gamma` multiply
means. The authors' 1e-6 on the sums of a batch of 1,000 is about 1e-3 here.

Where rows have sets of classes, the pairs that share a class stand for those of one class, and the
pairs that share none for those of different classes; rows without a class take no part.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.training.class_sets import Classes, ClassSets

_COUNTED = 1 << 22  # pairs that share a class, up to which they are counted one by one
_DRAWN, _PIECES = 1 << 18, 64  # of more, to estimate their number; so many pieces


class Partners(NamedTuple):
    """For each row of a batch, a partner of its class and one of any class, and their weights."""

    same: Tensor
    same_weight: Tensor
    other: Tensor
    other_weight: Tensor


class Sampler(Protocol):
    """Draws partners for rows."""

    def draw(self, rows: Tensor, generator: torch.Generator) -> Partners:
        """Draw partners for some rows."""
        ...


def make_sampler(y: Classes, n_classes: int) -> Sampler:
    """Return what draws partners for rows that have one class each, or sets."""
    return SetPartnerSampler(y) if isinstance(y, ClassSets) else PartnerSampler(y, n_classes)


class PartnerSampler:
    """Draws partners for rows, so that weighted means over them are means over all pairs."""

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


class SetPartnerSampler:
    """Draws partners for rows that have sets of classes.

    A row draws one of its classes and then a row of that class. So it meets a row j with the
    probability p = sum over the classes that both have of 1 / (its own classes * rows of that
    class); the pair counts 1 / p.
    """

    def __init__(self, sets: ClassSets) -> None:
        self._sets = sets
        self._count = torch.bincount(sets.classes, minlength=sets.n_classes)
        self._start = torch.cumsum(self._count, dim=0) - self._count
        by_class = sets.owners[torch.argsort(sets.classes, stable=True)]
        self._rows = F.pad(by_class, (0, 1))  # what rows without a class are pointed to
        n, (n_same, n_other) = len(sets), self._pairs()
        self._rows_per_same_pair = n / n_same if n_same else 0.0
        self._rows_per_other_pair = n * n / n_other if n_other else 0.0

    def draw(self, rows: Tensor, generator: torch.Generator) -> Partners:
        """Draw partners for some rows."""
        uniform = torch.rand(3, len(rows), generator=generator, dtype=torch.float64).to(rows.device)
        own = self._sets[rows]
        same, chance = self._meet(rows, own, uniform[0], uniform[1])
        other = (uniform[2] * len(self._sets)).long()
        same_weight = torch.where(chance > 0, self._rows_per_same_pair / chance, 0.0).float()
        other_weight = self._are_strangers(own, other).float() * self._rows_per_other_pair
        return Partners(same, same_weight, other, other_weight)

    def _meet(
        self, rows: Tensor, own: Tensor, of_class: Tensor, of_row: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return rows that share a class with some, and the chances to meet just these.

        A row without a class meets itself, with the chance 0.
        """
        sizes = self._sets.sizes[rows]
        drawn = own.gather(1, (of_class * sizes).long()[:, None])[:, 0].clamp(min=0)
        place = self._start[drawn] + (of_row * self._count[drawn]).long()
        met = torch.where(sizes > 0, self._rows[place], rows)
        share = self._sets.contain(met, own) / self._count[own.clamp(min=0)].clamp(min=1).double()
        return met, share.sum(dim=1) / sizes.clamp(min=1)

    def _are_strangers(self, own: Tensor, other: Tensor) -> Tensor:
        """Tell whether rows with these sets share no class with others; all must have some."""
        both = (own >= 0).any(dim=1) & (self._sets.sizes[other] > 0)
        return both & ~self._sets.contain(other, own).any(dim=1)

    def _pairs(self) -> tuple[float, float]:
        """Return how many ordered pairs share a class, and how many of rows with some do not."""
        sets, with_class = self._sets, self._sets.sizes.nonzero()[:, 0]
        n_all = float(len(with_class)) ** 2
        if float((self._count.double() ** 2).sum()) <= _COUNTED:
            starts, classes = sets.starts.cpu().numpy(), sets.classes.cpu().numpy()
            ones = np.ones(len(classes), dtype=np.int32)
            members = sp.csr_array((ones, classes, starts), shape=(len(sets), sets.n_classes))
            n_same = float((members @ members.T).nnz)
            return n_same, n_all - n_same
        generator = torch.Generator().manual_seed(0)
        rows_each, strangers = 0.0, 0.0  # that a row shares a class with; share of all pairs
        for _ in range(_PIECES):  # sets may be large
            uniform = torch.rand(4, _DRAWN // _PIECES, generator=generator, dtype=torch.float64)
            uniform = uniform.to(with_class.device)
            rows, other = with_class[(uniform[:2] * len(with_class)).long()]
            own = sets[rows]
            _, chance = self._meet(rows, own, uniform[2], uniform[3])
            rows_each += float((1 / chance).mean()) / _PIECES
            strangers += float(self._are_strangers(own, other).double().mean()) / _PIECES
        return len(with_class) * rows_each, n_all * strangers


def distance_sum(phi: Tensor, partner: Tensor, weight: Tensor) -> Tensor:
    """Return ``sum_i weight[i] * |phi[i] - partner[i]|^2``, a scalar.

    Its unit is bits: the squared distance of two codes of 0 and 1 is how many bits differ. With the
    weights of a `Batch`, which are those of a `Sampler` over the number of rows, it estimates the
    mean over all ordered pairs; with a `Sampler`'s own, that many times as much.
    """
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
