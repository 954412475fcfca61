"""Compile all kernels ahead of their first use, so that no user waits for the compiler."""

import numpy as np
import scipy.sparse as sp

from dsnc.codes._kernels.table_probes import find_classes
from dsnc.codes.encode import encode_csr
from dsnc.codes.few_rows import FewRows
from dsnc.codes.index import HammingIndex
from dsnc.codes.leaders import leading_rows
from dsnc.codes.packed import PackedCodes
from dsnc.codes.table import CodeTable


def warm_up() -> None:
    """Run every kernel once, on little; what is compiled is kept on disk for later processes."""
    for n_bits in (64, 512):  # distances in one octet, and in two
        codes = PackedCodes.from_bits(np.eye(n_bits, dtype=bool))
        index = HammingIndex(codes, method="multi_index")
        index.search(codes)
        HammingIndex.from_arrays(index.arrays(), method="scan").search(codes)
        scan = HammingIndex(codes, method="scan")
        for k in (1, 2):  # lists by insertion, and by counting
            scan.search(codes, k)
            scan.search(codes.take(slice(0, 1)), k)
    few = PackedCodes.from_ints([1, 2], n_bits=4)
    for largest in (1, 1 << 8, 1 << 16):  # labels of one, two and four octets
        table = CodeTable.build(few, [0, largest])
        table.lookup(few)
        signs = few.to_signs(np.float32)
        weight, bias = np.zeros((largest + 1, 4), np.float32), np.zeros(largest + 1, np.float32)
        weight.flags.writeable = bias.flags.writeable = False
        find_classes(table.labels, few.words, signs, signs, weight, bias, 1, 1)
    same = np.zeros(2, dtype=np.int64)
    leading_rows(few, same, same, 1)
    scoring = weight, bias, np.float32(0), np.float32(0.5)
    FewRows(HammingIndex(few), None, scoring, 1, 1).best(signs)
    for dtype in (np.float32, np.float64):
        encode_csr(sp.eye(4, format="csr", dtype=dtype), slice(0, 4), weight[:4], bias[:4])
