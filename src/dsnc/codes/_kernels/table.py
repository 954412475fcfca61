"""The nearest code of every code at once: a separable min-plus transform.

A number of the packed table is ``distance << LABEL_BITS | label``; the smaller of two numbers is
the nearer code, then the smaller label. With ``T[v] = label`` at the codes and "nothing" elsewhere,

    ``T[v] = min(T[v], T[v ^ 1 << bit] + (1 << LABEL_BITS))``   for all v, bit after bit,

leaves at v the least number over all codes: after some bits, the least over the codes that differ
from v in these bits only. The order of the bits does not matter, and a bit done twice changes
nothing.

Each bit costs one reading and writing of the table unless several are done while a part of it is
in the cache: the low bits in contiguous pieces, the others in groups, a tile of few columns at a
time, which goes through scratch space because rows at multiples of a power of two fall on the
same few lines of the cache.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dsnc.codes._kernels.tools import kernel, smaller

LABEL_BITS = 27  # leaves 5 for the distance, up to 31
MIN_BITS = 6  # of a packed table; a shorter code has zeros above
# Farther than any code of 28 bits is, and near enough to add 2 without running over.
_NOTHING = np.uint32(29 << LABEL_BITS)
_LABEL_MASK = np.uint32((1 << LABEL_BITS) - 1)
_PIECE_BITS = 16  # at most 256 KB
_GROUP_BITS = 6  # an even number; a tile is 32 KB
_COLUMNS = 128
_LANES = 16  # numbers that are worked on together: 64 bytes, one register or several
_VECTOR = ir.VectorType(ir.IntType(32), _LANES)


@kernel
def fill(packed, words, labels):
    """``T[v] = min(label of the codes equal to v)``, or nothing where no code is."""
    for v in range(packed.shape[0]):
        packed[v] = _NOTHING
    for i in range(words.shape[0]):
        packed[words[i]] = smaller(packed[words[i]], labels[i])


def spread(packed) -> None:
    """Apply the transform of all bits to a table of 2**n numbers, n >= MIN_BITS, in place."""
    n_bits = packed.size.bit_length() - 1
    firsts = first_bits(n_bits)
    _spread_low(packed, firsts[1] if len(firsts) > 1 else n_bits)
    tile = np.empty(_COLUMNS << _GROUP_BITS, dtype=np.uint32)
    for first in firsts[1:]:
        _spread_group(packed, first, tile)


def first_bits(n_bits: int) -> list[int]:
    """Return the first bit of each pass over the table: the low bits, then groups of equal size."""
    n_groups = max(0, -(-(n_bits - _PIECE_BITS) // _GROUP_BITS))
    return [0, *range(n_bits - n_groups * _GROUP_BITS, n_bits, _GROUP_BITS)]


@kernel
def strip(packed, labels):
    """``labels[v] = T[v] mod 2**LABEL_BITS``; may be the same array."""
    for v in range(labels.shape[0]):
        labels[v] = packed[v] & _LABEL_MASK


@kernel
def lookup(values, words, answers):
    """``answers[i] = values[words[i]]``."""
    for i in range(words.shape[0]):
        answers[i] = values[words[i]]


@kernel
def _spread_low(packed, n_bits):
    """Apply the transform of bits 0 to n_bits - 1."""
    size = 1 << n_bits
    for start in range(0, packed.shape[0], size):
        for place in range(start, start + size, _LANES):
            _four_low_bits(packed, place)
        for bit in range(4, n_bits, 2):
            first = min(bit, n_bits - 2)  # an odd last bit goes with the one before, once more
            row = 1 << first
            _two_bits(packed, start, row, packed, start, row, size >> first, 1, row)


@kernel
def _spread_group(packed, first, tile):
    """Apply the transform of bits first to first + _GROUP_BITS - 1.

    Row r of a tile is ``packed[start + (r << first) :][:_COLUMNS]``. The first step reads the rows
    into the tile, the last one writes them back.
    """
    row, n_rows = 1 << first, 1 << _GROUP_BITS
    for top in range(0, packed.shape[0], n_rows * row):
        for start in range(top, top + row, _COLUMNS):
            _two_bits(packed, start, row, tile, 0, _COLUMNS, n_rows, 1, _COLUMNS)
            for bit in range(2, _GROUP_BITS - 2, 2):
                _two_bits(tile, 0, _COLUMNS, tile, 0, _COLUMNS, n_rows, 1 << bit, _COLUMNS)
            _two_bits(tile, 0, _COLUMNS, packed, start, row, n_rows, n_rows // 4, _COLUMNS)


@kernel
def _two_bits(source, start, row, target, target_start, target_row, n_rows, step, columns):
    """Transform rows r, r + step, r + 2 step, r + 3 step, for all r with these two bits 0.

    Row r begins at ``start + r * row`` in the source, and likewise in the target.
    """
    for block in range(0, n_rows, 4 * step):
        for r in range(block, block + step):
            a, b = start + r * row, target_start + r * target_row
            for x in range(0, columns, _LANES):
                _quadruple(source, a + x, step * row, target, b + x, step * target_row)


@intrinsic
def _four_low_bits(typing, packed, place):
    """Transform the _LANES numbers from `place` on by the bits of their position."""

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, packed, *arguments)
        values = builder.load(pointer, align=4)
        for bit in range(4):
            order = ir.Constant(_VECTOR, [lane ^ (1 << bit) for lane in range(_LANES)])
            partners = builder.shuffle_vector(values, values, order)
            values = _least(builder, values, _farther(builder, partners, 1))
        builder.store(values, pointer, align=4)
        return context.get_dummy_value()

    return types.void(packed, types.intp), generate


@intrinsic
def _quadruple(typing, source, place, step, target, target_place, target_step):
    """Transform four times _LANES numbers, `step` apart, by the two bits that tell them apart.

    Of a, b, c, d at 00, 01, 10, 11 the new a is ``min(a, min(b, c) + 1, d + 2)``. As a + 2 is no
    less than a, it may be written ``min(a, x)`` with ``x = min(min(b, c) + 1, min(a, d) + 2)``, and
    the same x serves d: 12 operations, where bit by bit it takes 16.
    """

    def generate(context, builder, signature, arguments):
        def pointers(kind, array, place, step):
            for _ in range(4):
                yield _pointer(context, builder, kind, array, place)
                place = builder.add(place, step)

        a, b, c, d = (builder.load(p, align=4) for p in pointers(source, *arguments[:3]))
        outer, inner = _least(builder, a, d), _least(builder, b, c)
        x = _least(builder, _farther(builder, inner, 1), _farther(builder, outer, 2))
        y = _least(builder, _farther(builder, outer, 1), _farther(builder, inner, 2))
        places = pointers(target, *arguments[3:])
        for pointer, old, bound in zip(places, (a, b, c, d), (x, y, y, x), strict=True):
            builder.store(_least(builder, old, bound), pointer, align=4)
        return context.get_dummy_value()

    place_step = (types.intp, types.intp)
    return types.void(source, *place_step, target, *place_step), generate


def _pointer(context, builder, kind, array, place):
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer())


def _farther(builder, values, distance: int):
    return builder.add(values, ir.Constant(_VECTOR, [distance << LABEL_BITS] * _LANES))


def _least(builder, a, b):
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)
