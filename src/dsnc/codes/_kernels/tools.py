"""How kernels are compiled, and the few machine instructions that numba does not offer.

numba widens small integers in every operation, which keeps the compiler from filling whole vector
registers; the operations here stay in the type of their first argument.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from dsnc.codes._kernels.compiler import OfKernel, OfPart

# Kernels allocate nothing, so arrays need no counting of references: that would cost more than the
# work of a lookup. Scratch space comes from the caller.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_OF_A_PART = {**_OPTIONS, "no_cpython_wrapper": True, "pipeline_class": OfPart}
_NUMBER = ir.IntType(32)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on first use, free of the GIL, and keep the machine code on disk.

    Where no folder for it can be written (a read-only container), each process compiles anew.
    """
    try:
        return njit(cache=True, pipeline_class=OfKernel, **_OPTIONS)(function)
    except RuntimeError:
        return njit(pipeline_class=OfKernel, **_OPTIONS)(function)


def part(function: Callable[..., Any]) -> Any:
    """Mark a function that only kernels call: it is compiled into them, and nothing else."""
    return njit(**_OF_A_PART)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Mark a part that must not be called: its machine code goes in where the call stands.

    By LLVM: numba's own ``inline="always"`` copies the source, and takes twice as long to compile.
    """
    return njit(forceinline=True, **_OF_A_PART)(function)


def reordered(function: Callable[..., Any]) -> Any:
    """Mark a part whose sums may be reordered, so that they fill vector registers."""
    return njit(fastmath={"reassoc", "contract"}, **_OF_A_PART)(function)


@intrinsic
def popcount(typing, value):
    """Count the set bits of an unsigned integer."""

    def generate(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return value(value), generate


@intrinsic
def lowest_bit(typing, value):
    """Return the place of the lowest set bit of a 64-bit integer that is not 0."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@intrinsic
def smaller(typing, a, b):
    """Return the smaller of two unsigned integers of one type, without a branch."""

    def generate(context, builder, signature, arguments):
        return _call(builder, "llvm.umin", arguments)

    return a(a, a), generate


@intrinsic
def up_to(typing, array, place, limit):
    """Return 64 bits: bit g is set where ``array[place + g] <= limit``, of the array's type."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        lanes = ir.VectorType(data.type.pointee, 64)
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), lanes.as_pointer())
        values = builder.load(pointer, align=array.dtype.bitwidth // 8)
        one = builder.insert_element(ir.Constant(lanes, ir.Undefined), arguments[2], _NUMBER(0))
        everywhere = ir.Constant(ir.VectorType(_NUMBER, 64), [0] * 64)
        limits = builder.shuffle_vector(one, one, everywhere)
        return builder.bitcast(builder.icmp_unsigned("<=", values, limits), ir.IntType(64))

    return types.uint64(array, types.intp, array.dtype), generate


@intrinsic
def add_saturated(typing, a, b):
    """Return a + b, or the largest number of a's type; b may be narrower."""

    def generate(context, builder, signature, arguments):
        first, second = arguments
        if b.bitwidth < a.bitwidth:
            second = builder.zext(second, first.type)
        return _call(builder, "llvm.uadd.sat", [first, second])

    return a(a, b), generate


@intrinsic
def column_distance(typing, planes, block, first, column, octets):
    """Return ``sum(popcount(planes[block, first + p, column] ^ octets[p]) for all p)``.

    In 8 bits: at most 31 octets. The loop over the tuple is unrolled here, as a tree, because the
    compiler does not do it before it looks for loops to vectorize.
    """

    def generate(context, builder, signature, arguments):
        array = context.make_array(planes)(context, builder, arguments[0])
        terms = []
        for p, octet in enumerate(cgutils.unpack_tuple(builder, arguments[4], octets.count)):
            plane = builder.add(arguments[2], context.get_constant(types.intp, p))
            place = [arguments[1], plane, arguments[3]]
            pointer = cgutils.get_item_pointer(
                context, builder, planes, array, place, wraparound=False
            )
            terms.append(builder.ctpop(builder.xor(builder.load(pointer), octet)))
        while len(terms) > 1:
            pairs = [terms[i : i + 2] for i in range(0, len(terms), 2)]
            terms = [builder.add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return terms[0]

    return types.uint8(planes, types.intp, types.intp, types.intp, octets), generate


@intrinsic
def prefetch(typing, array, place):
    """Ask for ``array[place]`` to be brought into the cache; the place may be any number."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, _NUMBER, _NUMBER, _NUMBER])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, _NUMBER(0), _NUMBER(3), _NUMBER(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def _call(builder, name: str, arguments):
    kind = arguments[0].type
    signature = ir.FunctionType(kind, [kind, kind])
    function = builder.module.declare_intrinsic(name, [kind], signature)
    return builder.call(function, arguments)
