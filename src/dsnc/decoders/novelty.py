"""How strange a row is: whether it belongs to any of the classes at all.

Two things tell: how sure the first stage is of its answer, and how much farther the row's soft code
is from those that are remembered of that class than these are from each other. Each is measured by
what is usual for rows of known classes, on rows held out of training, and the two are added. The
same rows tell where to draw the line, for a share of known rows that one is ready to lose.

The second stage has no say: it tells candidates apart, and is as sure of strange rows as of others.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.checks import real
from dsnc.codes import Encoded
from dsnc.decoders.base import Decoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory
from dsnc.errors import InputError

_KINDS = {"first_stage": "float32 2", "quantiles": "float32 1"}
_STEPS = 1000  # of the share of known rows to lose
_WEIGHTS = np.array([1.0, 0.5])  # of doubt and of distance
_SURE = 1e-6  # more than this, float32 cannot tell from certainty
_ROWS = 512  # at a time
_USUAL = 0.8  # how near codes of a class are to each other, before any is seen
FEWEST = 20  # held-out rows that can tell what is usual


@dataclass(frozen=True, eq=False)
class Novelty:
    """What is usual for rows of known classes.

    Parameters
    ----------
    usual : float32 array of shape (2, 2)
        Mean and deviation of doubt and of distance.
    quantiles : float32 array of shape (1001,)
        Of the novelty of known rows, from the least to the largest.
    """

    usual: NDArray[np.float32]
    quantiles: NDArray[np.float32]

    @classmethod
    def of(cls, signs: NDArray[Any]) -> Self | None:
        """Learn what is usual from what `signs_of_novelty` says of known rows; None of too few."""
        if len(signs) < FEWEST:
            return None
        deviation = np.maximum(signs.std(axis=0), 1e-6)
        usual = np.stack([signs.mean(axis=0), deviation], axis=1).astype(np.float32)
        found = cls(usual, np.zeros(_STEPS + 1, np.float32))
        quantiles = np.quantile(found.measure(signs), np.linspace(0, 1, _STEPS + 1))
        return cls(usual, quantiles.astype(np.float32))

    def measure(self, signs: NDArray[Any]) -> NDArray[np.float64]:
        """Return how strange rows are; 0 is usual, larger is stranger."""
        return np.asarray((signs - self.usual[:, 0]) / self.usual[:, 1] @ _WEIGHTS)

    def threshold(self, share: float) -> float:
        """Return the novelty that this share of known rows exceeds."""
        share = real("unknown_share", share, least=0, most=1)
        return float(np.interp(1 - share, np.linspace(0, 1, _STEPS + 1), self.quantiles))

    def moved(self, before: NDArray[Any], after: NDArray[Any]) -> Self:
        """Return the same after classes have come or gone: lines move as those of some rows do.

        `before` and `after` are what the first stage said of known rows, and says now.
        """
        if len(before) < FEWEST:
            return self
        steps = np.linspace(0, 1, _STEPS + 1)
        lines = [np.quantile(self.measure(signs), steps) for signs in (before, after)]
        quantiles = np.maximum.accumulate(self.quantiles + lines[1] - lines[0])
        return replace(self, quantiles=quantiles.astype(np.float32))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return plain arrays for a model file; `from_arrays` is the way back."""
        return {"first_stage": self.usual, "quantiles": self.quantiles}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make it from its arrays, checking them: a file may be hostile."""
        check_arrays("novelty", arrays, _KINDS)
        usual, quantiles = arrays["first_stage"], arrays["quantiles"]
        if usual.shape != (2, 2) or quantiles.shape != (_STEPS + 1,):
            raise InputError("novelty: its arrays have other shapes than they should.")
        if not (
            np.isfinite(usual).all() and np.isfinite(quantiles).all() and usual[:, 1].min() > 0
        ):
            raise InputError("novelty: its numbers are not finite, or a deviation is not above 0.")
        return cls(usual, quantiles)


class MovedNovelty(Novelty):
    """What is usual after classes have come: how far the lines move is told when somebody asks.

    Parameters
    ----------
    known : Novelty
        What was usual at some earlier time.
    before : array of shape (n, 2)
        What the first stage said of known rows at that time.
    after : callable
        Returns what it says of them now.
    """

    def __init__(
        self, known: Novelty, before: NDArray[Any], after: Callable[[], NDArray[Any]]
    ) -> None:
        vars(self).update(usual=known.usual, known=known, before=before, after=after)

    @cached_property
    def signs(self) -> NDArray[Any]:
        """What the first stage says of known rows."""
        after: Callable[[], NDArray[Any]] = vars(self)["after"]
        return after()

    @cached_property
    def quantiles(self) -> NDArray[np.float32]:
        """Of the novelty of known rows."""
        known: Novelty = vars(self)["known"]
        return known.moved(vars(self)["before"], self.signs).quantiles

    def again(self, after: Callable[[], NDArray[Any]]) -> "MovedNovelty":
        """Return the same after more classes have come; what nobody asked for is left out."""
        own = vars(self)
        if "quantiles" in own:
            return MovedNovelty(Novelty(self.usual, self.quantiles), self.signs, after)
        return MovedNovelty(own["known"], own["before"], after)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what is usual, and not how that came about."""
        return Novelty, (self.usual, self.quantiles)


def signs_of_novelty(
    encoded: Encoded, decoder: Decoder, memory: Memory | None
) -> NDArray[np.float64]:
    """Return (n, 2): doubt about the answer, and distance from what is known of its class.

    Parameters
    ----------
    encoded : Encoded
    decoder : Decoder
        That answers; its class vectors stand in for a memory, where there is none.
    memory : Memory, optional
    """
    signs = np.empty((len(encoded), 2))
    for rows, block in encoded.blocks(_ROWS) if len(encoded) else ():
        signs[rows] = _signs(block, decoder, memory)
    return signs


def _signs(encoded: Encoded, decoder: Decoder, memory: Memory | None) -> NDArray[np.float64]:
    best, probabilities = decoder.top_k_proba(encoded, 1)
    classes, p = best[:, 0], np.clip(probabilities[:, 0].astype(np.float64), _SURE, 1 - _SURE)
    bits, near = _directions(encoded.numbers()), np.zeros(len(encoded))
    if memory is not None and len(memory.codes):
        near = _nearest(bits, classes, memory)
    elif (known := decoder.evidence()) is not None:
        vectors = known.linear.weight
        lengths = np.maximum(np.linalg.norm(vectors, axis=1), 1e-9)
        near = np.einsum("ij,ij->i", bits, vectors[classes]) / lengths[classes]
    return np.stack([np.log(1 - p) - np.log(p), -near], axis=1)


def _directions(logits: NDArray[Any]) -> NDArray[np.float32]:
    """Return soft bits as vectors of length 1."""
    bits = np.tanh(logits / 2)
    return np.asarray(bits / np.maximum(np.linalg.norm(bits, axis=-1, keepdims=True), 1e-9))


def _nearest(bits: NDArray[np.float32], classes: Ints, memory: Memory) -> NDArray[np.float64]:
    """Return the cosine to the nearest code of a row's class, above what is usual among them.

    A class of which nothing is remembered has no code that is near.
    """
    numbers, owners = np.unique(classes, return_inverse=True)
    starts, ends = memory.places(numbers)
    counts = ends - starts
    places = np.arange(int(counts.max(initial=1)))
    rows = np.minimum(starts[:, None] + places, len(memory.codes) - 1)
    codes = _directions(memory.codes.take(rows.ravel()).logits()).reshape(*rows.shape, -1)
    is_there = places < counts[:, None]
    alike = codes @ codes.transpose(0, 2, 1)
    alike[:, places, places] = -1  # a code is not its own neighbor
    alike = np.where(is_there[:, None], alike, -1).max(axis=2)
    several = is_there & (counts > 1)[:, None]
    usual = (np.where(several, alike, 0).sum(axis=1) + _USUAL) / (several.sum(axis=1) + 1)
    cosines = np.einsum("imj,ij->im", codes[owners], bits)
    near = np.where(is_there[owners], cosines, -1).max(axis=1, initial=-1)
    return np.asarray(near - usual[owners])
