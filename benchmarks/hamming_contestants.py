"""Who takes part in the benchmark of exact Hamming search, and the codes that they search.

Every contestant uses one thread, and gets its queries in the layout that it likes before the clock
starts. A library that is not installed is left out, and a line tells how to get it.
"""

import functools
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import HammingIndex, PackedCodes
from dsnc.errors import MissingExtraError, require
from harness import best_of

Distances = NDArray[Any]
Search = Callable[[], Distances]

FLAT, HASH, IVF, USEARCH, NUMPY = "FAISS Flat", "FAISS Hash", "FAISS IVF", "usearch", "numpy"
NUMKONG, PYNEAR = "NumKong", "PyNear"
LIBRARIES = (FLAT, IVF, USEARCH, NUMKONG, PYNEAR, NUMPY)  # those that are exact whatever the query
SCAN, INDEX = "scan", "index"  # ours
NEAR, RANDOM = 1 << 14, 1 << 8  # queries for our index: with something near them, or not
_MANY = 200_000  # codes; from here on there are more classes, and fewer queries for the slow
_WIDTHS = (4, 8, 16, 32, 64)  # bytes that FAISS has a loop of its own for
_BLOCK = 1 << 16  # codes made at once
_FIRST_QUERY = """
import json, sys, time
import numpy
start = time.perf_counter()
from dsnc.codes import HammingIndex, PackedCodes
words = numpy.load(sys.argv[1])
index = HammingIndex(PackedCodes(words[1:], 64))
if sys.argv[2] == "prepared":
    index.prepare()
ready = time.perf_counter()
index.search(PackedCodes(words[:1], 64))
end = time.perf_counter()
print(json.dumps([end - start, end - ready]))
"""


class Workload:
    """Codes around class centers, 5 % of their bits flipped, and queries around the same centers.

    Parameters
    ----------
    n_codes, n_bits : int
    n_classes : int, optional
        1000, or 10000 for many codes.
    """

    def __init__(self, n_codes: int, n_bits: int, n_classes: int | None = None) -> None:
        self._rng = np.random.default_rng([n_codes, n_bits])
        n_classes = n_classes or (1000 if n_codes <= _MANY else 10_000)
        self._centers = self._rng.random((n_classes, n_bits)) < 0.5
        self.codes = self._around(np.sort(self._rng.integers(0, n_classes, n_codes)), 0.05)

    def queries(self, noise: float | None, n_queries: int) -> PackedCodes:
        """Return centers with this share of flipped bits; without one, random codes."""
        if noise is None:
            shape = (n_queries, self.codes.n_bits)
            return PackedCodes.from_bits(self._rng.random(shape) < 0.5)
        return self._around(self._rng.integers(0, len(self._centers), n_queries), noise)

    def _around(self, classes: NDArray[np.int64], noise: float) -> PackedCodes:
        parts = []
        for start in range(0, len(classes), _BLOCK):
            bits = self._centers[classes[start : start + _BLOCK]]
            flips = self._rng.random(bits.shape, dtype=np.float32) < noise
            parts.append(PackedCodes.from_bits(bits ^ flips))
        return PackedCodes.concatenate(parts)


class Contestant(NamedTuple):
    """A way to find the nearest code."""

    name: str
    bind: Callable[[PackedCodes], Search]  # gives what is timed: distances of the nearest codes
    n_queries: int  # for one turn: turns that are short find a moment when nobody disturbs
    bytes_per_code: float
    build_seconds: float


@functools.cache
def library(module: str) -> ModuleType | None:
    """Import a library, set to one thread; or say how to get it."""
    try:
        found = require(module, extra="bench", caller="A contestant that is left out")
    except MissingExtraError as error:
        print(error)
        return None
    if module == "faiss":
        found.omp_set_num_threads(1)
    return found


def octets(codes: PackedCodes, n_bytes: int) -> NDArray[np.uint8]:
    """Return codes as rows of bytes, cut or filled up with zeros to a width."""
    rows = codes.words.view(np.uint8).reshape(len(codes), -1)
    result = np.zeros((len(codes), n_bytes), dtype=np.uint8)
    used = min(n_bytes, rows.shape[1])
    result[:, :used] = rows[:, :used]
    return result


def padded_width(n_bits: int) -> int:
    """Return the bytes of a code when filled up to a width that libraries like."""
    least = -(-n_bits // 8)
    return next((width for width in _WIDTHS if width >= least), least)


def ours(codes: PackedCodes, name: str) -> Contestant:
    """Return our scan, or our index."""
    method = {SCAN: "scan", INDEX: "multi_index"}[name]
    start = time.perf_counter()
    index = HammingIndex(codes, method=method)
    seconds = time.perf_counter() - start

    def bind(queries: PackedCodes) -> Search:
        return lambda: index.search(queries)[0][:, 0]

    # So many that no cache holds what the turn before has fetched, nor is it empty for most.
    n_queries = NEAR if name == INDEX else _fewer(codes, RANDOM)
    return Contestant(name, bind, n_queries, index.nbytes / len(codes), seconds)


def flat(codes: PackedCodes) -> Contestant | None:
    """Return FAISS's exhaustive search, with or without padding: whichever is faster."""
    widths = sorted({-(-codes.n_bits // 8), padded_width(codes.n_bits)})
    variants = [_flat(codes, width) for width in widths]
    if variants[0] is None or len(variants) == 1:
        return variants[0]
    sample = codes.take(slice(0, 16))
    seconds = best_of({str(i): v.bind(sample) for i, v in enumerate(variants) if v}, repeat=3)
    return variants[int(min(seconds, key=seconds.__getitem__))]


def _flat(codes: PackedCodes, width: int) -> Contestant | None:
    faiss = library("faiss")
    if faiss is None:
        return None
    rows = octets(codes, width)
    index = faiss.IndexBinaryFlat(8 * width)
    start = time.perf_counter()
    index.add(rows)
    seconds = time.perf_counter() - start
    return Contestant(FLAT, _bind(index, width), _fewer(codes, 64), width, seconds)


def ivf(codes: PackedCodes) -> Contestant | None:
    """Return FAISS's inverted lists, of which all are searched."""
    faiss = library("faiss")
    if faiss is None:
        return None
    width, n_lists = padded_width(codes.n_bits), 64
    rows = octets(codes, width)
    coarse = faiss.IndexBinaryFlat(8 * width)
    index = faiss.IndexBinaryIVF(coarse, 8 * width, n_lists)
    index.cp.niter, index.nprobe = 4, n_lists
    start = time.perf_counter()
    index.train(rows[:: max(1, len(rows) // 5000)].copy())
    index.add(rows)
    seconds = time.perf_counter() - start
    return Contestant(IVF, _bind(index, width, coarse), _fewer(codes, 32), width + 8, seconds)


def _bind(index: Any, width: int, *kept: object) -> Callable[[PackedCodes], Search]:
    """Bind queries to a FAISS index, and keep alive what it refers to."""

    def bind(queries: PackedCodes) -> Search:
        rows, _ = octets(queries, width), kept
        return lambda: index.search(rows, 1)[0][:, 0]

    return bind


def multi_hash(codes: PackedCodes) -> list[Contestant]:
    """Return FAISS's multi-index without a guarantee: chunks tried up to 0, 1, 2 or 3 flips."""
    faiss = library("faiss")
    if faiss is None:
        return []
    width = padded_width(codes.n_bits)
    n_hash_bits = 16 if len(codes) <= _MANY else 20
    rows = octets(codes, width)
    index = faiss.IndexBinaryMultiHash(8 * width, max(1, codes.n_bits // n_hash_bits), n_hash_bits)
    start = time.perf_counter()
    index.add(rows)
    seconds = time.perf_counter() - start

    def with_flips(n_flips: int) -> Callable[[PackedCodes], Search]:
        def bind(queries: PackedCodes) -> Search:
            rows = octets(queries, width)

            def search() -> Distances:
                index.nflip = n_flips
                found: Distances = index.search(rows, 1)[0][:, 0]
                return found

            return search

        return bind

    n_queries = _fewer(codes, 1024)
    return [Contestant(HASH, with_flips(r), n_queries, math.nan, seconds) for r in range(4)]


def usearch(codes: PackedCodes) -> Contestant | None:
    """Return usearch's exhaustive search."""
    module = library("usearch.index")
    if module is None:
        return None
    width = padded_width(codes.n_bits)
    rows, metric = octets(codes, width), module.MetricKind.Hamming

    def bind(queries: PackedCodes) -> Search:
        asked = octets(queries, width)

        def search() -> Distances:
            found = module.search(rows, asked, 1, metric, exact=True, threads=1, dtype="b1")
            return np.asarray(found.distances).reshape(-1).astype(np.int32)

        return search

    return Contestant(USEARCH, bind, _fewer(codes, 32), width, 0.0)


def numkong(codes: PackedCodes) -> Contestant | None:
    """Return the least of all distances that NumKong computes."""
    module = library("numkong")
    if module is None:
        return None
    width = padded_width(codes.n_bits)
    packed = module.hammings_pack(octets(codes, width), "uint1")

    def bind(queries: PackedCodes) -> Search:
        asked = octets(queries, width)
        return lambda: np.asarray(module.hammings_packed(asked, packed)).min(axis=1)

    return Contestant(NUMKONG, bind, _fewer(codes, 32), width, 0.0)


def pynear(codes: PackedCodes) -> Contestant | None:
    """Return PyNear's multi-index: its radius grows until whatever is farther cannot be nearest.

    A radius finds all codes within it, but takes the user to say which; the next one is as much
    more as flips another bit in each chunk, of 16 bits.
    """
    module = library("pynear")
    if module is None:
        return None
    width = padded_width(codes.n_bits)
    n_chunks = width // 2
    index = module.MIHBinaryIndex(n_chunks)
    start = time.perf_counter()
    index.set(octets(codes, width))
    seconds = time.perf_counter() - start

    def bind(queries: PackedCodes) -> Search:
        asked = octets(queries, width)

        def search() -> Distances:
            found, open_ = np.full(len(asked), 8 * width + 1), np.arange(len(asked))
            for radius in range(n_chunks - 1, 8 * width + n_chunks, n_chunks):
                _, distances = index.searchKNN_arrays(asked[open_], 1, radius)
                found[open_] = distances[:, 0]
                open_ = open_[distances[:, 0] > radius]
                if not len(open_):
                    break
            return found

        return search

    return Contestant(PYNEAR, bind, _fewer(codes, 256), math.nan, seconds)


def plain_numpy(codes: PackedCodes) -> Contestant:
    """Return the two lines that numpy takes."""
    words = codes.words[:, 0] if codes.words.shape[1] == 1 else codes.words

    def bind(queries: PackedCodes) -> Search:
        def search() -> Distances:
            counts = (np.bitwise_count(words ^ query) for query in queries.words)
            if words.ndim == 1:
                return np.array([count.min() for count in counts])
            return np.array([count.sum(axis=1, dtype=np.int32).min() for count in counts])

        return search

    return Contestant(NUMPY, bind, _fewer(codes, 8), codes.words.shape[1] * 8.0, 0.0)


def _fewer(codes: PackedCodes, n_queries: int) -> int:
    return n_queries if len(codes) <= _MANY else max(2, n_queries // 4)


def microseconds(
    contestants: Sequence[Contestant], queries: PackedCodes, *, seconds: float = 1.0
) -> dict[str, float]:
    """Time contestants in turns; return the least time per query of each.

    There are as many turns as the seconds allow, 3 at least; whoever takes longer than that for
    one takes no other.
    Contestants that do not agree on the distances end the benchmark.
    """
    searches = {c.name: c.bind(queries.take(slice(0, c.n_queries))) for c in contestants}
    agree({name: search() for name, search in searches.items()})
    best = best_of(searches, repeat=1)
    searches = {name: search for name, search in searches.items() if best[name] < seconds}
    turns = int(seconds / sum(best[name] for name in searches)) if searches else 0
    best |= {
        name: min(best[name], again)
        for name, again in best_of(searches, repeat=min(100, max(2, turns))).items()
    }
    return {c.name: 1e6 * best[c.name] / min(len(queries), c.n_queries) for c in contestants}


def agree(distances: Mapping[str, Distances]) -> None:
    """Stop where contestants found different distances; some have answered fewer queries."""
    (first, expected), *others = distances.items()
    for name, found in others:
        n = min(len(found), len(expected))
        wrong = np.flatnonzero(found[:n] != expected[:n])
        if len(wrong):
            i = wrong[0]
            raise SystemExit(
                f"Query {i}: {name} finds distance {found[i]}, {first} finds {expected[i]} "
                f"({len(wrong)} of {n} queries differ)."
            )


def lucky_hash(
    variants: Sequence[Contestant], queries: PackedCodes, expected: Distances
) -> tuple[Contestant | None, float]:
    """Return the fastest variant that found all nearest codes, and the best share found."""
    best = 0.0
    for variant in variants:
        found = variant.bind(queries.take(slice(0, variant.n_queries)))()
        share = float((found == expected[: len(found)]).mean())
        best = max(best, share)
        if share == 1:
            return variant._replace(n_queries=variant.n_queries // 8), share
    return None, best


def first_query(codes: Path, how: str) -> tuple[float, float]:
    """Search one code in a fresh process.

    Parameters
    ----------
    codes : Path
        The query and the codes, as words of 64 bits.
    how : "plain" or "prepared"
        Search, or prepare and search.

    Returns
    -------
    total, search : float
        Seconds from our own import to the answer, and those of the search in them.
    """
    command = [sys.executable, "-c", _FIRST_QUERY, str(codes), how]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    total, search = json.loads(done.stdout)
    return total, search
