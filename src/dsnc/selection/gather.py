"""From trained arrays and the rows of a run to the evidence that chooses a decoder."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.decoders import Evidence, HeldOut, LinearDecoder
from dsnc.errors import warn
from dsnc.labels import Targets
from dsnc.predictor import Predictor

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

_CODE_BYTES = 1 << 31  # of the codes and classes of training rows that decoders may know
_MAX_HELD_OUT = 1 << 15  # rows that choose among decoders


def gather(
    trained: Predictor,
    examples: "Examples",
    held_out: "Examples | None" = None,
    train_soft: Callable[[float], LinearDecoder] | None = None,
) -> Evidence:
    """Return what a run leaves: codes of its rows, and held-out rows as the encoder sees them.

    Parameters
    ----------
    trained : Predictor
        With the class vectors that were trained with the codes.
    examples, held_out : Examples
        The rows that were trained on, and those that were not.
    train_soft : callable, optional
        As of `Evidence`.
    """
    linear: Any = trained.decoder
    X, targets, _ = _some_rows(examples, _most_codes(linear.n_bits, examples))
    evidence = Evidence(linear, trained.encode(X), targets, train_soft=train_soft)
    if held_out is None:
        return evidence
    X, targets, weight = _some_rows(held_out, _MAX_HELD_OUT)
    encoded = Encoded(trained.logits(X), source=(X, slice(0, len(targets))))
    return replace(evidence, held_out=HeldOut(encoded, targets, weight))


def _most_codes(n_bits: int, examples: "Examples") -> int:
    """Return how many training codes fit the memory set aside for them; warn if not all do."""
    most = _CODE_BYTES // (8 * (-(-n_bits // 64) + 1))
    if examples.n_rows > most:
        warn(
            f"The codes of {examples.n_rows:,} training rows would take more than {_CODE_BYTES:,} "
            f"bytes: decoders that search them, such as 'nearest', know {most:,}, evenly spaced."
        )
    return most


def _some_rows(examples: "Examples", most: int) -> tuple[Any, Targets, NDArray[np.float32] | None]:
    """Return rows, their targets and weights; evenly spaced ones where there are too many."""
    rows = np.arange(examples.n_rows) if examples.rows is None else examples.rows
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    X = examples.X if len(rows) == len(examples.targets) else examples.X[rows]
    weight = None if examples.weight is None else examples.weight[rows]
    return X, examples.targets.take(rows), weight
