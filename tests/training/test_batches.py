import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st

from dsnc.encoders.torch import SparseRows
from dsnc.training.batches import Batches, Subset, make_source
from dsnc.training.regularizer import PartnerSampler
from dsnc.training.world import World

CPU = torch.device("cpu")


def make_X(n=23, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def make_sparse(n=23, d=50, seed=0, dtype=np.float32):
    """Rows of a few numbers; every fifth is empty."""
    X = sp.random_array((n, d), density=0.1, format="lil", rng=np.random.default_rng(seed))
    X[::5] = 0
    return X.tocsr().astype(dtype)


def dense(rows, n_features):
    if not isinstance(rows, SparseRows):
        return rows.numpy()
    indptr = np.append(rows.offsets.numpy(), len(rows.indices))
    return sp.csr_array(
        (rows.values.numpy(), rows.indices.numpy(), indptr), shape=(len(rows.offsets), n_features)
    ).toarray()


def make_batches(X, *, seed=0, batch_size=5, weight=None, world=None, partners=False, y=None):
    n = X.shape[0]
    y = torch.arange(n) if y is None else y
    return Batches(
        make_source(X, CPU, unit_rows=False),
        y,
        torch.ones(n) if weight is None else weight,
        batch_size=batch_size,
        seed=seed,
        partners=PartnerSampler(y, int(y.max()) + 1) if partners else None,
        world=world,
    )


def order(batches, number):
    return torch.cat([batch.y for batch in batches.epoch(number)]).tolist()  # y numbers the rows


# Batches


@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 3))
def test_every_row_comes_once_with_its_class(n, batch_size, number):
    X = make_X(n)
    batches = make_batches(X, batch_size=batch_size)
    parts = list(batches.epoch(number))
    assert len(parts) == len(batches) == -(-n // batch_size)
    assert sorted(order(batches, number)) == list(range(n))
    for batch in parts:
        assert len(batch.y) <= batch_size
        assert np.array_equal(batch.rows, X[batch.y.numpy()])
        assert batch.weight.sum().item() == pytest.approx(1)


def test_seed_and_epoch_decide_the_order():
    X = make_X(100)
    first = make_batches(X)
    assert order(first, 0) == order(first, 0) == order(make_batches(X), 0)
    assert order(first, 0) != order(first, 1)
    assert order(first, 0) != order(make_batches(X, seed=1), 0)
    assert order(first, 0) != list(range(100))


def test_seed_and_epoch_decide_noise_and_partners():
    X, y = make_X(30), torch.arange(30) % 4

    def draw(number, seed=0):
        (batch,) = make_batches(X, y=y, seed=seed, batch_size=30, partners=True).epoch(number)
        return torch.cat([batch.uniform((2, 30, 3)).ravel(), batch.partner_rows.ravel()])

    assert torch.equal(draw(0), draw(0))
    assert not torch.equal(draw(0), draw(1))
    assert not torch.equal(draw(0), draw(0, seed=1))


def test_the_global_generators_are_left_alone():
    before = torch.get_rng_state(), np.random.get_state()[1]  # noqa: NPY002
    for batch in make_batches(make_X(), partners=True).epoch(0):
        batch.uniform((1, len(batch.y), 3))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


@pytest.mark.parametrize("batch_size", [1, 5, 23])
def test_a_row_counts_the_same_in_any_batch(batch_size):
    weight = torch.arange(1.0, 24.0)
    for batch in make_batches(make_X(), weight=weight, batch_size=batch_size).epoch(0):
        size = len(batch.y)
        torch.testing.assert_close(batch.weight, weight[batch.y] / (12 * size))


def test_a_batch_without_weight_teaches_nothing():
    weight = torch.zeros(23)
    weight[7] = 2
    weights = [batch.weight for batch in make_batches(make_X(), weight=weight).epoch(0)]
    assert sum(w.sum().item() == 0 for w in weights) == 4


@given(st.integers(1, 30), st.integers(1, 12), st.integers(2, 4), st.integers(0, 2))
def test_processes_share_what_one_would_have(n, batch_size, size, number):
    X, y = make_X(n), torch.arange(n) % 3
    weight = torch.rand(n, generator=torch.Generator().manual_seed(n))
    options = {"y": y, "weight": weight, "batch_size": batch_size, "partners": True}
    alone = make_batches(X, **options).epoch(number)
    worlds = [World(rank, size) for rank in range(size)]
    together = [make_batches(X, **options, world=w).epoch(number) for w in worlds]
    for whole, *parts in zip(alone, *together, strict=True):
        noise = whole.uniform((2, len(whole.y), 3))

        def joined(get, parts=parts):
            return torch.cat([get(part) for part in parts])

        assert torch.equal(joined(lambda b: b.rows), whole.rows)
        assert torch.equal(joined(lambda b: b.y), whole.y)
        torch.testing.assert_close(joined(lambda b: b.weight), size * whole.weight)
        torch.testing.assert_close(joined(lambda b: b.weight), whole.weight * size)
        pieces = [part.uniform((2, len(part.y), 3)) for part in parts]
        assert torch.equal(torch.cat(pieces, dim=1), noise)
        for half in (0, 1):
            partner = joined(
                lambda b, half=half: b.partner_rows.chunk(2)[half] if len(b.y) else X_0
            )
            assert torch.equal(partner, whole.partner_rows.chunk(2)[half])
        for name in ("same_weight", "other_weight"):
            mine = joined(lambda b, name=name: getattr(b.partners, name))
            torch.testing.assert_close(mine, getattr(whole.partners, name) * size)


X_0 = torch.empty(0, 4)


# Sources


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.float16, bool])
def test_dense_rows_come_as_float32(dtype):
    X = (10 * np.abs(make_X())).astype(dtype)
    rows = make_source(X, CPU, unit_rows=False).take(torch.tensor([3, 3, 0]))
    assert rows.dtype == torch.float32
    assert np.array_equal(rows, X[[3, 3, 0]].astype(np.float32))


def test_a_memory_map_is_read_by_rows_and_not_changed(tmp_path):
    X = make_X()
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    source = make_source(mapped, CPU, unit_rows=True)
    assert len(source) == 23
    rows = source.take(torch.tensor([5, 1]))
    rows += 1
    assert np.array_equal(mapped, X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16, np.int64, bool])
def test_sparse_rows_come_as_float32(dtype):
    X = (make_sparse() * 9).astype(dtype)
    chosen = [4, 0, 4, 22, 5]  # rows 0 and 5 are empty
    source = make_source(X, CPU, unit_rows=False)
    rows = source.take(torch.tensor(chosen))
    assert rows.values.dtype == torch.float32
    assert np.array_equal(dense(rows, 50), X[chosen].toarray().astype(np.float32))
    assert len(source) == 23


@pytest.mark.parametrize("chosen", [[], [0], [5, 0], [0, 1, 5]])
def test_no_rows_and_empty_rows(chosen):
    X = make_sparse()
    rows = make_source(X, CPU, unit_rows=True).take(torch.tensor(chosen, dtype=torch.int64))
    assert len(rows.offsets) == len(chosen)
    lengths = np.linalg.norm(dense(rows, 50), axis=1)
    assert lengths == pytest.approx([float(row % 5 > 0) for row in chosen])


@pytest.mark.parametrize("kind", ["dense", "csr_array", "csr_matrix"])
def test_unit_rows_have_length_one(kind):
    X = make_sparse().toarray() * 100
    given = {"dense": np.asarray, "csr_array": sp.csr_array, "csr_matrix": sp.csr_matrix}[kind](X)
    rows = dense(make_source(given, CPU, unit_rows=True).take(torch.arange(23)), 50)
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(rows, X / np.where(norms > 0, norms, 1), rtol=1e-6)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize(("value", "dtype"), [(100, np.int8), (60_000, np.uint16), (1e30, "f4")])
def test_squares_do_not_overflow(value, dtype):
    X = sp.csr_array(np.array([[value, 0], [value, value]], dtype=dtype))
    rows = dense(make_source(X, CPU, unit_rows=True).take(torch.arange(2)), 2)
    np.testing.assert_allclose(rows, [[1, 0], [0.5**0.5, 0.5**0.5]], rtol=1e-6)


def test_norms_are_the_same_in_blocks(monkeypatch):
    X = make_sparse(100)
    whole = make_source(X, CPU, unit_rows=True).take(torch.arange(100))
    monkeypatch.setattr("dsnc.training.batches._BLOCK", 7)
    assert torch.equal(make_source(X, CPU, unit_rows=True).take(torch.arange(100)).values, whole[2])


@pytest.mark.parametrize("X", [make_X(), make_sparse()], ids=["dense", "sparse"])
def test_a_subset_numbers_its_rows_anew(X):
    chosen = torch.tensor([20, 3, 7, 8])
    source = make_source(X, CPU, unit_rows=False)
    subset = Subset(source, chosen)
    assert len(subset) == 4
    mine, theirs = subset.take(torch.tensor([2, 0])), source.take(torch.tensor([7, 20]))
    assert np.array_equal(dense(mine, X.shape[1]), dense(theirs, X.shape[1]))
