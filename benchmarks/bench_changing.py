"""Search among codes that change: what a step of training costs, and when looking up is faster.

python benchmarks/bench_changing.py [--quick] [--only step lookup]

step: 300 codes are changed and 32 queries searched for their k nearest, by a call from Python and
by the kernel: all at once, one by one ("alone"), and in a window of 32,768 codes. The last column
has what a `HammingIndex` made anew for each step takes, by scan only, as a multiple.
lookup: all codes compared, against a multi-index of them with 0 and with 1,000 codes changed since
it was made. The former is the best that a multi-index whose buckets can change could do. Queries
are codes with 4 bits turned, random ones, or mates (100 codes of a class, 5 % of the bits turned).
"""

import argparse
import math
from collections.abc import Iterable
from functools import partial

import numpy as np

from dsnc.codes import ChangingIndex, HammingIndex, PackedCodes
from dsnc.codes._kernels import changing as kernels
from dsnc.codes.layout import scratch
from dsnc.codes.scan import octets_of
from harness import best_of, report

SIZES = (1000, 12_000, 76_000, 1_000_000)
_CHANGED, _QUERIES, _WINDOW = 300, 32, 64  # codes, queries, blocks of 512 codes


def drawn(n: int, n_bits: int, seed: int = 0) -> PackedCodes:
    """Return random codes."""
    return PackedCodes.from_bits(np.random.default_rng(seed).random((n, n_bits)) < 0.5)


def turned(codes: PackedCodes, n: int, n_turned: int) -> PackedCodes:
    """Return n of the codes with some bits turned."""
    generator = np.random.default_rng(1)
    bits = codes.take(generator.integers(0, len(codes), n)).to_bits().copy()
    for row in bits:
        row[generator.choice(codes.n_bits, n_turned, replace=False)] ^= True
    return PackedCodes.from_bits(bits)


def scanned(codes: PackedCodes) -> ChangingIndex:
    """Return an index that never looks anything up."""
    index = ChangingIndex(codes)
    index._patience = math.inf  # type: ignore[assignment]
    return index


def step(sizes: Iterable[int]) -> None:
    """Time changes and searches, from Python and from within a kernel."""
    cases = [(n, 64, k) for n in sizes for k in (1, 32, 64)] + [(12_000, 1024, 32)]
    report("changing_step", [_step(*case) for case in cases])


def _step(n: int, n_bits: int, k: int) -> dict[str, object]:
    codes, queries, others = (
        drawn(n, n_bits),
        drawn(_QUERIES, n_bits, 1),
        drawn(_CHANGED, n_bits, 2),
    )
    changed = np.random.default_rng(3).choice(n, _CHANGED, replace=False)
    index, keys, space = (
        scanned(codes),
        np.empty((_QUERIES, k), np.int64),
        scratch(n_bits, _QUERIES, k),
    )
    octets, layout = octets_of(queries), index._layout

    def kernel(stop: int, at_once: int) -> None:
        for i in range(0, _QUERIES, at_once):
            part = octets[i : i + at_once], keys[i : i + at_once]
            kernels.search(*layout, 0, min(stop, len(layout.planes)), n_bits, *part, *space)

    times = best_of(
        {
            "change": lambda: index.change(changed, others),
            "search": lambda: index.search(queries, k),
            "kernel": lambda: kernel(n, _QUERIES),
            "alone": lambda: kernel(n, 1),
            "window": lambda: kernel(_WINDOW, _QUERIES),
            "anew": lambda: HammingIndex(codes, method="scan").search(queries, k),
        },
        repeat=300 if n < 100_000 else 12,
    )
    return (
        {"codes": n, "bits": n_bits, "k": k, "change ns": times["change"] * 1e9 / _CHANGED}
        | {f"{how} us": times[how] * 1e6 / _QUERIES for how in list(times)[1:5]}
        | {"anew / step": times["anew"] / (times["change"] + times["search"])}
    )


def looked_up(codes: PackedCodes, n_changed: int) -> ChangingIndex:
    """Return an index that has a snapshot, and changes since then that change nothing."""
    index = ChangingIndex(codes)
    index._scanned = 1 << 62
    index.search(codes.take([0]))
    touched = np.random.default_rng(2).choice(len(codes), n_changed, replace=False)
    index.change(touched, codes.take(touched))
    index._patience = math.inf  # type: ignore[assignment]
    return index


def lookup(sizes: Iterable[int]) -> None:
    """Time queries that are scanned and looked up, 64 bits."""
    rows: list[dict[str, object]] = []
    for n in sizes:
        plain, centers = drawn(n, 64), drawn(n // 100, 64)
        noise = np.random.default_rng(4).random((n, 64)) < 0.05
        classes = PackedCodes.from_bits(centers.take(np.arange(n) // 100).to_bits() ^ noise)
        cases = {
            "4 bits": (plain, turned(plain, 256, 4)),
            "random": (plain, drawn(256, 64, 5)),
            "mates": (classes, turned(centers, 256, 3)),
        }
        for name, (codes, queries) in cases.items():
            indexes = {
                "scan": scanned(codes),
                "looked up": looked_up(codes, 0),
                "1000 changed": looked_up(codes, 1000),
            }
            rows += [
                {"codes": n, "queries": name} | _lookup(indexes, queries, k) for k in (1, 8, 32)
            ]
    report("changing_lookup", rows)


def _lookup(indexes: dict[str, ChangingIndex], queries: PackedCodes, k: int) -> dict[str, object]:
    searches = {name: partial(index.search, queries, k) for name, index in indexes.items()}
    best = best_of(searches, 50 if len(indexes["scan"]) < 500_000 else 4)
    times = {name: seconds * 1e6 / len(queries) for name, seconds in best.items()}
    ratios = {f"scan / {name}": times["scan"] / times[name] for name in list(times)[1:]}
    return {"k": k} | {f"{name} us": us for name, us in times.items()} | ratios


def main() -> None:
    """Read the command line, measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    sections = {"step": step, "lookup": lookup}
    parser.add_argument("--quick", action="store_true", help="up to 76,000 codes; seconds")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    given = parser.parse_args()
    if "step" in given.only:
        step(SIZES[:3] if given.quick else SIZES)
    if "lookup" in given.only:
        lookup((10_000, 100_000) if given.quick else (10_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main()
