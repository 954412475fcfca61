from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import vector_kernels as kernels

from dsnc.fast._kernels.meeting import GATE


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
def test_nobody_goes_on_before_all_have_come(n_threads):
    board, gate = np.zeros(n_threads, np.int64), np.zeros(GATE, np.int64)
    with ThreadPoolExecutor(n_threads) as pool:
        jobs = [
            pool.submit(kernels.count_together, board, gate, thread, n_threads, 200)
            for thread in range(n_threads)
        ]
        assert [job.result() for job in jobs] == [0] * n_threads
    assert gate[0] == 0 and (board == 200).all()


@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
@pytest.mark.parametrize("n_pieces", [1, 2, 7])
def test_each_piece_is_taken_once_in_a_round(n_threads, n_pieces):
    board, gate = np.zeros((n_threads, n_pieces), np.int64), np.zeros(GATE, np.int64)
    with ThreadPoolExecutor(n_threads) as pool:
        jobs = [
            pool.submit(kernels.share_out, board, gate, (thread, n_threads), 100)
            for thread in range(n_threads)
        ]
        for job in jobs:
            job.result()
    assert (board.sum(axis=0) == 100).all()
