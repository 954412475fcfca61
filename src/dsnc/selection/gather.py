"""From trained arrays and the rows of a run to the evidence that chooses a decoder."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.decoders import Evidence, HeldOut, LinearDecoder
from dsnc.predictor import Predictor

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

_MAX_CODES = 1 << 20  # training rows whose codes are known to decoders
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
    X, y, _ = _some_rows(examples, _MAX_CODES)
    evidence = Evidence(linear, trained.encode(X), y, train_soft=train_soft)
    if held_out is None:
        return evidence
    X, y, weight = _some_rows(held_out, _MAX_HELD_OUT)
    return replace(evidence, held_out=HeldOut(Encoded(trained.logits(X)), y, weight))


def _some_rows(
    examples: "Examples", most: int
) -> tuple[Any, NDArray[np.int64], NDArray[np.float32] | None]:
    """Return rows, their classes and weights; evenly spaced ones where there are too many."""
    rows = np.arange(len(examples.y)) if examples.rows is None else examples.rows
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    X = examples.X if len(rows) == len(examples.y) else examples.X[rows]
    weight = None if examples.weight is None else examples.weight[rows]
    return X, examples.y[rows].astype(np.int64), weight
