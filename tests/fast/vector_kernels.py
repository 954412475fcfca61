"""Each vector operation as a kernel of its own, and threads that meet: for tests alone."""

from dsnc.codes._kernels.tools import kernel
from dsnc.fast._kernels import vectors
from dsnc.fast._kernels.meeting import meet, offer, take_end


@kernel
def set_row(out, i, x, k):
    vectors.set_row(out, i, x, k)


@kernel
def add_scaled(out, i, x, k, scale):
    vectors.add_scaled(out, i, x, k, scale)


@kernel
def move(out, i, x, k, scale):
    return vectors.move(out, i, x, k, scale)


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


@kernel
def share_out(board, gate, who, n_rounds):
    """Take pieces in rounds, those of an even thread from the front; count who had which."""
    thread, n_threads = who
    for _ in range(n_rounds):
        if thread == 0:
            offer(gate)
        meet(gate, n_threads)
        piece = take_end(gate, board.shape[1], thread % 2 == 1)
        while piece >= 0:
            board[thread, piece] += 1
            piece = take_end(gate, board.shape[1], thread % 2 == 1)
        meet(gate, n_threads)
