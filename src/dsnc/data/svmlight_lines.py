"""Lines of svmlight that come one after the other, with or without labels, for a known width."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from dsnc.data.svmlight import EXPECTED, _BadPieceError, _explain, _parse
from dsnc.errors import DataFileError


def parse_lines(
    name: str, lines: list[bytes], first_line: int, n_features: int, first_index: int
) -> tuple[Any, int]:
    """Return a CSR matrix with a row for every line, an empty one for an empty line.

    Parameters
    ----------
    name : str
        Where the lines come from, for messages.
    lines : list of bytes
        ``label index:value ...`` or ``index:value ...``; labels are left aside.
    first_line : int
        Number of the first of them, for messages.
    n_features : int
        Width of the matrix.
    first_index : 0 or 1
        Number of the first feature.

    Returns
    -------
    X : csr_array of shape (len(lines), n_features)
    beyond : int
        How many values were left out because the matrix is not as wide.

    Examples
    --------
    >>> X, beyond = parse_lines("-", [b"1:2 3:1", b"", b"7 2:5 9:1"], 1, 3, first_index=1)
    >>> X.toarray(), beyond
    (array([[2., 0., 1.],
           [0., 0., 0.],
           [0., 5., 0.]], dtype=float32), 1)
    """
    chunk = b"".join(line + b"\n" for line in lines)
    try:
        piece = _parse(chunk, np.dtype(np.float32), keep_blank_lines=True)
    except _BadPieceError:
        raise _explain(name, first_line, chunk) from None
    indices = piece.indices - np.int32(first_index)
    ends = np.concatenate([[0], np.cumsum(piece.values_per_row)])
    if len(indices) and indices.min() < 0:
        row = int(np.searchsorted(ends, int(np.argmin(indices)), side="right")) - 1
        raise DataFileError.at(
            name,
            "uses index 0",
            line=first_line + row,
            expected=f"{EXPECTED}, the first feature being 1",
        )
    inside = indices < n_features
    beyond = int(len(indices) - inside.sum())
    if beyond:
        ends = np.concatenate([[0], np.cumsum(inside)])[ends]
    shape = (len(lines), n_features)
    return sp.csr_array((piece.values[inside], indices[inside], ends), shape=shape), beyond
