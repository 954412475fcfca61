"""What a model remembers of its classes: a few soft codes of each, to rehearse when others come."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.codes.soft import SoftCodes, octets_of
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.errors import InputError

_KINDS = {
    "codes": "uint8 2",
    "classes": "uint32 1",
    "held_out": "uint8 2",
    "held_out_classes": "uint32 1",
    "counts": "float32 1",
    "offsets": "float32 1",
    "balance": "float32 2",
}
_HELD_OUT = 4096  # rows that are remembered to judge by, at most


@dataclass(frozen=True, eq=False)
class Memory:
    """Soft codes of some rows of each class, and of some rows that training did not see.

    Parameters
    ----------
    codes : SoftCodes
        Of rows that were learned from.
    classes : int array of shape (len(codes),)
    held_out : SoftCodes
        Of rows that were not.
    held_out_classes : int array of shape (len(held_out),)
    counts : float32 array of shape (n_classes,)
        How many rows each class was learned from.
    offsets : float32 array of shape (n_classes,)
        What was put on top of the biases of classes that came later; rehearsals leave it there.
    balance : dict of int to float
        What the scores of new classes want on top, by rows that such a class has; what was found
        out once.
    """

    codes: SoftCodes
    classes: Ints
    held_out: SoftCodes
    held_out_classes: Ints
    counts: NDArray[np.float32]
    offsets: NDArray[np.float32]
    balance: Mapping[int, float]

    @classmethod
    def empty(cls, n_bits: int, n_classes: int) -> Self:
        """Return the memory of a model that remembers nothing yet."""
        none, of = SoftCodes(np.empty((0, octets_of(n_bits)), np.uint8), n_bits), np.empty(0, int)
        zeros = np.zeros(n_classes, np.float32)
        return cls(none, of, none, of, zeros, zeros, {})

    def with_rows(self, logits: NDArray[Any], classes: Ints, most: int, seed: int) -> Self:
        """Remember some of the rows that were learned from, and of each class `most` in all."""
        codes = SoftCodes.concatenate([self.codes, SoftCodes.from_logits(logits)])
        owners = np.concatenate([self.classes, classes.astype(np.int64)])
        rows = some_of_each(owners, most, seed)
        return replace(self, codes=codes.take(rows), classes=owners[rows])

    def counting(self, classes: Ints) -> Self:
        """Count rows that were learned from, whether they are remembered or not."""
        more = np.bincount(classes, minlength=len(self.counts))
        return replace(self, counts=(self.counts + more).astype(np.float32))

    def with_held_out(self, logits: NDArray[Any], classes: Ints) -> Self:
        """Remember some of the rows that were held out, evenly spaced."""
        rows = np.linspace(0, len(classes) - 1, min(_HELD_OUT, len(classes))).astype(np.int64)
        codes = SoftCodes.from_logits(logits[rows])
        return replace(self, held_out=codes, held_out_classes=classes[rows].astype(np.int64))

    def changed(self, change: Change) -> Self:
        """Return what is remembered of classes that stay, by their numbers from now on."""
        rows, classes = change.kept(self.classes)
        held, held_classes = change.kept(self.held_out_classes)
        new = change.before < 0
        source = np.where(new, 0, change.before)
        numbers: dict[str, Any] = {
            name: np.where(new, 0, getattr(self, name)[source]).astype(np.float32)
            for name in ("counts", "offsets")
        }
        return replace(
            self,
            codes=self.codes.take(rows),
            classes=classes,
            held_out=self.held_out.take(held),
            held_out_classes=held_classes,
            **numbers,
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
        return {
            "codes": self.codes.octets,
            "classes": self.classes.astype(np.uint32),
            "held_out": self.held_out.octets,
            "held_out_classes": self.held_out_classes.astype(np.uint32),
            "counts": self.counts,
            "offsets": self.offsets,
            "balance": np.array(sorted(self.balance.items()), np.float32).reshape(-1, 2),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n_bits: int, n_classes: int) -> Self:
        """Make the memory from its arrays, checking them: a file may be hostile."""
        check_arrays("memory", arrays, _KINDS)
        balance = arrays["balance"]
        if balance.shape[1] != 2 or not np.isfinite(balance).all():
            raise InputError("memory: array 'balance' is not pairs of numbers.")
        counts, offsets = arrays["counts"], arrays["offsets"]
        if counts.shape != (n_classes,) or not (np.isfinite(counts) & (counts >= 0)).all():
            raise InputError(f"memory: array 'counts' is not {n_classes} numbers, 0 or more.")
        if offsets.shape != (n_classes,) or not np.isfinite(offsets).all():
            raise InputError(f"memory: array 'offsets' is not {n_classes} finite numbers.")
        codes = {name: SoftCodes(arrays[name], n_bits) for name in ("codes", "held_out")}
        owners = {name: arrays[name].astype(np.int64) for name in ("classes", "held_out_classes")}
        for known, of in zip(codes.values(), owners.values(), strict=True):
            if len(known) != len(of) or int(of.max(initial=0)) >= max(1, n_classes):
                raise InputError("memory: codes and their classes do not fit together.")
        found = {int(rows): float(offset) for rows, offset in balance.tolist()}
        parts: dict[str, Any] = {**codes, **owners}
        return cls(**parts, counts=counts, offsets=offsets, balance=found)


def some_of_each(classes: Ints, most: int, seed: int) -> Ints:
    """Return the numbers of up to `most` rows of each class, drawn at random, ascending."""
    order = np.random.default_rng([seed, 5]).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    of = classes[order]
    places = np.arange(len(of)) - np.searchsorted(of, of)
    return np.sort(order[places < most])
