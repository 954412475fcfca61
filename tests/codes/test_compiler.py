import numpy as np
from numba.core.compiler import Compiler

from dsnc.codes._kernels import compiler
from dsnc.codes._kernels.tools import kernel, part


@part
def _double(x):
    return 2 * x


@part
def _doubled_twice(x):
    return _double(_double(x))


@kernel
def fill(out):
    for i in range(out.shape[0]):
        out[i] = _doubled_twice(out[i])


def test_parts_of_parts_are_taken_in():
    values = np.arange(5.0)
    fill(values)
    assert values.tolist() == [0, 4, 8, 12, 16]


def test_the_short_way_is_the_one_for_this_numba():
    assert compiler.OfKernel is not Compiler
    assert compiler.OfPart is not Compiler
