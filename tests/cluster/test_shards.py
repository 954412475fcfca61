import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dsnc.cluster.preparation import save_rows
from dsnc.cluster.shards import Shard, copy_rows, shard_bounds

CPU = torch.device("cpu")


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [1, 5, 12, 47])
def test_every_batch_has_equally_many_rows_of_each_shard(n_rows, shards):
    bounds = shard_bounds(n_rows, 6, shards)
    X = np.arange(n_rows, dtype=np.float32)[:, None]
    source = Shard(X, 0, (n_rows, 1), shards, "").row_source(CPU, unit_rows=False)
    order = source.order(torch.Generator().manual_seed(1), 6)
    assert sorted(order.tolist()) == list(range(n_rows))
    for batch in torch.split(order, 6):
        owners = np.searchsorted(bounds, batch.numpy(), side="right") - 1
        cuts = [len(batch) * i // shards for i in range(shards + 1)]
        assert owners.tolist() == np.repeat(range(shards), np.diff(cuts)).tolist()


def test_a_shard_is_found_by_the_numbers_of_all_rows():
    X = np.arange(20, dtype=np.float32).reshape(10, 2)
    source = Shard(X[4:7], 4, (10, 2), 2, "").row_source(CPU, unit_rows=False)
    assert len(source) == 10
    assert source.take(torch.tensor([6, 4])).tolist() == X[[6, 4]].tolist()


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_parts_are_copied_to_a_near_place(tmp_path, sparse):
    random = np.random.default_rng(0)
    whole = np.where(random.random((30, 8)) < 0.4, random.normal(size=(30, 8)), 0)
    whole = whole.astype(np.float32)
    counts, parts = [10, 1, 19], []
    for number, end in enumerate(np.cumsum(counts)):
        X = whole[end - counts[number] : end]
        parts.append(tmp_path / str(number))
        save_rows(parts[-1], sp.csr_array(X) if sparse else X, np.zeros(len(X)), ["a"])
    for number, rows in enumerate(([0, 9, 10, 11, 29], [10], [], range(30))):
        near = tmp_path / f"near-{number}"
        near.mkdir()
        found = copy_rows(parts, counts, np.array(rows, dtype=np.int64), near)
        assert sp.issparse(found) == sparse
        found = found.toarray() if sparse else found
        assert np.array_equal(found, whole[list(rows)])
