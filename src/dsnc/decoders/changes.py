"""Which classes a decoder is to know from now on, and what of."""

from typing import NamedTuple

import numpy as np

from dsnc.codes import PackedCodes
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import LinearDecoder


class Change(NamedTuple):
    """Classes that come and go, as a decoder is told."""

    before: Ints  # the number that each class had so far; -1 for one that is new
    linear: LinearDecoder | None = None  # class vectors of all of them, where there are any
    codes: PackedCodes | None = None  # of rows of new classes, or more of known ones,
    labels: Ints | None = None  # and the classes of these, by their numbers from now on
    keeps_vectors: bool = False  # classes only come, and the vectors of the others are as before

    @property
    def n_classes(self) -> int:
        """How many there are from now on."""
        return len(self.before)

    def only_adds(self, n_before: int) -> bool:
        """Tell whether all classes stay, with the numbers that they have, and others come last."""
        old, new = self.before[:n_before], self.before[n_before:]
        return np.array_equal(old, np.arange(n_before)) and bool((new < 0).all())

    def kept(self, labels: Ints) -> tuple[Ints, Ints]:
        """Return which of some known codes stay, and the numbers of their classes from now on."""
        size = max(int(labels.max(initial=-1)), int(self.before.max(initial=-1))) + 1
        now = np.full(size, -1, dtype=np.int64)
        stays = np.flatnonzero(self.before >= 0)
        now[self.before[stays]] = stays
        rows = np.flatnonzero(now[labels] >= 0)
        return rows, now[labels[rows]]
