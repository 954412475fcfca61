"""Texts with letters of every kind."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

TEXTS = ["night nurse", "Nurse in a ward", "bus driver", "truck driver", "the the bus"]
ODD = [  # letters of every kind that a step could treat in a way of its own
    *"aAbB019_ .-\n\r\t\0ßſİıΣσςΐ🙂字é",
    "e\u0301",
    "\u0301",
    "\u0345",
    "\ufe0f",
    "\x1f",
    "\u200d",
    "\u1100",
    "\u1161",
    "हिन्दी",
    "\ud800",
    "\udc00",
    "ﬁ",
    "½",
    "\u2028",
    "\U0001d49c",
    "\U000e0100",
    "x" * 70,
]
ANY_TEXT = st.lists(st.sampled_from(ODD), max_size=12).map("".join) | st.text(max_size=20)
SIZES = st.none() | st.tuples(st.integers(1, 6), st.integers(0, 4)).map(lambda p: (p[0], sum(p)))


def assert_canonical(matrix):
    assert type(matrix) is sp.csr_matrix
    assert matrix.dtype == np.float32
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32
    checked = sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    checked.check_format(full_check=True)
    assert checked.has_canonical_format
