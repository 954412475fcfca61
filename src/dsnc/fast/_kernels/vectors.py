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

LANES = 16
TOGETHER = 5  # rows that `dots` and `mix` look at: four draws and what they are on average

_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
_ANY_ORDER = ("reassoc", "contract", "nsz", "nnan", "ninf", "arcp")
_NAME = f"v{LANES}f32"
# 2^r for r in [0, 1], the highest power first: of all such polynomials the one whose largest error
# is least, less than one in 10^7 in float32.
_POWERS = (
    0.000216129199,
    0.00124678451,
    0.00967545169,
    0.0554852806,
    0.240229306,
    0.693147044,
    1.0,
)
_LOG2_E = 1.44269504
_LEAST = -80.0  # e^-80 is next to nothing, and still a normal number


@intrinsic
def set_row(typing, out, i, x, k):
    """``out[i] = x[k]``."""

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, source.load(b))

    return types.void(out, types.intp, x, types.intp), generate


@intrinsic
def add_scaled(typing, out, i, x, k, scale):
    """``out[i] += scale * x[k]``."""

    def generate(context, builder, signature, arguments):
        factor = _spread(builder, arguments[4])
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, _fused(b, factor, source.load(b), target.load(b)))

    return types.void(out, types.intp, x, types.intp, types.float32), generate


@intrinsic
def move(typing, out, i, x, k, scale):
    """``out[i] += scale * x[k]``; return whether the octets that `pack` makes of it have changed.

    They seldom do, and to look takes less time than to pack.
    """

    def generate(context, builder, signature, arguments):
        factor = _spread(builder, arguments[4])
        flips = cgutils.alloca_once_value(builder, _ints(0))
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            before = target.load(b)
            after = _fused(b, factor, source.load(b), before)
            target.store(b, after)
            signs = (
                b.sext(b.fcmp_ordered(">", value, _floats(0.0)), _INTS) for value in (before, after)
            )
            b.store(b.or_(b.load(flips), b.xor(*signs)), flips)
        kind = ir.FunctionType(_INT, [_INTS])
        function = _declare(builder, kind, f"llvm.vector.reduce.or.v{LANES}i32")
        any_flip = builder.call(function, [builder.load(flips)])
        return builder.icmp_unsigned("!=", any_flip, _INT(0))

    return types.boolean(out, types.intp, x, types.intp, types.float32), generate


@intrinsic
def dot(typing, x, i, y, k):
    """Return ``x[i] @ y[k]``."""

    def generate(context, builder, signature, arguments):
        sums = cgutils.alloca_once_value(builder, _floats(0.0))
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, first, second):
            b.store(_fused(b, first.load(b), second.load(b), b.load(sums)), sums)
        return _total(builder, builder.load(sums))

    return types.float32(x, types.intp, y, types.intp), generate


@intrinsic
def dots(typing, x, i, y, k):
    """Return ``x[i] @ y[k]`` and so on, up to the TOGETHER-th row of y: x[i] is read once."""

    def generate(context, builder, signature, arguments):
        sums = [cgutils.alloca_once_value(builder, _floats(0.0)) for _ in range(TOGETHER)]
        which = 0, *((2, s) for s in range(TOGETHER))
        with _rows(context, builder, signature, arguments, which) as (b, first, *others):
            common = first.load(b)
            for other, total in zip(others, sums, strict=True):
                b.store(_fused(b, common, other.load(b), b.load(total)), total)
        totals = [_total(builder, builder.load(total)) for total in sums]
        return context.make_tuple(builder, signature.return_type, totals)

    kind = types.UniTuple(types.float32, TOGETHER)
    return kind(x, types.intp, y, types.intp), generate


@intrinsic
def mix(typing, out, i, x, k, shares):
    """``out[i] = shares @ x[k : k + TOGETHER]``; return ``out[i] @ out[i]``."""

    def generate(context, builder, signature, arguments):
        square = cgutils.alloca_once_value(builder, _floats(0.0))
        factors = [_spread(builder, share) for share in cgutils.unpack_tuple(builder, arguments[4])]
        which = 0, *((2, s) for s in range(TOGETHER))
        with _rows(context, builder, signature, arguments, which) as (b, target, *others):
            mixed = _floats(0.0)
            for other, factor in zip(others, factors, strict=True):
                mixed = _fused(b, factor, other.load(b), mixed)
            target.store(b, mixed)
            b.store(_fused(b, mixed, mixed, b.load(square)), square)
        return _total(builder, builder.load(square))

    kind = types.UniTuple(types.float32, TOGETHER)
    return types.float32(out, types.intp, x, types.intp, kind), generate


@intrinsic
def clear(typing, out, i):
    """``out[i] = 0``."""

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0,)) as (b, target):
            target.store(b, _floats(0.0))

    return types.void(out, types.intp), generate


@intrinsic
def probabilities(typing, out, i, logits, k, sharpness):
    """``out[i] = 1 / (1 + exp(-sharpness * logits[k]))``."""

    def generate(context, builder, signature, arguments):
        factor = _spread(builder, arguments[4])
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, _sigmoid(b, b.fmul(factor, source.load(b))))

    return types.void(out, types.intp, logits, types.intp, types.float32), generate


@intrinsic
def sigmoids(typing, x, i, n):
    """``x[i, :n] = 1 / (1 + exp(-x[i, :n]))``; n is a multiple of LANES."""

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            target.store(b, _sigmoid(b, target.load(b)))

    return types.void(x, types.intp, types.intp), generate


@intrinsic
def draw(typing, out, i, chances, k, seed, stream):
    """``out[i]`` = +1 with the probability ``chances[k]``, otherwise -1.

    The number of the stream tells apart what is drawn with one seed.
    """

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            place = b.add(arguments[5], target.place)
            noise = _noise(b, arguments[4], b.trunc(place, _INT))
            is_set = b.fcmp_ordered("<", noise, source.load(b))
            target.store(b, b.select(is_set, _floats(1.0), _floats(-1.0)))

    return types.void(out, types.intp, chances, types.intp, types.uint32, types.intp), generate


@intrinsic
def expect(typing, out, i, chances, k):
    """``out[i] = 2 * chances[k] - 1``: what `draw` gives on average."""

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0, 2)) as (b, target, source):
            target.store(b, _fused(b, source.load(b), _floats(2.0), _floats(-1.0)))

    return types.void(out, types.intp, chances, types.intp), generate


@intrinsic
def pass_through(typing, out, i, x, k, chances, j):
    """``out[i] = x[k] * 2 * chances[j] * (1 - chances[j])``: a gradient, straight through."""

    def generate(context, builder, signature, arguments):
        with _rows(context, builder, signature, arguments, (0, 2, 4)) as (b, target, x, chances):
            chance = chances.load(b)
            slope = b.fmul(b.fmul(chance, _floats(2.0)), b.fsub(_floats(1.0), chance))
            target.store(b, b.fmul(x.load(b), slope))

    return types.void(out, types.intp, x, types.intp, chances, types.intp), generate


@intrinsic
def largest(typing, x, i, n):
    """Return the largest of ``x[i, :n]``; n is a multiple of LANES."""

    def generate(context, builder, signature, arguments):
        most = cgutils.alloca_once_value(builder, _floats(-3e38))
        with _rows(context, builder, signature, arguments, (0,), arguments[2]) as (b, source):
            b.store(_call(b, "llvm.maxnum", b.load(most), source.load(b)), most)
        kind = ir.FunctionType(_FLOAT, [_FLOATS])
        function = _declare(builder, kind, f"llvm.vector.reduce.fmax.{_NAME}")
        return builder.call(function, [builder.load(most)])

    return types.float32(x, types.intp, types.intp), generate


@intrinsic
def exponentials(typing, x, i, n, top):
    """``x[i, :n] = exp(x[i, :n] - top)``, of numbers up to `top`; return the sum."""

    def generate(context, builder, signature, arguments):
        sums, most = (
            cgutils.alloca_once_value(builder, _floats(0.0)),
            _spread(builder, arguments[3]),
        )
        with _rows(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            value = _exp(b, b.fsub(target.load(b), most))
            target.store(b, value)
            b.store(b.fadd(b.load(sums), value, flags=_ANY_ORDER), sums)
        return _total(builder, builder.load(sums))

    return types.float32(x, types.intp, types.intp, types.float32), generate


@intrinsic
def scale(typing, x, i, n, factor):
    """``x[i, :n] *= factor``."""

    def generate(context, builder, signature, arguments):
        factor = _spread(builder, arguments[3])
        with _rows(context, builder, signature, arguments, (0,), arguments[2]) as (b, target):
            target.store(b, b.fmul(target.load(b), factor))

    return types.void(x, types.intp, types.intp, types.float32), generate


@intrinsic
def pack(typing, octets, i, x, k):
    """Write the bits ``x[k] > 0`` into the octets of a row, lowest first."""

    def generate(context, builder, signature, arguments):
        row, _ = _row(context, builder, octets, arguments[0], arguments[1])
        halves = builder.bitcast(row, ir.IntType(16).as_pointer())
        with _rows(context, builder, signature, arguments, (2,)) as (b, source):
            bits = b.bitcast(b.fcmp_ordered(">", source.load(b), _floats(0.0)), ir.IntType(16))
            place = b.lshr(source.place, context.get_constant(types.intp, 4))
            b.store(bits, b.gep(halves, [place]), align=1)

    return types.void(octets, types.intp, x, types.intp), generate


@intrinsic
def chance(typing, seed, place):
    """Return a number in [0, 1) that seed and place decide."""

    def generate(context, builder, signature, arguments):
        place = builder.trunc(arguments[1], _INT)
        return builder.extract_element(_noise(builder, arguments[0], place), _INT(0))

    return types.float32(types.uint32, types.intp), generate


@intrinsic
def fetch(typing, x, i):
    """Ask for ``x[i]`` to be brought into the cache."""
    return types.void(x, types.intp), _fetcher(_INT(0))


@intrinsic
def claim(typing, x, i):
    """Ask for ``x[i]`` to be brought into the cache of this core alone, to be written to."""
    return types.void(x, types.intp), _fetcher(_INT(1))


def _fetcher(writes):
    def generate(context, builder, signature, arguments):
        pointer = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, _INT, _INT, _INT])
        with _rows(context, builder, signature, arguments, (0,)) as (b, source):
            function = _declare(b, kind, "llvm.prefetch.p0")
            where = b.bitcast(b.gep(source.row, [source.place]), pointer)
            b.call(function, [where, writes, _INT(3), _INT(1)])  # to keep, data

    return generate


class _Lanes:
    """LANES numbers of a row, at a place that a loop moves."""

    def __init__(self, row, place) -> None:
        self.row, self.place = row, place

    def _pointer(self, b):
        return b.bitcast(b.gep(self.row, [self.place]), _FLOATS.as_pointer())

    def load(self, b):
        return b.load(self._pointer(b), align=4)

    def store(self, b, value) -> None:
        b.store(value, self._pointer(b), align=4)


class _rows:  # noqa: N801 - used as `with _rows(...)`
    """A loop over some rows, LANES numbers at a time.

    `which` are the places of their arrays among the arguments, or pairs: the row so many behind.
    """

    def __init__(self, context, builder, signature, arguments, which, width=None) -> None:
        self.builder = builder
        self.rows = []
        for place in which:
            place, behind = place if isinstance(place, tuple) else (place, 0)
            kind, array, number = signature.args[place], arguments[place], arguments[place + 1]
            number = builder.add(number, context.get_constant(types.intp, behind))
            row, whole = _row(context, builder, kind, array, number)
            self.rows.append(row)
            width = whole if width is None else width
        zero, step = (context.get_constant(types.intp, value) for value in (0, LANES))
        self.loop = cgutils.for_range_slice(builder, zero, width, step, zero.type)

    def __enter__(self):
        place, _ = self.loop.__enter__()
        return (self.builder, *(_Lanes(row, place) for row in self.rows))

    def __exit__(self, *error):
        return self.loop.__exit__(*error)


def _row(context, builder, kind, array, number):
    """Return where a row begins, and how many numbers it has."""
    data = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(data.shape, kind.ndim - 1)
    return builder.gep(data.data, [builder.mul(number, width)]), width


def _floats(value: float):
    return ir.Constant(_FLOATS, [value] * LANES)


def _ints(value: int):
    return ir.Constant(_INTS, [value] * LANES)


def _spread(b, value, kind=_FLOATS):
    """Return a vector of one value."""
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, _INT(0))
    return b.shuffle_vector(one, one, _ints(0))


def _fused(b, x, y, z):
    return b.fadd(b.fmul(x, y, flags=_ANY_ORDER), z, flags=_ANY_ORDER)


def _declare(b, kind, name):
    return cgutils.get_or_insert_function(b.module, kind, name)


def _call(b, name, *values):
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * len(values))
    return b.call(_declare(b, kind, f"{name}.{_NAME}"), values)


def _total(b, values):
    kind = ir.FunctionType(_FLOAT, [_FLOAT, _FLOATS])
    function = _declare(b, kind, f"llvm.vector.reduce.fadd.{_NAME}")
    return b.call(function, [_FLOAT(-0.0), values], fastmath=_ANY_ORDER)


def _exp(b, x):
    """Return e^x for numbers of 0 or less."""
    x = b.fmul(_call(b, "llvm.maxnum", x, _floats(_LEAST)), _floats(_LOG2_E))
    whole = _call(b, "llvm.floor", x)
    rest = b.fsub(x, whole)
    power = _floats(_POWERS[0])
    for factor in _POWERS[1:]:
        power = _fused(b, power, rest, _floats(factor))
    exponent = b.add(b.fptosi(whole, _INTS), _ints(127))
    return b.fmul(power, b.bitcast(b.shl(exponent, _ints(23)), _FLOATS))


def _sigmoid(b, x):
    odds = _exp(b, b.fneg(_call(b, "llvm.fabs", x)))
    likely = b.fdiv(_floats(1.0), b.fadd(_floats(1.0), odds))
    is_set = b.fcmp_ordered(">", x, _floats(0.0))
    return b.select(is_set, likely, b.fmul(odds, likely))


def _noise(b, seed, place):
    """Return LANES random numbers in [0, 1): hashes of the places from this one on."""
    places = b.add(_spread(b, place, _INTS), ir.Constant(_INTS, list(range(LANES))))
    x = b.add(_spread(b, seed, _INTS), b.mul(places, _ints(0x9E3779B9)))
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = b.mul(b.xor(x, b.lshr(x, _ints(shift))), _ints(factor))
    x = b.xor(x, b.lshr(x, _ints(16)))
    return b.fmul(b.uitofp(b.lshr(x, _ints(8)), _FLOATS), _floats(2.0**-24))
