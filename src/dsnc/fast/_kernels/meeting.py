"""Threads inside kernels that wait for each other, at the price of some hundred nanoseconds."""

import sys

from numba import types
from numba.extending import intrinsic

from dsnc.codes._kernels.tools import part

GATE = 40  # numbers of a gate: those that it uses are in different cache lines
_ROUND = 8  # where the number of the round is; the number of those who wait is in front
_DONE, _TAKEN = 16, 24  # where work is counted that others wait for, and work that is shared out
_ENDS = 32  # where work is counted that is taken from both ends,
_BACK = 1 << 32  # and what a piece from the back counts
_SPINS = 4096  # before a thread lets others have its core
_NAME = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
_give_way = types.ExternalFunction(_NAME, types.int32())


@part
def meet(gate, n_threads):
    """Wait until all threads have come here; what each wrote before, all see after.

    `gate` is an int64 array of GATE zeros, the same in all threads.
    """
    if n_threads == 1:
        return
    before = _load(gate, _ROUND)
    if _add(gate, 0, 1) == n_threads - 1:
        _add(gate, 0, -n_threads)
        _add(gate, _ROUND, 1)
        return
    _wait(gate, _ROUND, before + 1)


@part
def report(gate, n):
    """Say that n more pieces of work are done; what was written before, who awaits them sees."""
    _add(gate, _DONE, n)


@part
def await_work(gate, n):
    """Wait until n pieces of work have been reported, since the beginning."""
    _wait(gate, _DONE, n)


@part
def take(gate):
    """Return the number of a piece of work that no other thread takes: 0, 1, 2 and so on."""
    return _add(gate, _TAKEN, 1)


@part
def offer(gate):
    """Say, in one thread, that work may be taken from both ends again, from the next meeting on."""
    _add(gate, _ENDS, -_load(gate, _ENDS))


@part
def take_end(gate, n, from_back):
    """Return the number of one of n pieces of work that no other thread takes; -1: none is left.

    Some threads take from the front and others from the back: those of the one kind get to see
    the same pieces again and again, as far as that goes.
    """
    taken = _add(gate, _ENDS, _BACK if from_back else 1)
    front, back = taken % _BACK, taken // _BACK
    if front + back >= n:
        return -1
    return n - 1 - back if from_back else front


@part
def _wait(gate, place, least):
    spins = 0
    while _load(gate, place) < least:
        spins += 1
        if spins > _SPINS:
            _give_way()


@intrinsic
def _add(typing, array, place, value):
    """Add to a number as one step that no thread can come in between; return what it was."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        return builder.atomic_rmw("add", pointer, arguments[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def _load(typing, array, place):
    """Return a number as other threads have written it."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(array)(context, builder, arguments[0]).data
        return builder.load_atomic(builder.gep(data, [arguments[1]]), "acquire", 8)

    return types.int64(array, types.intp), generate
