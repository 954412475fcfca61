"""The table of all codes' answers: built against a breadth-first search, read against ``np.take``.

python benchmarks/bench_table.py [--codes 50000] [--build 20 24 26] [--versus 24] [--lookup 24]

Bars: at 24 bits the build is 20 times as fast as the search, and a lookup takes at most 1.5 times
as long as ``np.take``. Beside a build's time stands its memory-bandwidth floor: the bytes that its
passes read and write, at the speed of a plain copy in the same run. A breadth-first search from all
codes at once gives the same distances; of several labels equally near it takes any.
"""

import argparse
import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from compiled import compiled
from dsnc.codes import PackedCodes
from dsnc.codes.table import CodeTable
from harness import best_of, report

Words = NDArray[np.uint64]


def search(words: Words, labels: NDArray[np.int32], n_bits: int) -> NDArray[np.int32]:
    """Label every code by a breadth-first search with a queue, the nearest first."""
    library = compiled(Path(__file__).with_name("breadth_first.cpp"), "-O3", "-march=native")
    answers = np.full(1 << n_bits, -1, dtype=np.int32)
    queue = np.empty(1 << n_bits, dtype=np.uint32)
    given = words.ctypes, labels.ctypes, ctypes.c_int64(len(words)), n_bits
    library.breadth_first(*given, answers.ctypes, queue.ctypes)
    return answers


def known_codes(n_codes: int, n_bits: int) -> PackedCodes:
    """Draw distinct codes; with as many labels as codes, a label tells its code."""
    values = np.random.default_rng(0).integers(0, 1 << n_bits, n_codes, dtype=np.uint64)
    return PackedCodes.from_ints(np.unique(values), n_bits)


def copy_speed(megabytes: int = 256) -> float:
    """Return the bytes per second that a copy of a large array reads and writes."""
    source, target = np.ones((2, megabytes << 17), dtype=np.float64)
    seconds = best_of({"copy": lambda: np.copyto(target, source)}, repeat=10)["copy"]
    return 2 * source.nbytes / seconds


def bytes_moved(table: CodeTable) -> int:
    """Return what a build reads and writes: the fill, the passes, the labels taken out."""
    passes = 1 + -(-max(0, table.n_bits - 14) // 6)  # of the low bits, then of six at a time
    return (4 + passes * 8 + 4 + table.labels.itemsize) << table.n_bits


def check(codes: PackedCodes, *answers: NDArray[np.int64]) -> None:
    """Stop where answers are not equally near to a sample of codes."""
    rows = np.random.default_rng(1).integers(0, 1 << codes.n_bits, 10_000)
    queries = PackedCodes.from_ints(rows, codes.n_bits).to_ints()
    near = [np.bitwise_count(queries ^ codes.to_ints()[labels[rows]]) for labels in answers]
    if not all(np.array_equal(near[0], other) for other in near):
        raise SystemExit("The contestants do not give the same distances.")


def build_row(n_codes: int, n_bits: int, speed: float, repeat: int) -> dict[str, object]:
    """Build one table several times; return its line."""
    codes = known_codes(n_codes, n_bits)
    labels = np.arange(len(codes))
    table = CodeTable.build(codes, labels)
    seconds = best_of({"build": lambda: CodeTable.build(codes, labels)}, repeat)["build"]
    floor = bytes_moved(table) / speed
    return {
        "bits": n_bits,
        "codes": len(codes),
        "type": str(table.labels.dtype),
        "table MB": table.nbytes / 1e6,
        "peak MB": CodeTable.memory(n_bits, len(codes)) / 1e6,
        "ms": seconds * 1e3,
        "GB moved": bytes_moved(table) / 1e9,
        "copy GB/s": speed / 1e9,
        "floor ms": floor * 1e3,
        "ms / floor": seconds / floor,
    }


def versus_row(n_codes: int, n_bits: int, repeat: int) -> dict[str, object]:
    """Build one table by both algorithms, in turns; return their line."""
    codes = known_codes(n_codes, n_bits)
    labels = np.arange(len(codes), dtype=np.int32)
    table = CodeTable.build(codes, labels)
    check(codes, table.labels, search(codes.to_ints(), labels, n_bits))
    seconds = best_of(
        {
            "dsnc": lambda: CodeTable.build(codes, labels),
            "search": lambda: search(codes.to_ints(), labels, n_bits),
        },
        repeat,
    )
    return {
        "bits": n_bits,
        "codes": len(codes),
        "min-plus ms": seconds["dsnc"] * 1e3,
        "breadth-first ms": seconds["search"] * 1e3,
        "speed-up": seconds["search"] / seconds["dsnc"],
    }


def lookup_row(n_codes: int, n_bits: int, n_queries: int) -> dict[str, object]:
    """Look random codes up, by the table and by numpy; return the line."""
    codes = known_codes(n_codes, n_bits)
    table = CodeTable.build(codes, np.arange(len(codes)))
    rows = np.random.default_rng(2).integers(0, 1 << n_bits, n_queries)
    queries = PackedCodes.from_ints(rows, n_bits)
    one = queries.take(slice(0, 1))
    if not np.array_equal(table.lookup(queries), table.labels[rows]):
        raise SystemExit("The lookups differ.")
    seconds = best_of(
        {
            "dsnc": lambda: table.lookup(queries),
            "take": lambda: np.take(table.labels, rows),
            "one": lambda: [table.lookup(one) for _ in range(1000)],
        },
        repeat=10,
    )
    return {
        "bits": n_bits,
        "type": str(table.labels.dtype),
        "queries": n_queries,
        "dsnc ns / query": seconds["dsnc"] / n_queries * 1e9,
        "np.take ns / query": seconds["take"] / n_queries * 1e9,
        "dsnc / np.take": seconds["dsnc"] / seconds["take"],
        "one query us": seconds["one"] * 1e3,
    }


def main() -> None:
    """Read the command line and print the three tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--codes", type=int, default=50_000)
    parser.add_argument("--build", nargs="+", type=int, default=[20, 24, 26])
    parser.add_argument("--versus", nargs="+", type=int, default=[24])
    parser.add_argument("--lookup", nargs="+", type=int, default=[16, 20, 24, 26])
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    speed = copy_speed()
    report("table_build", [build_row(given.codes, b, speed, given.repeat) for b in given.build])
    report("table_versus", [versus_row(given.codes, b, given.repeat) for b in given.versus])
    report("table_lookup", [lookup_row(given.codes, b, given.queries) for b in given.lookup])


if __name__ == "__main__":
    main()
