"""What a model remembers of its classes: a few soft codes of each, to rehearse when others come."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import appended, check_arrays
from dsnc.codes.soft import SoftCodes, octets_of
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.errors import InputError
from dsnc.rows import draw_rows
from dsnc.sparse import sp

_KINDS = {
    "codes": "uint8 2",
    "classes": "uint32 1",
    "held_out": "uint8 2",
    "held_out_classes": "uint32 1",
    "counts": "float32 1",
    "offsets": "float32 1",
    "balance": "float32 2",
    "described": "bool 1",
    "attributes": "float32 2",
    "seen": "uint32 1",
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
        Ascending: the codes of a class are found without looking at all.
    held_out : SoftCodes
        Of rows that were not.
    held_out_classes : int array of shape (len(held_out),)
    counts : float32 array of shape (n_classes,)
        How many rows each class was learned from.
    offsets : float32 array of shape (n_classes,)
        What was put on top of the biases of classes that came later; rehearsals leave it there.
    balance : dict of int to float
        What the scores of new classes want on top, by rows that such a class has; what was found
        out once. 0 rows is for descriptions, and -1 for attributes.
    described : bool array of shape (len(codes),)
        Which codes are those of descriptions; all of them are remembered, and none is counted.
    attributes : float32 array of shape (n_classes, n_attributes)
        NaN for a class whose attributes are not known.
    seen : uint32 array of shape (n_features,)
        How many of the rows that were learned from had each feature; empty where nobody counted.
    """

    codes: SoftCodes
    classes: Ints
    held_out: SoftCodes
    held_out_classes: Ints
    counts: NDArray[np.float32]
    offsets: NDArray[np.float32]
    balance: Mapping[int, float]
    described: NDArray[np.bool_]
    attributes: NDArray[np.float32]
    seen: NDArray[np.uint32]

    @classmethod
    def empty(cls, n_bits: int, n_classes: int) -> Self:
        """Return the memory of a model that remembers nothing yet."""
        none, of = SoftCodes(np.empty((0, octets_of(n_bits)), np.uint8), n_bits), np.empty(0, int)
        zeros = np.zeros(n_classes, np.float32)
        nothing = (
            np.zeros(0, np.bool_),
            np.zeros((n_classes, 0), np.float32),
            np.zeros(0, np.uint32),
        )
        return cls(none, of, none, of, zeros, zeros, {}, *nothing)

    @property
    def has_attributes(self) -> NDArray[np.bool_]:
        """Whether the attributes of each class are known."""
        known = np.isfinite(self.attributes).all(axis=1)
        return np.asarray(known & (self.attributes.shape[1] > 0))

    def with_rows(self, codes: SoftCodes, classes: Ints, most: int, seed: int) -> Self:
        """Remember some of the rows that were learned from, and of each class `most` in all."""
        first = int(np.searchsorted(self.classes, classes.min(initial=len(self.counts))))
        head = self if first == len(self.codes) else self._taken(slice(first))
        tail = self._taken(slice(first, None))._joined(codes, classes, is_described=False)
        plain = np.flatnonzero(np.isin(tail.classes, classes) & ~tail.described)
        gone = np.setdiff1d(plain, plain[some_of_each(tail.classes[plain], most, seed)])
        tail = tail._taken(np.delete(np.arange(len(tail.codes)), gone))
        return replace(
            self,
            codes=head.codes.with_more(tail.codes),
            classes=appended(head.classes, tail.classes),
            described=appended(head.described, tail.described),
        )

    def with_descriptions(self, codes: SoftCodes, classes: Ints) -> Self:
        """Remember descriptions, in place of those that their classes had before."""
        kept = self._taken(~(self.described & np.isin(self.classes, classes)))
        return kept._joined(codes, classes, is_described=True)

    def _joined(self, codes: SoftCodes, classes: Ints, *, is_described: bool) -> Self:
        """Return these codes and others, in the order of their classes."""
        owners = np.concatenate([self.classes, classes.astype(np.int64)])
        both = replace(
            self,
            codes=SoftCodes.concatenate([self.codes, codes]),
            classes=owners,
            described=np.append(self.described, np.full(len(classes), is_described)),
        )
        return both._taken(np.argsort(owners, kind="stable"))

    def _taken(self, rows: Any) -> Self:
        """Return some of the codes: a slice, a mask or their numbers."""
        return replace(
            self,
            codes=self.codes.take(rows),
            classes=self.classes[rows],
            described=self.described[rows],
        )

    def with_attributes(self, attributes: NDArray[Any], classes: Ints) -> Self:
        """Remember the attributes of some classes; all classes have as many."""
        known = self.attributes
        if known.shape[1] != attributes.shape[1]:
            known = np.full((len(self.counts), attributes.shape[1]), np.nan, np.float32)
        known = known.copy()
        known[classes] = attributes
        return replace(self, attributes=known)

    def counting(self, classes: Ints) -> Self:
        """Count rows that were learned from, whether they are remembered or not."""
        counts = self.counts.copy()
        np.add.at(counts, classes, 1)
        return replace(self, counts=counts)

    def seeing(self, X: Any) -> Self:
        """Count the features that rows have which were learned from: rows of mostly zeros."""
        counts = np.bincount(sp.csr_array(X).indices, minlength=X.shape[1])
        known = self.seen if len(self.seen) else np.zeros(X.shape[1], np.uint32)
        return replace(self, seen=known + counts.astype(np.uint32))

    def with_features(self, places: NDArray[np.int64], n_features: int) -> Self:
        """Return the same among more features; `places` are those of the present ones."""
        seen = np.zeros(n_features if len(self.seen) else 0, np.uint32)
        if len(self.seen):
            seen[places] = self.seen
        return replace(self, seen=seen)

    def with_held_out(self, codes: SoftCodes, classes: Ints) -> Self:
        """Remember some of the rows that were held out."""
        rows = draw_rows(len(classes), _HELD_OUT)
        return replace(
            self, held_out=codes.take(rows), held_out_classes=classes[rows].astype(np.int64)
        )

    def changed(self, change: Change) -> Self:
        """Return what is remembered of classes that stay, by their numbers from now on."""
        if change.only_adds(len(self.counts)):
            n_new = change.n_classes - len(self.counts)
            none = np.zeros(n_new, np.float32)
            unknown = np.full((n_new, self.attributes.shape[1]), np.nan, np.float32)
            return replace(
                self,
                counts=appended(self.counts, none),
                offsets=appended(self.offsets, none),
                attributes=appended(self.attributes, unknown),
            )
        rows, classes = change.kept(self.classes)
        order = np.argsort(classes, kind="stable")
        rows, classes = rows[order], classes[order]
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
            described=self.described[rows],
            attributes=np.where(new[:, None], np.float32(np.nan), self.attributes[source]),
            **numbers,
        )

    def of_classes(self, classes: Ints, most: int, seed: int) -> Self:
        """Return up to `most` codes of each of some classes, ascending, numbered from 0."""
        starts, ends = self.places(classes)
        counts = ends - starts
        numbers = np.repeat(np.arange(len(classes)), counts)
        rows = np.arange(len(numbers)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        some = some_of_each(numbers, most, seed)
        rows, numbers = rows[some], numbers[some]
        return replace(
            self,
            codes=self.codes.take(rows),
            classes=numbers,
            held_out=self.held_out.take(slice(0)),
            held_out_classes=self.held_out_classes[:0],
            counts=self.counts[classes],
            offsets=self.offsets[classes],
            described=self.described[rows],
            attributes=self.attributes[classes],
        )

    def places(self, classes: Ints) -> tuple[Ints, Ints]:
        """Return where the codes of each class begin, and where they end."""
        starts, ends = (np.searchsorted(self.classes, classes, side) for side in ("left", "right"))
        return starts, ends

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
            "described": self.described,
            "attributes": self.attributes,
            "seen": self.seen,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Any], n_bits: int, n_classes: int, n_features: int
    ) -> Self:
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
        if (np.diff(owners["classes"]) < 0).any():
            raise InputError("memory: array 'classes' does not ascend.")
        described, attributes = arrays["described"], arrays["attributes"]
        if described.shape != owners["classes"].shape:
            raise InputError("memory: array 'described' does not have one value for each code.")
        if len(attributes) != n_classes or np.isinf(attributes).any():
            raise InputError(f"memory: array 'attributes' is not {n_classes} rows of numbers.")
        if len(arrays["seen"]) not in (0, n_features):
            raise InputError(f"memory: array 'seen' is not {n_features} counts.")
        found = {int(rows): float(offset) for rows, offset in balance.tolist()}
        parts: dict[str, Any] = {**codes, **owners, "described": described}
        parts |= {"attributes": attributes, "seen": arrays["seen"]}
        return cls(**parts, counts=counts, offsets=offsets, balance=found)


def some_of_each(classes: Ints, most: int, seed: int) -> Ints:
    """Return the numbers of up to `most` rows of each class, drawn at random, ascending."""
    order, places = _in_turn(classes, [seed, 5])
    return np.sort(order[places < most])


def one_in_each(classes: Ints, n: int, seed: int) -> Ints:
    """Return the numbers of one in n rows of each class, drawn at random, ascending."""
    order, places = _in_turn(classes, [seed, 13])
    counts = np.bincount(classes)
    return np.sort(order[places < counts[classes[order]] // n])


def _in_turn(classes: Ints, seed: list[int]) -> tuple[Ints, Ints]:
    """Return rows by class, in an order drawn at random, and the place of each in its class."""
    order = np.random.default_rng(seed).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    of = classes[order]
    return order, np.arange(len(of)) - np.searchsorted(of, of)
