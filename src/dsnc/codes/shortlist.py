"""The classes of a few rows, as fast as one call of a kernel."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels.nearest import NO_LABELS
from dsnc.codes._kernels.probe import AT_ONCE
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes._kernels.shortlist import best_classes
from dsnc.codes.index import HammingIndex
from dsnc.codes.limits import MAX_BITS, MAX_ROWS
from dsnc.codes.multi_index import MIN_WIDTH
from dsnc.codes.scan import counting_space
from dsnc.errors import InputError


class Shortlist:
    """Finds the best class of a few rows: the near ones by their codes, among them by soft bits.

    It holds views of what it is made of, and scratch space for each thread.

    Parameters
    ----------
    index : HammingIndex
        Of codes of up to MAX_BITS bits.
    labels : int64 array, or None
        Class of each code, where that is not its row.
    weight, bias, closeness, half
        What scores a candidate; see `dsnc.codes._kernels.rerank`.
    size, radius : int
        How many candidates, and how much farther than the nearest.
    """

    def __init__(
        self,
        index: HammingIndex,
        labels: NDArray[np.int64] | None,
        weight: NDArray[np.float32],
        bias: NDArray[np.float32],
        closeness: np.float32,
        half: np.float32,
        size: int,
        radius: int,
    ) -> None:
        self._n_bits = index.codes.n_bits
        if self._n_bits > MAX_BITS:
            raise InputError(f"codes have {self._n_bits} bits; a shortlist takes up to {MAX_BITS}.")
        self._index, self._size, self._radius = index, size, radius
        self._local = threading.local()
        labels = NO_LABELS if labels is None else labels
        self._settings = (labels, weight, bias, closeness, half, radius)

    def best(
        self, logits: NDArray[np.float32], *, is_checked: bool = False
    ) -> NDArray[np.int64] | None:
        """Return the class of each row of logits, MAX_ROWS at most; None where one is NaN.

        Logits are float32, in C order: the kernel would read and write beyond the end of others.
        Who has seen to that says so, and saves the time.
        """
        if not (is_checked or self._fits(logits)):
            shape, dtype = np.shape(logits), getattr(logits, "dtype", type(logits).__name__)
            raise InputError(
                f"logits has shape {shape} and type {dtype}; expected float32 in C order, of up to "
                f"{MAX_ROWS} rows and {self._n_bits} bits."
            )
        try:
            scratch = self._local.scratch
        except AttributeError:
            scratch = self._local.scratch = self._make_scratch()
        tables = self._index.tables(len(logits), self._size, self._radius)
        classes = np.empty((len(logits), 1), dtype=np.int64)
        fine = best_classes(*tables, *self._settings, logits, classes, *scratch)
        return classes[:, 0] if fine else None

    def _fits(self, logits: Any) -> bool:
        return (
            isinstance(logits, np.ndarray)
            and logits.dtype == np.float32
            and logits.ndim == 2
            and len(logits) <= MAX_ROWS
            and logits.shape[1] == self._n_bits
            and logits.flags.c_contiguous
        )

    def _make_scratch(self) -> tuple[NDArray[Any], ...]:
        codes = self._index.codes
        packed = np.zeros((MAX_ROWS, codes.words.shape[1]), dtype=np.uint64)
        queries, octets = packed.view(), packed.view(np.uint8)
        queries.flags.writeable = octets.flags.writeable = False
        n_blocks = max(1, -(-len(codes) // BLOCK))
        m = -(-codes.n_bits // MIN_WIDTH)  # as many chunks as there may ever be
        shapes: list[tuple[type, tuple[int, ...]]] = [
            (np.int64, (MAX_ROWS, self._size)),
            (np.int64, (MAX_ROWS, self._size)),
            (np.float32, (MAX_ROWS, 1)),
            (np.int64, (MAX_ROWS,)),
            (np.bool_, (MAX_ROWS,)),
            (np.int64, (1,)),
            (np.int64, (3,)),
            (np.int64, (AT_ONCE, m)),
            (np.uint64, (m, 2)),
            (np.int64, (AT_ONCE, 2)),
            (np.uint8, (2, n_blocks, BLOCK)),
            (np.int64, (2, n_blocks)),
        ]
        rest: list[NDArray[Any]] = [np.zeros(shape, dtype) for dtype, shape in shapes]
        n_owners = 1 + int(self._settings[0].max(initial=-1))
        space = counting_space(codes.n_bits, len(codes), n_owners)
        soft = np.zeros(codes.n_bits, dtype=np.float32)
        return packed, queries, octets, *rest, space, soft
