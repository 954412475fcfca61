"""Compiles kernels ahead of their first use, so that no user waits for the compiler."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from dsnc.codes._kernels.rerank import line_up_best
from dsnc.codes._kernels.table_probes import find_classes
from dsnc.codes.encode import encode_csr
from dsnc.codes.few_rows import FewRows
from dsnc.codes.index import HammingIndex
from dsnc.codes.leaders import leading_rows
from dsnc.codes.packed import PackedCodes
from dsnc.codes.table import CodeTable


def warm_up() -> None:
    """Compile the kernels of codes now, cached on disk for later processes.

    ``dsnc warm-up`` compiles those of the second stage and of texts as well.
    """
    for compile_some in STEPS.values():
        compile_some()


def _search(n_bits: int) -> None:
    codes = PackedCodes.from_bits(np.eye(8, n_bits, dtype=bool))
    HammingIndex(codes, method="scan").search(codes)
    index = HammingIndex(codes, method="multi_index")
    index.search(codes)
    HammingIndex.from_arrays(index.arrays(), method="scan").search(codes)


def _tables() -> None:
    few, signs, weight, bias = _few()
    for largest in (1, 1 << 8, 1 << 16):  # labels of one, two and four octets
        table = CodeTable.build(few, [0, largest])
        table.lookup(few)
    find_classes(table.labels, few.words, signs, signs, weight, bias, 1, 1)


def _single_rows() -> None:
    few, signs, weight, bias = _few()
    same = np.zeros(2, dtype=np.int64)
    leading_rows(few, same, same, 1)
    scoring = weight, bias, np.float32(0), np.float32(0.5)
    FewRows(HammingIndex(few), None, scoring, 1, 1).best(signs)


def _all_classes() -> None:
    scores = np.zeros((1, 2), np.float32)
    line_up_best(scores, 0, np.zeros((1, 2), np.int64), scores.copy())


def _sparse_rows() -> None:
    _, _, weight, bias = _few()
    for dtype in (np.float32, np.float64):
        encode_csr(sp.eye(4, format="csr", dtype=dtype), slice(0, 4), weight[:4], bias[:4])


def _few() -> tuple[PackedCodes, Any, Any, Any]:
    """Return two codes, their signs, and a weight and bias for all classes."""
    few, n_classes = PackedCodes.from_ints([1, 2], n_bits=4), (1 << 16) + 1
    weight, bias = np.zeros((n_classes, 4), np.float32), np.zeros(n_classes, np.float32)
    weight.flags.writeable = bias.flags.writeable = False
    return few, few.to_signs(np.float32), weight, bias


STEPS: dict[str, Callable[[], None]] = {
    "search": lambda: _search(64),
    "search in long codes": lambda: _search(600),  # distances beyond an octet
    "tables": _tables,
    "single rows": _single_rows,
    "all classes": _all_classes,
    "sparse rows": _sparse_rows,
}
"""What `warm_up` compiles, step by step, in words for the user who waits."""
