"""Classes that come to a model that is there: what old and new ones are worth, and what it takes.

python benchmarks/bench_additions.py [DATA...] [--choices 0 1 2] [--bits 64] [--rows 1 5]
python benchmarks/bench_additions.py --growth [CLASSES...]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A fifth of the classes
is held back, drawn at random by each of the choices. It comes in ten additions of as many classes;
after each, test rows of old classes, and of those that have come, are predicted with all classes as
candidates. Beside them stands a model that is fitted to everything, and one that all come to at
once, of all their training rows and (--rows) of a few rows each.

--growth: seconds to add one class, and a thousand, of five rows each, to models of more and more
classes: the first time, and again. And microseconds a row of `predict` before and after.
"""

import argparse
import copy
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.data import make_dense_codes
from harness import best_of, report

SHARE, ADDITIONS = 0.2, 10
SIZES, A_CLASS, ROWS, MANY = [10_000, 100_000, 1_000_000], 2, 5, 1000
SHAPE = {"n_features": 64, "n_bits": 64}


def measure(
    name: str, parts: Any, choice: int, n_bits: int, few: list[int]
) -> list[dict[str, object]]:
    """Let a fifth of the classes come; return rows of the table."""
    train, validation, test = parts
    classes = np.unique(train.y)
    new = np.random.default_rng(choice).permutation(classes)[: int(SHARE * len(classes))]
    old_rows, old_held = (~np.isin(part.y, new) for part in (train, validation))
    settings: dict[str, Any] = {"n_bits": n_bits, "random_state": 0}
    held = validation.X[old_held], validation.y[old_held]
    model = DSNCClassifier(**settings).fit(train.X[old_rows], train.y[old_rows], validation=held)
    anew = DSNCClassifier(**settings)
    anew.fit(train.X, train.y, validation=(validation.X, validation.y))
    table = []

    def row(how: str, judged: Any, come: Any, seconds: float | None = None) -> None:
        right = judged.predict(test.X) == test.y
        of_old, of_new = ~np.isin(test.y, new), np.isin(test.y, come)
        found: dict[str, object] = {"data": name, "choice": choice, "how": how, "come": len(come)}
        found["old %"] = 100 * float(right[of_old].mean())
        found["new %"] = 100 * float(right[of_new].mean()) if len(come) else None
        table.append({**found, "s": seconds})

    row("anew", anew, new)
    row("ten additions", model, new[:0])
    for n_rows in [*few, None]:
        grown, places = copy.deepcopy(model), np.flatnonzero(~old_rows)
        if n_rows is not None:
            parts_ = [np.flatnonzero(train.y == k)[:n_rows] for k in new]
            places = np.concatenate(parts_)
        seconds = added(grown, train, places)
        row("one addition" if n_rows is None else f"{n_rows} rows", grown, new, seconds)
    edges = np.linspace(0, len(new), ADDITIONS + 1).astype(int)
    for start, stop in zip(edges, edges[1:], strict=False):
        seconds = added(model, train, np.flatnonzero(np.isin(train.y, new[start:stop])))
        row("ten additions", model, new[:stop], seconds)
    return table


def added(model: Any, data: Any, rows: Any) -> float:
    """Add the classes of some rows; return the seconds of the processor."""
    start = time.process_time()
    model.add_classes(data.X[rows], data.y[rows])
    return time.process_time() - start


def growth(sizes: list[int]) -> list[dict[str, object]]:
    """Time additions to models of more and more classes."""
    table = []
    for n_classes in sizes:
        n_all = n_classes + MANY + 4
        train = make_dense_codes(A_CLASS * n_all, n_all, **SHAPE)
        test = make_dense_codes(MANY, n_all, part=1, **SHAPE)
        come = make_dense_codes(ROWS * n_all, n_all, part=2, **SHAPE)
        is_known, order = train.y < n_classes, np.argsort(come.y, kind="stable")
        edges = np.searchsorted(come.y[order], np.arange(n_all + 1))
        model = DSNCClassifier(n_bits=64, max_epochs=1, random_state=0, reranker=None)
        model.fit(train.X[is_known], train.y[is_known])
        before = best_of({"": lambda m=model: m.predict(test.X)})[""]
        row: dict[str, object] = {"classes": n_classes}
        for what, first, last in (
            ("first", n_classes, n_classes + 1),
            ("one more", n_classes + 1, n_classes + 2),
            ("another", n_classes + 2, n_classes + 3),
            ("thousand", n_classes + 3, n_all),
        ):
            rows = order[edges[first] : edges[last]]
            start = time.perf_counter()
            model.add_classes(come.X[rows], come.y[rows])
            row[f"{what}, ms"] = 1000 * (time.perf_counter() - start)
        after = best_of({"": lambda m=model: m.predict(test.X)})[""]
        is_new = test.y >= n_classes
        right = model.predict(test.X) == test.y
        row |= {"old %": 100 * right[~is_new].mean(), "new %": 100 * right[is_new].mean()}
        row |= {f"us/row {k}": 1e6 * s / MANY for k, s in (("before", before), ("after", after))}
        table.append(row)
    return table


def main() -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=["glyphs"], help="names, folders or files")
    parser.add_argument("--choices", nargs="+", type=int, default=[0])
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--rows", nargs="*", type=int, default=[1, 5])
    parser.add_argument("--growth", nargs="*", type=int, help="instead, with more and more classes")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.growth is not None:
            report("additions_growth", growth(arguments.growth or SIZES))
            return
        rows = [
            row
            for path in arguments.data
            for choice in arguments.choices
            for row in measure(*load(path), choice, arguments.bits, arguments.rows)
        ]
    report("additions", rows)


if __name__ == "__main__":
    main()
