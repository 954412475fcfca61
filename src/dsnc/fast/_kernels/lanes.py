"""What operations on rows are made of: vector instructions on sixteen float32 numbers."""

from llvmlite import ir
from numba import types
from numba.core import cgutils

LANES = 16

FLOAT, INT = ir.FloatType(), ir.IntType(32)
FLOATS, INTS = ir.VectorType(FLOAT, LANES), ir.VectorType(INT, LANES)
ANY_ORDER = ("reassoc", "contract", "nsz", "nnan", "ninf", "arcp")
NAME = f"v{LANES}f32"
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


class Lanes:
    """LANES numbers of a row, at a place that a loop moves."""

    def __init__(self, row, place) -> None:
        self.row, self.place = row, place

    def _pointer(self, b):
        return b.bitcast(b.gep(self.row, [self.place]), FLOATS.as_pointer())

    def load(self, b):
        return b.load(self._pointer(b), align=4)

    def store(self, b, value) -> None:
        b.store(value, self._pointer(b), align=4)


class Loop:
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
            row, whole = row_of(context, builder, kind, array, number)
            self.rows.append(row)
            width = whole if width is None else width
        zero, step = (context.get_constant(types.intp, value) for value in (0, LANES))
        self.loop = cgutils.for_range_slice(builder, zero, width, step, zero.type)

    def __enter__(self):
        place, _ = self.loop.__enter__()
        return (self.builder, *(Lanes(row, place) for row in self.rows))

    def __exit__(self, *error):
        return self.loop.__exit__(*error)


def row_of(context, builder, kind, array, number):
    """Return where a row begins, and how many numbers it has."""
    data = context.make_array(kind)(context, builder, array)
    width = builder.extract_value(data.shape, kind.ndim - 1)
    return builder.gep(data.data, [builder.mul(number, width)]), width


def floats(value: float):
    return ir.Constant(FLOATS, [value] * LANES)


def ints(value: int):
    return ir.Constant(INTS, [value] * LANES)


def spread(b, value, kind=FLOATS):
    """Return a vector of one value."""
    one = b.insert_element(ir.Constant(kind, ir.Undefined), value, INT(0))
    return b.shuffle_vector(one, one, ints(0))


def fused(b, x, y, z):
    return b.fadd(b.fmul(x, y, flags=ANY_ORDER), z, flags=ANY_ORDER)


def declare(b, kind, name):
    return cgutils.get_or_insert_function(b.module, kind, name)


def call(b, name, *values):
    kind = ir.FunctionType(FLOATS, [FLOATS] * len(values))
    return b.call(declare(b, kind, f"{name}.{NAME}"), values)


def total(b, values):
    kind = ir.FunctionType(FLOAT, [FLOAT, FLOATS])
    function = declare(b, kind, f"llvm.vector.reduce.fadd.{NAME}")
    return b.call(function, [FLOAT(-0.0), values], fastmath=ANY_ORDER)


def exp(b, x):
    """Return e^x for numbers of 0 or less."""
    x = b.fmul(call(b, "llvm.maxnum", x, floats(_LEAST)), floats(_LOG2_E))
    whole = call(b, "llvm.floor", x)
    rest = b.fsub(x, whole)
    power = floats(_POWERS[0])
    for factor in _POWERS[1:]:
        power = fused(b, power, rest, floats(factor))
    exponent = b.add(b.fptosi(whole, INTS), ints(127))
    return b.fmul(power, b.bitcast(b.shl(exponent, ints(23)), FLOATS))


def sigmoid(b, x):
    odds = exp(b, b.fneg(call(b, "llvm.fabs", x)))
    likely = b.fdiv(floats(1.0), b.fadd(floats(1.0), odds))
    is_set = b.fcmp_ordered(">", x, floats(0.0))
    return b.select(is_set, likely, b.fmul(odds, likely))


def noise(b, seed, place):
    """Return LANES random numbers in [0, 1): hashes of the places from this one on."""
    places = b.add(spread(b, place, INTS), ir.Constant(INTS, list(range(LANES))))
    x = b.add(spread(b, seed, INTS), b.mul(places, ints(0x9E3779B9)))
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = b.mul(b.xor(x, b.lshr(x, ints(shift))), ints(factor))
    x = b.xor(x, b.lshr(x, ints(16)))
    return b.fmul(b.uitofp(b.lshr(x, ints(8)), FLOATS), floats(2.0**-24))
