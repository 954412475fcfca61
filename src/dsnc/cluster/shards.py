"""Rows of a run that no process has all of: each worker has its shard, on its own disk.

A batch takes equally many rows of each shard, at random, and the part of it that a worker learns
from is that of its own shard. So what a batch holds depends on the number of shards, and not on who
has them: one process that has all of them sees the same batches.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from dsnc.encoders.torch import Rows
from dsnc.training.batches import RowSource, make_source

_LARGE = np.iinfo(np.int32).max


def shard_bounds(n_rows: int, batch_size: int, shards: int) -> NDArray[np.int64]:
    """Return where each shard begins, and the end of the last.

    All give the same number of rows to a full batch, which must be divisible by their number, and
    nearly the same to the last one.
    """
    full, rest = divmod(n_rows, batch_size)
    places = np.arange(shards + 1)
    return full * (batch_size // shards) * places + rest * places // shards


class Shard:
    """The rows of a worker, standing for the X of all.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The rows that are here.
    first : int
        The number of the first of them.
    shape : (int, int)
        Of all rows.
    shards : int
        How many shards there are in all.
    fingerprint : str
        Changes with the rows of any shard.
    """

    def __init__(
        self, X: Any, first: int, shape: tuple[int, int], shards: int, fingerprint: str
    ) -> None:
        self.X, self.first, self.shape = X, first, shape
        self.shards, self.fingerprint = shards, fingerprint

    def row_source(self, device: torch.device, *, unit_rows: bool) -> "ShardSource":
        """Return where batches get their rows from."""
        return ShardSource(self, make_source(self.X, device, unit_rows=unit_rows))


class ShardSource:
    """Where batches get the rows of a shard from; see `RowSource`."""

    is_on_device = False  # not all rows are

    def __init__(self, shard: Shard, own: RowSource) -> None:
        self._shard, self._own = shard, own

    def __len__(self) -> int:
        """Return the number of rows of all shards."""
        return self._shard.shape[0]

    def lengths(self) -> None:
        """Return nothing: those of other shards are not known."""

    def take(self, rows: Tensor, room: int | None = None) -> Rows:
        """Return some rows, which must be here."""
        return self._own.take(rows - self._shard.first, room)

    def order(self, generator: torch.Generator, batch_size: int) -> Tensor:
        """Return an order in which each batch has equally many rows of each shard, side by side."""
        n_rows, shards = self._shard.shape[0], self._shard.shards
        bounds = shard_bounds(n_rows, batch_size, shards).tolist()
        drawn = [
            first + torch.randperm(last - first, generator=generator)
            for first, last in zip(bounds[:-1], bounds[1:], strict=True)
        ]
        full, share = n_rows // batch_size, batch_size // shards
        batches = torch.stack([rows[: full * share].view(full, share) for rows in drawn], dim=1)
        return torch.cat([batches.reshape(-1), *(rows[full * share :] for rows in drawn)])


def copy_rows(parts: list[Path], counts: list[int], rows: NDArray[np.int64], folder: Path) -> Any:
    """Copy some rows of prepared parts into a folder; return them, memory-mapped.

    `dsnc.cluster.preparation` wrote the parts, and `counts` are their numbers of rows. `rows` are
    numbers among the rows of all parts, ascending.
    """
    ends = np.cumsum([0, *counts])
    cuts = np.searchsorted(rows, ends)
    chosen = [
        (part, rows[a:b] - start)
        for part, start, a, b in zip(parts, ends, cuts[:-1], cuts[1:], strict=False)
        if b > a
    ]
    if (parts[0] / "X.npy").exists():
        return _copy_dense(parts[0], chosen, len(rows), folder)
    return _copy_sparse(parts[0], chosen, len(rows), folder)


def _copy_dense(example: Path, chosen: Any, n_rows: int, folder: Path) -> Any:
    width = np.load(example / "X.npy", mmap_mode="r").shape[1]
    X = _new(folder / "X.npy", np.float32, (n_rows, width))
    done = 0
    for part, rows in chosen:
        X[done : done + len(rows)] = np.load(part / "X.npy", mmap_mode="r")[rows]
        done += len(rows)
    return _again(X, folder / "X.npy")


def _copy_sparse(example: Path, chosen: Any, n_rows: int, folder: Path) -> Any:
    width = int(np.load(example / "width.npy"))
    indptr = np.zeros(n_rows + 1, np.int64)
    done = 0
    for part, rows in chosen:
        sizes = np.diff(np.load(part / "indptr.npy", mmap_mode="r"))[rows]
        indptr[done + 1 : done + 1 + len(rows)] = sizes
        done += len(rows)
    np.cumsum(indptr, out=indptr)
    kind = np.int32 if max(indptr[-1], width) <= _LARGE else np.int64
    data = _new(folder / "data.npy", np.float32, (int(indptr[-1]),))
    indices = _new(folder / "indices.npy", kind, (int(indptr[-1]),))
    done = 0
    for part, rows in chosen:
        picked = load_part(part)[rows]
        data[done : done + picked.nnz] = picked.data
        indices[done : done + picked.nnz] = picked.indices
        done += picked.nnz
    mapped = _again(data, folder / "data.npy"), _again(indices, folder / "indices.npy")
    return sp.csr_array((*mapped, indptr.astype(kind)), shape=(n_rows, width))


def load_part(part: Path) -> Any:
    """Return the rows of a prepared part, memory-mapped."""
    if (part / "X.npy").exists():
        return np.load(part / "X.npy", mmap_mode="r")
    names = ("data", "indices", "indptr")
    arrays = tuple(np.load(part / f"{name}.npy", mmap_mode="r") for name in names)
    return sp.csr_array(arrays, shape=(len(arrays[2]) - 1, int(np.load(part / "width.npy"))))


def _new(path: Path, dtype: Any, shape: tuple[int, ...]) -> Any:
    if 0 in shape:  # which cannot be mapped
        return np.zeros(shape, dtype)
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)


def _again(array: Any, path: Path) -> Any:
    """Return a new array as it can be read."""
    if not isinstance(array, np.memmap):
        return array
    array.flush()
    return np.load(path, mmap_mode="r")
