"""Exact Hamming search: our scan and our index against libraries, on one thread.

python benchmarks/bench_hamming.py [--quick | --full] [--plot] [--only versus growth] [--data DATA]

Contestants take turns, and the fastest turn of each counts; all must find the same distances. Codes
are class centers with 5 % of their bits flipped, queries the same centers with a share of flipped
bits ("noise") or random. The best library is the fastest of those that are exact whatever the
query; FAISS Hash (IndexBinaryMultiHash) is not: it is timed where it happened to find all nearest
codes. The last table has every bar, and whether it holds. Libraries: pip install 'dsnc[bench]'
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hamming_contestants as hc
from bench_accuracy import load
from dsnc import _native
from dsnc.classifier import DSNCClassifier
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.data import Split, make_dense_codes
from hamming_contestants import FLAT, HASH, INDEX, LIBRARIES, SCAN, Contestant, Workload
from harness import RESULTS, best_of, report

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "hamming_growth.png"
LOOP = "while True: pass"
# (ours, codes, bits, noise) -> how many times as fast as the best library it must be
SPEED_UPS: dict[tuple[str, int, int, float | None], float] = {
    (SCAN, 100_000, 64, None): 3,
    (SCAN, 100_000, 128, None): 1.8,
    (SCAN, 100_000, 256, None): 1.5,
    (INDEX, 100_000, 64, 0.05): 5,
    (INDEX, 100_000, 128, 0.05): 8,
    (INDEX, 100_000, 256, 0.05): 5,
    (INDEX, 1_000_000, 64, 0.05): 8,
    (INDEX, 1_000_000, 128, 0.05): 8,
    (INDEX, 100_000, 64, 0.1): 5,
    (INDEX, 1_000_000, 64, 0.1): 5,
}


class Size(NamedTuple):
    """How much of everything is measured."""

    versus: tuple[tuple[int, int], ...]  # (codes, bits)
    sweep: tuple[tuple[int, int], ...]
    growth: tuple[int, ...]
    memory: tuple[tuple[int, int], ...]
    single: tuple[int, ...]
    turns: int  # of fresh processes
    trained: tuple[str, ...]
    seconds: float  # for the turns of one case
    plot: bool = False


_SWEPT = tuple((n, bits) for n in (12_000, 100_000) for bits in (36, 64, 128, 200, 256, 400))
_SMALL = ((12_000, 36), (100_000, 64), (100_000, 128), (100_000, 256))
_GROWTH = (10_000, 30_000, 100_000, 300_000, 1_000_000)
_LARGE = ((1_000_000, 64), (1_000_000, 128))
DEFAULT = Size(
    versus=_SMALL + _LARGE,
    sweep=_SWEPT,
    growth=_GROWTH,
    memory=((100_000, 64), (100_000, 256), *_LARGE),
    single=(12_000, 100_000, 1_000_000),
    turns=3,
    trained=("glyphs",),
    seconds=1.5,
)
QUICK = DEFAULT._replace(
    versus=_SMALL[1:3],
    sweep=((12_000, 36), (12_000, 128), (100_000, 64)),
    growth=_GROWTH[:4],
    memory=((100_000, 64),),
    single=(12_000, 100_000),
    turns=1,
    trained=(),
    seconds=0.4,
)
FULL = DEFAULT._replace(
    versus=_SMALL + _LARGE + ((1_000_000, 256), (10_000_000, 64)),
    growth=(*_GROWTH, 4_000_000, 10_000_000),
    memory=(*DEFAULT.memory, (10_000_000, 64)),
    turns=5,
    trained=("glyphs", "dense_codes"),
    seconds=3.0,
)


class Bar(NamedTuple):
    """A figure that was promised."""

    what: str
    value: float
    limit: float
    at_least: bool = True

    def row(self) -> dict[str, object]:
        """Return a line of the table."""
        value, limit = self.value, self.limit
        holds = value >= limit if self.at_least else value <= limit
        sign = ">=" if self.at_least else "<="
        return {
            "what": self.what,
            "figure": value,
            "bar": f"{sign} {limit:g}",
            "holds": "yes" if holds else "NO",
        }


def versus(size: Size) -> Iterable[Bar]:
    """Time all contestants on all sizes; ratios to the best library."""
    rows, ratios = [], []
    for n_codes, n_bits in size.versus:
        work = Workload(n_codes, n_bits)
        mine = [hc.ours(work.codes, name) for name in (INDEX, SCAN)]
        makers = (hc.flat, hc.ivf, hc.usearch, hc.numkong, hc.pynear, hc.plain_numpy)
        libraries = [c for c in (make(work.codes) for make in makers) if c is not None]
        hashes = hc.multi_hash(work.codes)
        for noise in (0.05, 0.1, None):
            queries = work.queries(noise, hc.RANDOM if noise is None else hc.NEAR)
            lucky, share = hc.lucky_hash(hashes, queries, mine[0].bind(queries)())
            taking_part = [*mine, *libraries, *([lucky] if lucky else [])]
            times = hc.microseconds(taking_part, queries, seconds=size.seconds)
            case = _case(n_codes, n_bits, noise)
            names = (*LIBRARIES, HASH, SCAN, INDEX)
            missed = {"Hash right": f"{share:.1%}" if hashes else "-"}
            rows.append(case | _columns(times, names) | missed)
            ratios.append(case | _ratios(times))
            yield from _versus_bars(n_codes, n_bits, noise, times)
    report("hamming_versus", rows)
    report("hamming_speed_ups", ratios)


def _case(n_codes: int, n_bits: int, noise: float | None) -> dict[str, object]:
    return {"codes": _count(n_codes), "bits": n_bits, "noise": _percent(noise)}


def _count(n: int) -> str:
    return f"{n // 10**6}M" if n % 10**6 == 0 else f"{n // 1000}k"


def _percent(noise: float | None) -> str:
    return "random" if noise is None else f"{100 * noise:.0f} %"


def _columns(times: dict[str, float], names: Iterable[str]) -> dict[str, object]:
    """Return the columns of a table: microseconds per query."""
    rounded = {name: us if us < 1000 else round(us) for name, us in times.items()}
    return {name.removeprefix("FAISS ") + " us": rounded.get(name, "-") for name in names}


def _ratios(times: dict[str, float]) -> dict[str, object]:
    best = min((name for name in LIBRARIES if name in times), key=times.__getitem__)
    return {
        "best library": best,
        "library us": times[best],
        "scan us": times[SCAN],
        "index us": times[INDEX],
        "scan x": times[best] / times[SCAN],
        "index x": times[best] / times[INDEX],
        "index x Hash": times[HASH] / times[INDEX] if HASH in times else "-",
        "index / scan": times[INDEX] / times[SCAN],
    }


def _versus_bars(
    n_codes: int, n_bits: int, noise: float | None, times: dict[str, float]
) -> Iterable[Bar]:
    what = f"{_count(n_codes)} x {n_bits} bits, noise {_percent(noise)}"
    library = min(times[name] for name in LIBRARIES if name in times)
    for name in (SCAN, INDEX):
        limit = SPEED_UPS.get((name, n_codes, n_bits, noise))
        if limit is not None and FLAT in times:
            yield Bar(f"{name}, {what}: times as fast", library / times[name], limit)
    if noise is None:
        yield Bar(f"index / scan, {what}", times[INDEX] / times[SCAN], 1.1, at_least=False)


def sweep(size: Size) -> Iterable[Bar]:
    """Look for queries for which the index is slower than the scan, 256 at once."""
    rows, worst = [], (0.0, "")
    for n_codes, n_bits in size.sweep:
        work = Workload(n_codes, n_bits)
        mine = [hc.ours(work.codes, name)._replace(n_queries=256) for name in (SCAN, INDEX)]
        row: dict[str, object] = {"codes": _count(n_codes), "bits": n_bits}
        for noise in (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, None):
            times = hc.microseconds(mine, work.queries(noise, 256), seconds=size.seconds / 3)
            row[f"ratio {_percent(noise)}"] = ratio = times[INDEX] / times[SCAN]
            what = f"{_count(n_codes)} x {n_bits} bits, noise {_percent(noise)}"
            worst = max(worst, (ratio, what))
        rows.append(row | {"scan us": times[SCAN]})
    report("hamming_sweep", rows)
    yield Bar(f"index / scan at worst: {worst[1]}", worst[0], 1.1, at_least=False)


def growth(size: Size) -> Iterable[Bar]:
    """Fit how time grows with the number of codes: 64 bits, 10 % noise, 100 codes of a class."""
    rows: list[dict[str, Any]] = []
    for n_codes in size.growth:
        work = Workload(n_codes, 64, n_classes=n_codes // 100)
        found = (hc.ours(work.codes, INDEX), hc.ours(work.codes, SCAN), hc.flat(work.codes))
        contestants = [c for c in found if c is not None]
        times = hc.microseconds(contestants, work.queries(0.1, hc.NEAR), seconds=size.seconds)
        rows.append({"codes": n_codes} | _columns(times, times))
    report("hamming_growth", rows)
    fitted = [row for row in rows if row["codes"] <= 4_000_000]
    for name in [name for name in rows[0] if name != "codes"]:
        logs = np.log([[row["codes"], row[name]] for row in fitted])
        exponent = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
        print(f"{name.removesuffix(' us')}: time grows like codes^{exponent:.2f}")
        if name == f"{INDEX} us":
            what = f"growth exponent of the index, {fitted[0]['codes']:,}..{fitted[-1]['codes']:,}"
            yield Bar(what, exponent, 0.6, at_least=False)
    if size.plot:
        draw(rows)


def draw(rows: list[dict[str, Any]]) -> None:
    """Plot time against the number of codes, beside what multi-index hashing promises."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    codes = np.array([row["codes"] for row in rows], dtype=np.float64)
    styles = {"Flat us": "#999999", f"{SCAN} us": "#0072b2", f"{INDEX} us": "#009e73"}
    for name, color in styles.items():
        if name in rows[0]:
            label = {"Flat us": FLAT}.get(name, f"our {name.removesuffix(' us')}")
            axes.loglog(codes, [row[name] for row in rows], "o-", ms=4, color=color, label=label)
    promised = 64 * np.sqrt(codes) / np.log2(codes)
    middle = int(np.argmin(abs(codes - 1e5)))
    promised *= rows[middle][f"{INDEX} us"] / promised[middle]
    formula = r"$c\sqrt{k}\,/\,\log_2 k$, scaled to meet our index once"
    axes.loglog(codes, promised, "--", color="#d55e00", label=formula)
    axes.set_xlabel("codes k (64 bits, 100 of a class; queries with 10 % flipped bits)")
    axes.set_ylabel("microseconds per query, one thread")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=8)
    RESULTS.mkdir(exist_ok=True)
    for path in (PICTURE, RESULTS / PICTURE.name):
        figure.savefig(path, dpi=110, pil_kwargs={"optimize": True})
    plt.close(figure)


def memory(size: Size) -> Iterable[Bar]:
    """Measure what building takes, and what is kept."""
    rows = []
    for n_codes, n_bits in size.memory:
        codes = Workload(n_codes, n_bits).codes
        made: list[Contestant] = []
        for _ in range(3):
            found = (hc.ours(codes, SCAN), hc.ours(codes, INDEX), hc.flat(codes), hc.ivf(codes))
            made += [c for c in (*found, *hc.multi_hash(codes)[:1]) if c is not None]
        for name in dict.fromkeys(c.name for c in made):
            rows.append(_memory_row(n_codes, n_bits, [c for c in made if c.name == name]))
    report("hamming_memory", rows)
    return []


def _memory_row(n_codes: int, n_bits: int, made: list[Contestant]) -> dict[str, object]:
    each, seconds = made[0].bytes_per_code, min(c.build_seconds for c in made)
    return {
        "codes": _count(n_codes),
        "bits": n_bits,
        "contestant": made[0].name,
        "bytes per code": "unknown" if math.isnan(each) else each,
        "build s per million": seconds * 1e6 / n_codes,
    }


def single(size: Size) -> Iterable[Bar]:
    """Time whole Python calls for one query, 64 bits."""
    rows = []
    for n_codes in size.single:
        work = Workload(n_codes, 64)
        found = (hc.ours(work.codes, INDEX), hc.flat(work.codes), hc.pynear(work.codes))
        taking_part = {c.name: c for c in found if c is not None}
        for noise in (0.05, 0.1, None):
            queries = work.queries(noise, 16)
            times = dict.fromkeys(taking_part, 0.0)
            for i in range(len(queries)):
                one = queries.take(slice(i, i + 1))
                best = best_of({name: c.bind(one) for name, c in taking_part.items()}, 30)
                times = {name: us + 1e6 * best[name] / len(queries) for name, us in times.items()}
            row = _case(n_codes, 64, noise) | _columns(times, times)
            if FLAT in times:
                ratio, limit = times[INDEX] / times[FLAT], 2.0 if n_codes <= 12_000 else 1.0
                row |= {"index / Flat": ratio}
                what = f"one query, {_count(n_codes)} codes, noise {_percent(noise)}: index / Flat"
                yield Bar(what, ratio, limit, at_least=False)
            rows.append(row)
    report("hamming_single", rows)


def first(size: Size) -> Iterable[Bar]:
    """Time the first query of a fresh process after ``import numpy``, our own imports included."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        work = Workload(100_000, 64)
        codes = PackedCodes.concatenate([work.queries(0.05, 1), work.codes])
        path = Path(folder) / "codes.npy"
        np.save(path, codes.words)
        for how in ("plain", "prepared"):
            total, search = min(hc.first_query(path, how) for _ in range(size.turns))
            rows.append({"what": how, "all s": total, "search s": search})
            yield Bar(f"first query, {how}: s", total, 0.4, at_least=False)
    report("hamming_first", rows)


def busy(size: Size) -> Iterable[Bar]:
    """Build an index ten times beside processes that keep all cores busy: all choose as well.

    Queries take turns, and are timed by the processor time of this thread.
    """
    rows = []
    for n_bits, noise in ((64, 0.05), (64, 0.1), (64, None), (256, 0.05), (256, None)):
        each = _builds(Workload(100_000, n_bits), noise, max(20, int(20 * size.seconds)))
        rows.append(_case(100_000, n_bits, noise) | {"best us": min(each), "worst us": max(each)})
        what = f"ten builds, all cores busy, {n_bits} bits, noise {_percent(noise)}: worst / best"
        yield Bar(what, max(each) / min(each), 1.3, at_least=False)
    report("hamming_busy", rows)


def _builds(work: Workload, noise: float | None, turns: int) -> list[float]:
    """Return the microseconds per query of each of ten builds."""
    queries = work.queries(noise, 512)
    others = [subprocess.Popen([sys.executable, "-c", LOOP]) for _ in range(os.cpu_count() or 1)]
    try:
        made = [HammingIndex(work.codes, method="multi_index") for _ in range(10)]
        best = [math.inf] * len(made)
        for _ in range(turns):
            for i, index in enumerate(made):
                start = time.thread_time()
                index.search(queries)
                best[i] = min(best[i], time.thread_time() - start)
    finally:
        for other in others:
            other.kill()
            other.wait()
    return [1e6 * seconds / len(queries) for seconds in best]


def trained(size: Size) -> Iterable[Bar]:
    """Search the training codes of models that were really trained, for test codes."""
    rows = []
    for name, parts in map(_parts, size.trained):
        train, _, test = parts
        model = DSNCClassifier(n_bits=64, max_epochs=5, random_state=0)
        model.fit(train.X, train.y, validation=(parts.validation.X, parts.validation.y))
        codes, queries = model.encode(train.X).unique().codes, model.encode(test.X)
        found = (hc.ours(codes, INDEX), hc.ours(codes, SCAN), hc.flat(codes))
        times = hc.microseconds([c for c in found if c is not None], queries, seconds=size.seconds)
        near = float(found[0].bind(queries)().mean())
        row: dict[str, object] = {"data": name, "codes": len(codes), "d": near}
        row |= _columns(times, times)
        if FLAT in times:
            row |= {"index x": times[FLAT] / times[INDEX]}
        index = HammingIndex(codes, method="multi_index")
        done = np.zeros(len(queries), dtype=bool)
        lookups, found_rows, _ = _native.probe(index.native, queries.words, done, 1)
        row |= {"looked up": done.mean(), "lookups": lookups / len(queries)}
        row |= {"found": found_rows / len(queries)}
        rows.append(row)
    if rows:
        report("hamming_trained", rows)
    return []


def _parts(source: str) -> tuple[str, Split]:
    if source != "dense_codes":
        return load(source)
    return source, make_dense_codes(20_000, 1000, 64, bit_noise=0.05).split()


def main() -> None:
    """Read the command line, measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    sections = (versus, sweep, growth, memory, single, first, busy, trained)
    names = [section.__name__ for section in sections]
    parser.add_argument("--quick", action="store_true", help="up to 100,000 codes; a minute")
    parser.add_argument("--full", action="store_true", help="up to 10,000,000 codes")
    parser.add_argument("--plot", action="store_true", help=f"draw {PICTURE.name}")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="SECTION")
    parser.add_argument("--data", nargs="+", metavar="DATA", help="train on these instead")
    given = parser.parse_args()
    size = FULL if given.full else QUICK if given.quick else DEFAULT
    size = size._replace(plot=given.plot, trained=tuple(given.data or size.trained))
    bars: list[Bar] = []
    for section in sections:
        if section.__name__ in given.only:
            bars += section(size)
    if bars:
        report("hamming_bars", [bar.row() for bar in bars])


if __name__ == "__main__":
    main()
