"""The classes of a few rows, as fast as one call of a kernel."""

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels.few_rows import best_classes
from dsnc.codes._kernels.multi_index import AT_ONCE
from dsnc.codes._kernels.nearest import NO_LABELS
from dsnc.codes._kernels.scan import BLOCK
from dsnc.codes.encoded import MAX_ROWS
from dsnc.codes.index import HammingIndex
from dsnc.codes.multi_index import MIN_WIDTH
from dsnc.codes.scan import counting_space


class FewRows:
    """Finds the best class of a few rows: the near ones by their codes, among them by soft bits.

    It holds views of what it is made of, and scratch space for each thread. The index is of codes
    of up to MAX_BITS bits, `labels` the class of each, or None where that is its row. `size` and
    `radius` say how many candidates there are, and how much farther than the nearest; `scoring` is
    the weight, bias, closeness and half of `dsnc.codes._kernels.rerank`.
    """

    def __init__(
        self, index: HammingIndex, labels: Any, scoring: tuple[Any, ...], size: int, radius: int
    ) -> None:
        self._index, self._size, self._radius = index, size, radius
        self._local = threading.local()
        self._tables: tuple[Any, ...] = ()  # of the index, once these are final
        labels = NO_LABELS if labels is None else labels
        self._settings = (labels, *scoring, radius)

    def best(
        self, logits: NDArray[np.float32], k: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
        """Return the k best candidates of each row, and their scores; None where a logit is NaN.

        A row that has fewer ends in classes of -1 with scores of -inf. There are MAX_ROWS rows at
        most, and no more candidates than `size`. Logits are float32, in C order, as wide as the
        codes, as `Encoded` has them: the kernel would read and write beyond the end of others.
        """
        try:
            scratch = self._local.scratch
        except AttributeError:
            scratch = self._local.scratch = self._make_scratch()
        tables = self._tables
        if not tables:
            tables, is_final = self._index.tables(len(logits), self._size, self._radius)
            self._tables = tables if is_final else ()
        classes = np.empty((len(logits), k), dtype=np.int64)
        scores = np.empty((len(logits), k), dtype=np.float32)
        fine = best_classes(*tables, *self._settings, logits, classes, scores, *scratch)
        return (classes, scores) if fine else None

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
