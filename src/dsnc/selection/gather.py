"""Collects the evidence that chooses a decoder, from trained arrays and the rows of a run."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import Evidence, HeldOut
from dsnc.errors import warn
from dsnc.predictor import Predictor
from dsnc.rows import draw_rows

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

_CODE_BYTES = 1 << 31  # of the codes and classes of training rows that decoders may know
_MAX_HELD_OUT = 1 << 15  # rows that choose among decoders
_ROWS = 1 << 16  # that are encoded at a time: X may be a memory map, and is not to be copied whole


def gather(
    trained: Predictor,
    examples: "Examples",
    held_out: "Examples | None" = None,
) -> Evidence:
    """Return the results of a run: codes of its rows, and held-out rows as the encoder sees them.

    Parameters
    ----------
    trained : Predictor
        With the class vectors that were trained with the codes.
    examples, held_out : Examples
        The rows that were trained on, and those that were held out.
    """
    linear: Any = trained.decoder
    rows = _rows(examples, _most_codes(linear.n_bits, examples))
    blocks = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    codes = PackedCodes.concatenate([trained.encode(examples.X[block]) for block in blocks])
    evidence = Evidence(linear, codes, examples.targets.take(rows))
    if held_out is None:
        return evidence
    owners = _owners(examples) if trained.features is None else None  # texts lose what is new
    return replace(evidence, held_out=held_out_rows(trained, held_out), owners=owners)


def _owners(examples: "Examples") -> NDArray[np.int32] | None:
    """Return the only class that has each feature, -1 where several have it or none."""
    if not (sp.issparse(examples.X) and examples.targets.is_single):
        return None
    rows = _rows(examples, examples.n_rows)
    first = np.full(examples.X.shape[1], examples.targets.n_classes, np.int32)
    last = np.full(examples.X.shape[1], -1, np.int32)
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        X = examples.X[some]
        classes = np.repeat(examples.targets.y[some], np.diff(X.indptr)).astype(np.int32)
        np.minimum.at(first, X.indices, classes)
        np.maximum.at(last, X.indices, classes)
    return np.where(first == last, first, np.int32(-1))


def held_out_rows(trained: Predictor, held_out: "Examples") -> HeldOut:
    """Return rows that were not trained on as the encoder sees them, some of very many."""
    rows, weight = _rows(held_out, _MAX_HELD_OUT), held_out.weight
    X = held_out.X[rows]
    encoded = Encoded(trained.logits(X), source=(X, slice(0, len(rows))))
    weight = None if weight is None else weight[rows]
    return HeldOut(encoded, held_out.targets.take(rows), weight)


def _most_codes(n_bits: int, examples: "Examples") -> int:
    """Return how many training codes fit the memory set aside for them; warn if not all do."""
    most = _CODE_BYTES // (8 * (-(-n_bits // 64) + 1))
    if examples.n_rows > most:
        warn(
            f"The codes of {examples.n_rows:,} training rows would take more than {_CODE_BYTES:,} "
            f"bytes: decoders that search them, such as 'nearest', use only {most:,} of them, "
            "drawn at random."
        )
    return most


def _rows(examples: "Examples", most: int) -> NDArray[np.int64]:
    """Return which rows there are; some of them where there are too many."""
    rows = draw_rows(examples.n_rows, most)
    return rows if examples.rows is None else examples.rows[rows]
