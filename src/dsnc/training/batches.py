"""Rows in memory to batches on the device, without copying X.

What is random in an epoch (the order of rows, the partners, the noise of the codes) is a function
of the seed and the epoch's number alone. So a resumed run needs no generator's state, and processes
that share a batch draw the same numbers and take their part of them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor

from dsnc.encoders.torch import Rows, SparseRows
from dsnc.training.class_sets import Classes, ClassSets
from dsnc.training.regularizer import Partners, Sampler
from dsnc.training.world import World

_BLOCK = 1 << 15  # rows looked at at a time
_COPIED = 1 << 24  # numbers copied to a device at a time


class RowSource(Protocol):
    """Where the rows of X come from."""

    def __len__(self) -> int:
        """Return the number of rows."""
        ...

    def take(self, rows: Tensor, room: int | None = None) -> Rows:
        """Return some rows as float32 on the device; sparse ones in `room` places, filled up."""
        ...

    def lengths(self) -> Tensor | None:
        """Return how many places each row takes, where rows are sparse."""
        ...

    @property
    def is_on_device(self) -> bool:
        """Whether all rows wait on a GPU."""
        ...


class DenseSource:
    """Dense rows, an ndarray or a memory map of any numeric type."""

    def __init__(self, X: Any, device: torch.device, *, unit_rows: bool) -> None:
        self._X, self._device, self._unit_rows = X, device, unit_rows
        self._on_device: Tensor | None = None
        if device.type == "cuda" and X.nbytes < torch.cuda.mem_get_info(device)[0] // 2:
            self._on_device = _to_device(X, device)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._X.shape[0])

    @property
    def is_on_device(self) -> bool:
        """Whether all rows wait on a GPU."""
        return self._on_device is not None

    def lengths(self) -> None:
        """Return nothing: all rows are equally long."""

    def take(self, rows: Tensor, room: int | None = None) -> Tensor:
        """Return some rows as float32 on the device."""
        if self._on_device is not None:
            picked = self._on_device[rows].float()
        else:
            host = np.asarray(self._X[rows.cpu().numpy()], dtype=np.float32)
            picked = torch.from_numpy(host).to(self._device)
        return F.normalize(picked) if self._unit_rows else picked


class SparseSource:
    """CSR rows; with `unit_rows` each is divided by its length."""

    def __init__(self, X: Any, device: torch.device, *, unit_rows: bool) -> None:
        self._X = X
        self._device = device
        self._factor = torch.from_numpy(_inverse_norms(X)) if unit_rows else torch.ones(X.shape[0])
        self._indptr = _to_device(X.indptr, device).long()
        if device.type == "cuda":
            self._indices = _to_device(X.indices, device)
            self._values = _to_device(X.data, device)
            self._factor = self._factor.to(device)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._X.shape[0])

    @property
    def is_on_device(self) -> bool:
        """Whether all rows wait on a GPU."""
        return self._device.type == "cuda"

    def lengths(self) -> Tensor:
        """Return how many numbers each row has."""
        return self._indptr.diff()

    def take(self, rows: Tensor, room: int | None = None) -> SparseRows:
        """Return some rows as float32 on the device; given `room`, padded with zeros to it."""
        if room is not None:
            return self._take_padded(rows, room)
        if self._device.type == "cuda":
            return self._take_on_device(rows)
        picked = self._X[rows.numpy()]
        lengths = torch.from_numpy(np.diff(picked.indptr))
        values = torch.from_numpy(picked.data).float()
        values = values * torch.repeat_interleave(self._factor[rows], lengths)
        offsets = torch.from_numpy(picked.indptr[:-1])
        return SparseRows(torch.from_numpy(picked.indices), offsets, values)

    def _take_on_device(self, rows: Tensor) -> SparseRows:
        starts = self._indptr[rows]
        lengths = self._indptr[rows + 1] - starts
        offsets = torch.cumsum(lengths, dim=0) - lengths
        first = torch.repeat_interleave(starts - offsets, lengths)
        where = first + torch.arange(len(first), device=self._device)
        values = self._values[where].float()
        values = values * torch.repeat_interleave(self._factor[rows], lengths)
        return SparseRows(self._indices[where].long(), offsets, values)

    def _take_padded(self, rows: Tensor, room: int) -> SparseRows:
        """Return rows in a number of places that does not depend on them, zeros after each."""
        starts = self._indptr[rows]
        lengths = self._indptr[rows + 1] - starts
        ends = torch.cumsum(lengths, dim=0)
        number = torch.arange(len(rows), device=self._device)
        offsets = ends - lengths + number * (room - ends[-1]) // len(rows)
        place = torch.arange(room, device=self._device)
        owner = torch.searchsorted(offsets, place, right=True) - 1
        within = place - offsets[owner]
        where = (starts[owner] + within).clamp_(max=len(self._indices) - 1)
        values = self._values[where].float() * self._factor[rows][owner]
        values = values.masked_fill(within >= lengths[owner], 0.0)
        return SparseRows(self._indices[where].int(), offsets.int(), values)


class Subset:
    """Some rows of a source, numbered anew: training and validation share one X."""

    def __init__(self, source: RowSource, rows: Tensor) -> None:
        self._source, self._rows = source, rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    @property
    def is_on_device(self) -> bool:
        """Whether all rows wait on a GPU."""
        return self._source.is_on_device

    def lengths(self) -> Tensor | None:
        """Return how many places each row takes, where rows are sparse."""
        lengths = self._source.lengths()
        return None if lengths is None else lengths[self._rows]

    def take(self, rows: Tensor, room: int | None = None) -> Rows:
        """Return some rows as float32 on the device."""
        return self._source.take(self._rows[rows], room)


def make_source(X: Any, device: torch.device, *, unit_rows: bool) -> RowSource:
    """Return the source that fits X; with `unit_rows` each row is divided by its length.

    An X that brings its own, as the rows of a cluster do, has a method `row_source`.
    """
    if hasattr(X, "row_source"):
        own: RowSource = X.row_source(device, unit_rows=unit_rows)
        return own
    kind = SparseSource if sp.issparse(X) else DenseSource
    return kind(X, device, unit_rows=unit_rows)


@dataclass
class Batch:
    """A process's part of a batch; on average over batches, the whole one's `weight` sums to 1."""

    rows: Rows
    y: Tensor  # (n,) classes, or (n, m) sets of them, filled up with -1
    weight: Tensor
    place: tuple[int, int, int]  # of this part in the whole batch: first row, last row, size
    noise: torch.Generator
    partner_rows: Rows | None = None
    partners: Partners | None = None
    all_y: Tensor | None = None  # of the whole batch

    @property
    def whole_y(self) -> Tensor:
        """The classes of the whole batch."""
        return self.y if self.all_y is None else self.all_y

    def random(self, n: int) -> Tensor:
        """Draw n uniform numbers, the same in every process."""
        return torch.rand(n, generator=self.noise, device=self.noise.device)

    @property
    def n_rows(self) -> int:
        """Rows of the whole batch."""
        return self.place[2]

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Draw uniform numbers (samples, rows, bits) for the whole batch; return this part's."""
        first, last, size = self.place
        whole = torch.rand(
            shape[0], size, *shape[2:], generator=self.noise, device=self.noise.device
        )
        return whole[:, first:last]


class Draw(NamedTuple):
    """What a batch is made of: its row numbers, partners, and where its noise comes from."""

    whole: Tensor
    partners: Partners | None
    noise: torch.Generator
    room: int  # places that the rows take, if they are sparse and on a GPU

    @property
    def n_rows(self) -> int:
        """Rows of the whole batch."""
        return len(self.whole)


class Batches:
    """The batches of an epoch, in an order that the seed and the epoch decide."""

    def __init__(
        self,
        source: RowSource,
        y: Classes,
        weight: Tensor,
        *,
        batch_size: int,
        seed: int,
        partners: Sampler | None = None,
        world: World | None = None,
    ) -> None:
        self._world = world or World()
        self._device = self._world.device
        # On the device once: a copy in every step would make it wait.
        self._source, self._y = source, y.to(self._device)
        self._weight, self._mean_weight = weight.to(self._device), float(weight.mean())
        self._size, self._seed, self._partners = batch_size, seed, partners

    def __len__(self) -> int:
        """Return the number of batches."""
        return max(1, -(-len(self._y) // self._size))

    def epoch(self, number: int) -> Iterator[Batch]:
        """Yield the batches of epoch `number`."""
        return map(self.batch, self.draws(number))

    def draws(self, number: int) -> Iterator[Draw]:
        """Yield what the batches of epoch `number` are made of."""
        order_seed, noise_seed = np.random.SeedSequence([self._seed, number]).generate_state(2)
        generator = torch.Generator().manual_seed(int(order_seed))
        noise = torch.Generator(self._device).manual_seed(int(noise_seed))
        order = self._order(generator).to(self._device)
        for whole, room in zip(torch.split(order, self._size), self._rooms(order), strict=True):
            partners = self._partners.draw(whole, generator) if self._partners else None
            yield Draw(whole, partners, noise, room)

    def _order(self, generator: torch.Generator) -> Tensor:
        """Return the order of rows: any, unless the source knows which of them are near whom."""
        if hasattr(self._source, "order"):
            own: Tensor = self._source.order(generator, self._size)
            return own
        return torch.randperm(len(self._y), generator=generator)

    @property
    def is_on_device(self) -> bool:
        """Whether a batch can be made without the host."""
        # How wide a batch of sets is must be asked for.
        is_alone = self._partners is None and self._world.size == 1
        return self._source.is_on_device and is_alone and not isinstance(self._y, ClassSets)

    @property
    def size(self) -> int:
        """Rows of a batch, but for the last."""
        return self._size

    def usual_room(self) -> int | None:
        """Return how many places hardly any batch of sparse rows exceeds."""
        lengths = self._source.lengths()
        if lengths is None:
            return None
        some = lengths.double()
        spread = float(some.std()) if len(some) > 1 else 0.0
        return 1 + int(self._size * float(some.mean()) + 4 * self._size**0.5 * spread)

    def _rooms(self, order: Tensor) -> list[int]:
        """Return how many places each batch takes, if its rows are sparse and on a GPU."""
        lengths = self._source.lengths() if self.is_on_device else None
        if lengths is None:
            return [0] * len(self)
        ends = torch.cumsum(lengths[order], dim=0)
        last = torch.arange(1, len(self) + 1, device=order.device) * self._size
        ends = ends[last.clamp_(max=len(order)) - 1]
        rooms: list[int] = torch.diff(ends, prepend=ends.new_zeros(1)).tolist()
        return rooms

    def batch(self, draw: Draw, room: int | None = None) -> Batch:
        """Make this process's part of a batch; given `room`, sparse rows are padded to it."""
        whole, partners, noise, _ = draw
        share = self._world.share(len(whole))
        rows = whole[share]
        # Divided by what a batch weighs on average, not by its own sum: heavy rows must make large
        # steps also where they are alone. DDP takes the mean over processes, hence their number.
        weight = self._weight[rows] * (self._world.size / (len(whole) * self._mean_weight))
        batch = Batch(
            self._source.take(rows, room),
            self._y[rows],
            weight,
            (share.start, share.stop, len(whole)),
            noise,
        )
        if self._world.size > 1:
            batch.all_y = self._y[whole]
        if partners is not None:
            mine = Partners(*(part[share] for part in partners))
            batch.partner_rows = self._source.take(torch.cat([mine.same, mine.other]))
            uniform = self._world.size / len(whole)
            batch.partners = Partners(
                mine.same,
                mine.same_weight * uniform,
                mine.other,
                mine.other_weight * uniform,
            )
        return batch


def _to_device(array: Any, device: torch.device) -> Tensor:
    """Copy an array, maybe a memory map that cannot be written, block by block."""
    dtype = torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype
    whole = torch.empty(array.shape, dtype=dtype, device=device)
    step = max(1, _COPIED // max(1, math.prod(array.shape[1:])))
    for start in range(0, len(array), step):
        whole[start : start + step] = torch.from_numpy(np.array(array[start : start + step]))
    return whole


def _inverse_norms(X: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return 1 / length of each CSR row, 1 for an empty one; in blocks, X may be large."""
    inverse = np.ones(X.shape[0], dtype=np.float32)
    for start in range(0, X.shape[0], _BLOCK):
        block = X[start : start + _BLOCK].astype(np.float64)  # small integers would overflow
        norms = np.sqrt(np.asarray(block.multiply(block).sum(axis=1)).ravel())
        np.divide(
            1, norms, out=inverse[start : start + _BLOCK], where=norms > 0, casting="same_kind"
        )
    return inverse
