"""Each vector operation as a kernel of its own, and threads that meet: for tests alone."""

from dsnc.codes._kernels.tools import kernel
from dsnc.fast._kernels import vectors
from dsnc.fast._kernels.meeting import meet


@kernel
def set_row(out, i, x, k):
    vectors.set_row(out, i, x, k)


@kernel
def add_scaled(out, i, x, k, scale):
    vectors.add_scaled(out, i, x, k, scale)


@kernel
def dot(x, i, y, k):
    return vectors.dot(x, i, y, k)


@kernel
def dots(x, i, y, k):
    return vectors.dots(x, i, y, k)


@kernel
def mix(out, i, x, k, shares):
    return vectors.mix(out, i, x, k, shares)


@kernel
def clear(out, i):
    vectors.clear(out, i)


@kernel
def probabilities(out, i, logits, k, sharpness):
    vectors.probabilities(out, i, logits, k, sharpness)


@kernel
def draw(out, i, chances, k, seed, stream):
    vectors.draw(out, i, chances, k, seed, stream)


@kernel
def draw_many(out, chances, seeds):
    """Draw a row with each seed."""
    for i in range(out.shape[0]):
        vectors.draw(out, i, chances, 0, seeds[i], 0)


@kernel
def expect(out, i, chances, k):
    vectors.expect(out, i, chances, k)


@kernel
def pass_through(out, i, x, k, chances, j):
    vectors.pass_through(out, i, x, k, chances, j)


@kernel
def largest(x, i, n):
    return vectors.largest(x, i, n)


@kernel
def exponentials(x, i, n, top):
    return vectors.exponentials(x, i, n, top)


@kernel
def scale(x, i, n, factor):
    vectors.scale(x, i, n, factor)


@kernel
def pack(octets, i, x, k):
    vectors.pack(octets, i, x, k)


@kernel
def chance(seed, place):
    return vectors.chance(seed, place)


@kernel
def count_together(board, gate, thread, n_threads, n_rounds):
    """Count rounds on a board, and return how often another thread was in another round."""
    wrong = 0
    for number in range(1, n_rounds + 1):
        board[thread] = number
        meet(gate, n_threads)
        for other in range(n_threads):
            wrong += board[other] != number
        meet(gate, n_threads)
    return wrong
