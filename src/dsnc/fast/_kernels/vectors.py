"""Operations on whole rows of float32 arrays, sixteen numbers at a time.

Rows are LANES numbers wide, or a multiple of that: whoever makes the arrays pads them with zeros.
Written as vector instructions, since the compiler would have to ask at every loop whether two rows
overlap, which takes longer than the loop. A row is named by its array and its number, as if all
dimensions but the last were one.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dsnc.fast._kernels import lanes

TOGETHER = 5  # rows that `dots` and `mix` look at: four draws and what they are on average


@intrinsic
def set_row(typing, out, i, x, k):
    """``out[i] = x[k]``."""

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, source.load(b))

    return types.void(out, types.intp, x, types.intp), generate


@intrinsic
def add_scaled(typing, out, i, x, k, scale):
    """``out[i] += scale * x[k]``."""

    def generate(context, builder, signature, arguments):
        factor = lanes.spread(builder, arguments[4])
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, lanes.fused(b, factor, source.load(b), target.load(b)))

    return types.void(out, types.intp, x, types.intp, types.float32), generate


@intrinsic
def move(typing, out, i, x, k, scale):
    """``out[i] += scale * x[k]``; return whether the octets that `pack` makes of it have changed.

    They seldom do, and to look takes less time than to pack.
    """

    def generate(context, builder, signature, arguments):
        factor = lanes.spread(builder, arguments[4])
        flips = cgutils.alloca_once_value(builder, lanes.ints(0))
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            before = target.load(b)
            after = lanes.fused(b, factor, source.load(b), before)
            target.store(b, after)
            signs = (
                b.sext(b.fcmp_ordered(">", value, lanes.floats(0.0)), lanes.INTS)
                for value in (before, after)
            )
            b.store(b.or_(b.load(flips), b.xor(*signs)), flips)
        kind = ir.FunctionType(lanes.INT, [lanes.INTS])
        function = lanes.declare(builder, kind, f"llvm.vector.reduce.or.v{lanes.LANES}i32")
        any_flip = builder.call(function, [builder.load(flips)])
        return builder.icmp_unsigned("!=", any_flip, lanes.INT(0))

    return types.boolean(out, types.intp, x, types.intp, types.float32), generate


@intrinsic
def dot(typing, x, i, y, k):
    """Return ``x[i] @ y[k]``."""

    def generate(context, builder, signature, arguments):
        sums = cgutils.alloca_once_value(builder, lanes.floats(0.0))
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, first, second):
            b.store(lanes.fused(b, first.load(b), second.load(b), b.load(sums)), sums)
        return lanes.total(builder, builder.load(sums))

    return types.float32(x, types.intp, y, types.intp), generate


@intrinsic
def dots(typing, x, i, y, k):
    """Return ``x[i] @ y[k]`` and so on, up to the TOGETHER-th row of y: x[i] is read once."""

    def generate(context, builder, signature, arguments):
        sums = [cgutils.alloca_once_value(builder, lanes.floats(0.0)) for _ in range(TOGETHER)]
        which = 0, *((2, s) for s in range(TOGETHER))
        with lanes.Loop(context, builder, signature, arguments, which) as (b, first, *others):
            common = first.load(b)
            for other, total in zip(others, sums, strict=True):
                b.store(lanes.fused(b, common, other.load(b), b.load(total)), total)
        totals = [lanes.total(builder, builder.load(total)) for total in sums]
        return context.make_tuple(builder, signature.return_type, totals)

    kind = types.UniTuple(types.float32, TOGETHER)
    return kind(x, types.intp, y, types.intp), generate


@intrinsic
def mix(typing, out, i, x, k, shares):
    """``out[i] = shares @ x[k : k + TOGETHER]``; return ``out[i] @ out[i]``."""

    def generate(context, builder, signature, arguments):
        square = cgutils.alloca_once_value(builder, lanes.floats(0.0))
        factors = [
            lanes.spread(builder, share) for share in cgutils.unpack_tuple(builder, arguments[4])
        ]
        which = 0, *((2, s) for s in range(TOGETHER))
        with lanes.Loop(context, builder, signature, arguments, which) as (b, target, *others):
            mixed = lanes.floats(0.0)
            for other, factor in zip(others, factors, strict=True):
                mixed = lanes.fused(b, factor, other.load(b), mixed)
            target.store(b, mixed)
            b.store(lanes.fused(b, mixed, mixed, b.load(square)), square)
        return lanes.total(builder, builder.load(square))

    kind = types.UniTuple(types.float32, TOGETHER)
    return types.float32(out, types.intp, x, types.intp, kind), generate


@intrinsic
def clear(typing, out, i):
    """``out[i] = 0``."""

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0,)) as (b, target):
            target.store(b, lanes.floats(0.0))

    return types.void(out, types.intp), generate


@intrinsic
def probabilities(typing, out, i, logits, k, sharpness):
    """``out[i] = 1 / (1 + exp(-sharpness * logits[k]))``."""

    def generate(context, builder, signature, arguments):
        factor = lanes.spread(builder, arguments[4])
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, lanes.sigmoid(b, b.fmul(factor, source.load(b))))

    return types.void(out, types.intp, logits, types.intp, types.float32), generate


@intrinsic
def sigmoids(typing, x, i, n):
    """``x[i, :n] = 1 / (1 + exp(-x[i, :n]))``; n is a multiple of LANES."""

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            target.store(b, lanes.sigmoid(b, target.load(b)))

    return types.void(x, types.intp, types.intp), generate


@intrinsic
def draw(typing, out, i, chances, k, seed, stream):
    """``out[i]`` = +1 with the probability ``chances[k]``, otherwise -1.

    The number of the stream tells apart what is drawn with one seed.
    """

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            place = b.add(arguments[5], target.place)
            noise = lanes.noise(b, arguments[4], b.trunc(place, lanes.INT))
            is_set = b.fcmp_ordered("<", noise, source.load(b))
            target.store(b, b.select(is_set, lanes.floats(1.0), lanes.floats(-1.0)))

    return types.void(out, types.intp, chances, types.intp, types.uint32, types.intp), generate


@intrinsic
def expect(typing, out, i, chances, k):
    """``out[i] = 2 * chances[k] - 1``: what `draw` gives on average."""

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, lanes.fused(b, source.load(b), lanes.floats(2.0), lanes.floats(-1.0)))

    return types.void(out, types.intp, chances, types.intp), generate


@intrinsic
def pass_through(typing, out, i, x, k, chances, j):
    """``out[i] = x[k] * 2 * chances[j] * (1 - chances[j])``: a gradient, straight through."""

    def generate(context, builder, signature, arguments):
        with lanes.Loop(context, builder, signature, arguments, (0, 2, 4)) as (
            b,
            target,
            x,
            chances,
        ):
            chance = chances.load(b)
            slope = b.fmul(b.fmul(chance, lanes.floats(2.0)), b.fsub(lanes.floats(1.0), chance))
            target.store(b, b.fmul(x.load(b), slope))

    return types.void(out, types.intp, x, types.intp, chances, types.intp), generate


@intrinsic
def largest(typing, x, i, n):
    """Return the largest of ``x[i, :n]``; n is a multiple of LANES."""

    def generate(context, builder, signature, arguments):
        most = cgutils.alloca_once_value(builder, lanes.floats(-3e38))
        with lanes.Loop(context, builder, signature, arguments, (0,), arguments[2]) as (b, source):
            b.store(lanes.call(b, "llvm.maxnum", b.load(most), source.load(b)), most)
        kind = ir.FunctionType(lanes.FLOAT, [lanes.FLOATS])
        function = lanes.declare(builder, kind, f"llvm.vector.reduce.fmax.{lanes.NAME}")
        return builder.call(function, [builder.load(most)])

    return types.float32(x, types.intp, types.intp), generate


@intrinsic
def exponentials(typing, x, i, n, top):
    """``x[i, :n] = exp(x[i, :n] - top)``, of numbers up to `top`; return the sum."""

    def generate(context, builder, signature, arguments):
        sums, most = (
            cgutils.alloca_once_value(builder, lanes.floats(0.0)),
            lanes.spread(builder, arguments[3]),
        )
        with lanes.Loop(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            value = lanes.exp(b, b.fsub(target.load(b), most))
            target.store(b, value)
            b.store(b.fadd(b.load(sums), value, flags=lanes.ANY_ORDER), sums)
        return lanes.total(builder, builder.load(sums))

    return types.float32(x, types.intp, types.intp, types.float32), generate


@intrinsic
def scale(typing, x, i, n, factor):
    """``x[i, :n] *= factor``."""

    def generate(context, builder, signature, arguments):
        factor = lanes.spread(builder, arguments[3])
        with lanes.Loop(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            target.store(b, b.fmul(target.load(b), factor))

    return types.void(x, types.intp, types.intp, types.float32), generate


@intrinsic
def pack(typing, octets, i, x, k):
    """Write the bits ``x[k] > 0`` into the octets of a row, lowest first."""

    def generate(context, builder, signature, arguments):
        row, _ = lanes.row_of(context, builder, octets, arguments[0], arguments[1])
        halves = builder.bitcast(row, ir.IntType(16).as_pointer())
        with lanes.Loop(context, builder, signature, arguments, (2,)) as (b, source):
            bits = b.bitcast(b.fcmp_ordered(">", source.load(b), lanes.floats(0.0)), ir.IntType(16))
            place = b.lshr(source.place, context.get_constant(types.intp, 4))
            b.store(bits, b.gep(halves, [place]), align=1)

    return types.void(octets, types.intp, x, types.intp), generate


@intrinsic
def chance(typing, seed, place):
    """Return a number in [0, 1) that seed and place decide."""

    def generate(context, builder, signature, arguments):
        place = builder.trunc(arguments[1], lanes.INT)
        return builder.extract_element(lanes.noise(builder, arguments[0], place), lanes.INT(0))

    return types.float32(types.uint32, types.intp), generate


@intrinsic
def fetch(typing, x, i):
    """Ask for ``x[i]`` to be brought into the cache."""
    return types.void(x, types.intp), _fetcher(lanes.INT(0))


@intrinsic
def claim(typing, x, i):
    """Ask for ``x[i]`` to be brought into the cache of this core alone, to be written to."""
    return types.void(x, types.intp), _fetcher(lanes.INT(1))


def _fetcher(writes):
    def generate(context, builder, signature, arguments):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, lanes.INT, lanes.INT, lanes.INT])
        with lanes.Loop(context, builder, signature, arguments, (0,)) as (b, source):
            function = lanes.declare(b, kind, "llvm.prefetch.p0")
            where = b.bitcast(b.gep(source.row, [source.place]), pointer)
            b.call(function, [where, writes, lanes.INT(3), lanes.INT(1)])  # to keep, data

    return generate
