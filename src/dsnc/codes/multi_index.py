"""Multi-index hashing: exact search in sublinear time (Norouzi, Punjani, Fleet 2014)."""

import copy
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes._kernels import multi_index as kernels
from dsnc.codes._kernels.nearest import NO_SLACK
from dsnc.codes.packed import PackedCodes
from dsnc.codes.scan import n_planes
from dsnc.errors import InputError

Ints = NDArray[np.int64]
MIN_WIDTH, _MAX_WIDTH = 4, 24  # bits of a chunk: its 2^24 offsets are 64 MiB
_MAX_CHUNKS = 32  # of very long codes some bits are in no chunk, which keeps the search exact
_MAX_RADIUS = 7
_MAX_MASKS = 1 << 18  # values of a chunk at one radius: scanning is cheaper than so many lookups
# Nanoseconds on a typical machine. They are fixed, so that the same queries are looked up in every
# run, however busy the machine: twice or half as much makes most searches hardly slower.
_COSTS = np.array([12.0, 16.0, 3.0, 36.0])  # of lookup, bucket, candidate, check
_BYTE_COST = 0.05  # of a byte of a scanned code
_CROWDED = 1.3  # codes gather: the buckets near a query hold more rows than the average one


class MultiIndex:
    """Tables from the values of m chunks of the bits to the rows that have them.

    With `arrays`, they are what `arrays` gave; all that could lead astray is checked.
    """

    def __init__(self, codes: PackedCodes, arrays: Mapping[str, Any] | None = None) -> None:
        self.codes = codes
        self.chunks = _chunks(codes.n_bits, len(codes))
        self._masks, self._mask_starts = _masks(self.chunks[:, kernels.WIDTH])
        n_rows = len(codes) * len(self.chunks)
        n_offsets = int((1 << self.chunks[:, kernels.WIDTH]).sum()) + len(self.chunks)
        n_parts = 2 if codes.words.shape[1] == 2 else 1  # the whole code where it is short
        shapes: dict[str, tuple[type, tuple[int, ...]]] = {
            "offsets": (np.uint32, (n_offsets,)),
            "ids": (np.uint32, (n_rows,)),
            "signatures": (np.uint64, (n_rows, n_parts)),
        }
        made: dict[str, NDArray[Any]]
        if arrays is None:
            made = {name: np.empty(shape, dtype) for name, (dtype, shape) in shapes.items()}
            kernels.fill_buckets(codes.words, codes.n_bits, self.chunks, *made.values())
        else:
            made = {name: _checked(name, arrays[name], *kind) for name, kind in shapes.items()}
        for array in made.values():
            array.flags.writeable = False  # as one from a file: kernels are compiled for one kind
        self.offsets, self.ids, self.signatures = made.values()
        if arrays is not None:
            self._check_tables()
        self.tables = self._tables()

    @property
    def n_later(self) -> int:
        """How many codes came after the tables were made: each query is compared with them."""
        return len(self.codes) - len(self.ids) // len(self.chunks)

    def with_more(self, codes: PackedCodes) -> "MultiIndex":
        """Return the same tables for these codes and some behind them."""
        more = copy.copy(self)
        more.codes = codes
        return more

    def update(
        self,
        queries: PackedCodes,
        labels: Ints,
        keys: Ints,
        owners: Ints,
        slack: int = NO_SLACK,
    ) -> tuple[NDArray[np.bool_], Ints]:
        """Bring the lists of the queries up to date where that is cheaper than scanning.

        Returns whose lists are complete (the others hold neighbors, not yet the nearest), and how
        many values were looked up, rows found (again in each chunk that finds them), and whole
        codes compared.
        """
        n, m = len(queries), len(self.chunks)
        done = np.zeros(n, dtype=np.bool_)
        counts = np.zeros(3, dtype=np.int64)
        scratch = (
            np.empty((kernels.AT_ONCE, m), dtype=np.int64),
            np.empty((m, self.signatures.shape[1]), dtype=np.uint64),
            np.empty((kernels.AT_ONCE, 2), dtype=np.int64),
        )
        codes, lists = (self.codes.words, self.codes.n_bits), (labels, slack, keys, owners)
        kernels.probe(*codes, queries.words, *self.tables, *lists, done, counts, *scratch)
        return done, counts

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the tables for a file; with the codes, the constructor is the way back."""
        return {"offsets": self.offsets, "ids": self.ids, "signatures": self.signatures}

    def _check_tables(self) -> None:
        """Refuse tables that point outside of the codes."""
        n = len(self.codes)
        for j, (_, width, base) in enumerate(self.chunks.tolist()):
            ends = self.offsets[base : base + (1 << width) + 1]
            if ends[0] != 0 or ends[-1] != n or (ends[1:] < ends[:-1]).any():
                raise InputError(f"index: the offsets of chunk {j} do not ascend from 0 to {n}.")
        if len(self.ids) and self.ids.max() >= n:
            raise InputError(f"index: array 'ids' has row {self.ids.max()}; there are {n} codes.")

    def _tables(self) -> tuple[Any, ...]:
        """Lay all out for kernels, with the costs that decide when a query is better scanned."""
        n_bits, n_codes, widths = self.codes.n_bits, len(self.codes), self.chunks[:, kernels.WIDTH]
        costs = np.array([_scan_cost(n_bits, n_codes), *_COSTS])
        each = _lookup_cost(n_bits, n_codes, widths)
        ahead = _ahead(each[:, None] * self._mask_starts[widths], n_bits)
        n_radii = min(_MAX_RADIUS + 1, self._mask_starts.shape[1] - 1)
        where = self.chunks, self.offsets, self.ids, self.signatures
        return *where, self._masks, self._mask_starts, n_radii, costs, ahead


def no_tables() -> tuple[Any, ...]:
    """Return tables of the same types with nothing in them."""
    numbers, signatures = np.empty(0, dtype=np.uint32), np.empty((0, 1), dtype=np.uint64)
    numbers.flags.writeable = signatures.flags.writeable = False
    chunks, starts = np.empty((0, 3), dtype=np.int64), np.empty((0, 0), dtype=np.int64)
    return chunks, numbers, numbers, signatures, numbers, starts, 0, np.empty(0), np.empty((0, 0))


def nominal_ns(n_bits: int, n_codes: int, distances: Ints) -> float:
    """Return what one query costs on a typical machine, nanoseconds on average.

    By the counts and costs that decide between lookups and scan. `distances` are how far some
    queries had to look.
    """
    chunks = _chunks(n_bits, n_codes)
    widths = chunks[:, kernels.WIDTH]
    each = _lookup_cost(n_bits, n_codes, widths)
    lookups = each[:, None] * _masks(widths)[1][widths]
    probing = _ahead(lookups - lookups[:, :1], n_bits)[0, np.clip(distances, 0, n_bits)]
    scan = _scan_cost(n_bits, n_codes)
    return float(np.minimum(probing, scan).mean()) if len(distances) else scan


def _scan_cost(n_bits: int, n_codes: int) -> float:
    return _BYTE_COST * n_codes * n_planes(n_bits)


def _lookup_cost(n_bits: int, n_codes: int, widths: Ints) -> NDArray[np.float64]:
    """Return what a lookup in each chunk is expected to cost, with all that it finds."""
    lookup, bucket, candidate, check = _COSTS.tolist()
    if n_bits > 128:  # its rows' signatures leave out too much: almost all are checked
        candidate += check
    occupancy = n_codes / 2.0**widths
    found = bucket * np.minimum(1, occupancy) + _CROWDED * candidate * occupancy
    return np.asarray(lookup + found, dtype=np.float64)


def _chunks(n_bits: int, n_codes: int) -> Ints:
    """Cut the bits into chunks of about log2(n_codes): one code for each value of a chunk.

    Returns their (start, width, base).
    """
    wanted = min(_MAX_WIDTH, max(float(MIN_WIDTH), math.log2(max(1, n_codes))))
    m = math.ceil(n_bits / wanted)
    edges = np.linspace(0, n_bits, m + 1).astype(np.int64)
    starts, widths = edges[:-1], np.diff(edges)
    if m > _MAX_CHUNKS:
        chosen = np.linspace(0, m - 1, _MAX_CHUNKS).astype(np.int64)
        starts, widths = starts[chosen], widths[chosen]
    sizes = (1 << widths) + 1
    return np.ascontiguousarray(np.stack([starts, widths, np.cumsum(sizes) - sizes], axis=1))


def _masks(widths: Ints) -> tuple[NDArray[np.uint32], Ints]:
    """List the values of r bits for chunks of each width, and where those of each r begin.

    Radii go as far as the values are few enough for all widths.
    """
    n_radii = 1
    while n_radii <= _MAX_RADIUS and math.comb(int(widths.max()), n_radii) <= _MAX_MASKS:
        n_radii += 1
    starts = np.zeros((int(widths.max()) + 1, n_radii + 1), dtype=np.int64)
    parts, total = [], 0
    for width in np.unique(widths).tolist():
        values = np.zeros(1, dtype=np.uint32)
        for radius in range(n_radii):
            starts[width, radius] = total
            parts.append(values)
            total += len(values)
            # One bit more, above the highest: ascending values stay ascending.
            bits = [np.uint32(1 << bit) for bit in range(width)]
            values = np.concatenate([values[: np.searchsorted(values, b)] | b for b in bits])
        starts[width, n_radii] = total
    masks = np.concatenate(parts)
    masks.flags.writeable = False
    return masks, starts


def _ahead(cumulated: NDArray[np.float64], n_bits: int) -> NDArray[np.float64]:
    """Tabulate what going on costs, from the cost of all lookups before each radius.

    ``[r, d]`` is the cost from radius r to the end of a list that ends at distance d, and
    ``[r, n_bits + 1]`` that of radius r alone.
    """
    m, n_radii = cumulated.shape[0], cumulated.shape[1] - 1
    ahead = np.empty((n_radii, n_bits + 2))
    # Chunk j is tried up to this radius before a list that ends at distance d is complete.
    final = (np.arange(n_bits + 1)[:, None] - np.arange(m)) // m
    reach = np.minimum(final + 1, n_radii)
    upto = cumulated[np.arange(m), reach]
    for r in range(n_radii):
        ahead[r, :-1] = np.maximum(upto - cumulated[:, r], 0).sum(axis=1)
        ahead[r, -1] = (cumulated[:, r + 1] - cumulated[:, r]).sum()
    ahead[:, :-1][:, (final >= n_radii).any(axis=1)] = math.inf
    return ahead


def _checked(name: str, values: Any, dtype: type, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array of a file, still mapped, or refuse it."""
    array = np.asarray(values)
    if array.dtype != dtype or array.shape != shape:
        raise InputError(
            f"index: array {name!r} has type {array.dtype} and shape {array.shape}; "
            f"expected {np.dtype(dtype)} and {shape}."
        )
    return np.require(array, requirements=["C", "A"]).view()
