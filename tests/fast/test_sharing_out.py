"""Threads that share out the pieces of phases."""

import numpy as np
import pytest

from dsnc import _native


def share_out(n_threads, sizes):
    sizes = np.asarray(sizes, np.uint32)
    board = np.zeros((n_threads, max(sizes, default=1)), np.int64)
    assert _native.share_out_work(board, sizes) == 0
    assert (board.sum(axis=0) == (sizes[:, None] > np.arange(board.shape[1])).sum(axis=0)).all()
    return board


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
@pytest.mark.parametrize("n_pieces", [1, 2, 7, 1000])
def test_each_piece_is_done_once_in_its_phase(n_threads, n_pieces):
    share_out(n_threads, np.full(5000 // n_pieces + 1, n_pieces))


@pytest.mark.parametrize("n_threads", [2, 3, 8, 40])
def test_phases_of_changing_sizes(n_threads):
    """Many more threads than cores: some of them lose theirs between any two operations."""
    rng = np.random.default_rng(n_threads)
    for most in (2, 3, 50):
        share_out(n_threads, rng.integers(1, most + 1, size=6000 // most))


def test_many_short_runs():
    """The end of a run is as hard as its middle: nobody may sleep on."""
    for n_phases in range(300):
        share_out(7, np.ones(n_phases % 4))


def test_one_thread_does_all_there_is():
    assert not share_out(1, []).any()
    assert (share_out(1, [3, 3]) == 2).all()
