"""Classes that come to a model that is there: what old and new ones are worth, and what it takes.

python benchmarks/bench_additions.py [DATA...] [--choices 0 1 2] [--bits 64] [--rows 1 5]
python benchmarks/bench_additions.py --growth [CLASSES...]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A fifth of the classes
is held back, drawn at random by each of the choices. It comes in ten additions of as many classes;
after each, test rows of old classes, and of those that have come, are predicted with all classes as
candidates. Beside them stands a model that is fitted to everything, and one that all come to at
once, of all their training rows and (--rows) of a few rows each, drawn at random. Before any comes,
the model is asked how strange test rows are: those of old classes, and of those that will come.
What a row of `predict` takes is told each time.

--growth: what the processor takes to add one class, and a thousand, of five rows each, to models of
more and more classes: the first time, and again. And a row of `predict` before and after. The
encoder is learned from few classes; the vectors of many are the middle of two rows each.
"""

import argparse
import copy
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.codes import PackedCodes
from dsnc.codes.soft import SoftCodes
from dsnc.data import make_dense_codes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.memory import Memory, some_of_each
from dsnc.labels import Labels
from dsnc.metrics import novelty_auroc
from harness import report

SHARE, ADDITIONS, REPEAT = 0.2, 10, 3
SIZES, A_CLASS, ROWS, MANY = [10_000, 100_000, 1_000_000], 2, 5, 1000
SHAPE = {"n_features": 64, "n_bits": 64}


def measure(
    path: str, choices: list[int], n_bits: int, few: list[int]
) -> Iterator[dict[str, object]]:
    """Let a fifth of the classes come, for each choice of them; yield rows of the table."""
    name, parts = load(path)
    anew = DSNCClassifier(n_bits=n_bits, random_state=0)
    anew.fit(parts[0].X, parts[0].y, validation=(parts[1].X, parts[1].y))
    for choice in choices:
        yield from compared(name, parts, anew, choice, few)


def compared(
    name: str, parts: Any, anew: DSNCClassifier, choice: int, few: list[int]
) -> list[dict[str, object]]:
    """Let a choice of classes come; return rows of the table."""
    train, validation, test = parts
    classes = np.unique(train.y)
    new = np.random.default_rng(choice).permutation(classes)[: int(SHARE * len(classes))]
    old_rows, old_held = (~np.isin(part.y, new) for part in (train, validation))
    held = validation.X[old_held], validation.y[old_held]
    model = DSNCClassifier(n_bits=anew.n_bits, random_state=0)
    model.fit(train.X[old_rows], train.y[old_rows], validation=held)
    table = []

    def row(how: str, judged: Any, come: Any, seconds: float | None = None) -> None:
        right = judged.predict(test.X) == test.y
        of_old, of_new = ~np.isin(test.y, new), np.isin(test.y, come)
        found: dict[str, object] = {"data": name, "choice": choice, "how": how, "come": len(come)}
        found["old %"] = 100 * float(right[of_old].mean())
        found["new %"] = 100 * float(right[of_new].mean()) if len(come) else None
        table.append({**found, "s": seconds, "us/row": microseconds(judged, test)})

    row("anew", anew, new)
    row("ten additions", model, new[:0])
    table[-1] |= novelty(model, test, np.isin(test.y, new))
    for n_rows in [*few, None]:
        grown, places = copy.deepcopy(model), np.flatnonzero(~old_rows)
        if n_rows is not None:  # at random: neighbors in a file may be alike
            places = places[some_of_each(train.y[places], n_rows, choice)]
        seconds = added(grown, train, places)
        row("one addition" if n_rows is None else f"{n_rows} rows", grown, new, seconds)
    edges = np.linspace(0, len(new), ADDITIONS + 1).astype(int)
    for start, stop in zip(edges, edges[1:], strict=False):
        seconds = added(model, train, np.flatnonzero(np.isin(train.y, new[start:stop])))
        row("ten additions", model, new[:stop], seconds)
    return table


def novelty(model: Any, data: Any, is_new: Any) -> dict[str, object]:
    """Tell how well rows of classes that have not come yet are told from others."""
    strange, answers = model.novelty(data.X), model.predict(data.X[~is_new], unknown=-1)
    lost = 100 * float(np.mean(answers == -1))
    return {"AUROC": novelty_auroc(strange[~is_new], strange[is_new]), "known rows lost %": lost}


def added(model: Any, data: Any, rows: Any) -> float:
    """Add the classes of some rows; return the seconds of the processor."""
    start = time.process_time()
    model.add_classes(data.X[rows], data.y[rows])
    return time.process_time() - start


def growth(sizes: list[int]) -> list[dict[str, object]]:
    """Time additions to models of more and more classes."""
    small = make_dense_codes(20 * MANY, MANY, **SHAPE)
    model = DSNCClassifier(n_bits=64, max_epochs=5, random_state=0, reranker=None)
    model.fit(small.X, small.y)
    return [grown(copy.copy(model), n_classes) for n_classes in sizes]


def grown(model: Any, n_classes: int) -> dict[str, object]:
    """Give a model as many classes, then let others come; return a row of the table."""
    n_all = n_classes + MANY + 3
    test = make_dense_codes(10 * MANY, n_all, part=1, **SHAPE)
    known = test.y < n_classes
    given_classes(model, n_classes, n_all, (test.X[known], test.y[known]))
    parts = [make_dense_codes(n_all, n_all, part=part, **SHAPE) for part in range(2, 2 + ROWS)]
    X, y = (
        np.concatenate([getattr(part, name)[part.y >= n_classes] for part in parts])
        for name in ("X", "y")
    )
    row: dict[str, object] = {"classes": n_classes}
    row["us/row before"] = microseconds(model, test)
    for what, first, last in (
        ("first", 0, 1),
        ("one", 1, 2),
        ("one more", 2, 3),
        ("a thousand", 3, 3 + MANY),
    ):
        rows = np.flatnonzero((y >= n_classes + first) & (y < n_classes + last))
        start = time.process_time()
        model.add_classes(X[rows], y[rows])
        row[f"{what}, ms"] = 1000 * (time.process_time() - start)
        if what == "one more":
            row["us/row then"] = microseconds(model, test)
    row["us/row after"] = microseconds(model, test)
    old, new = (100 * model.score(*pair) for pair in ((test.X[known], test.y[known]), (X, y)))
    return {**row, "old %": old, "new %": new}


def given_classes(model: Any, n_classes: int, n_all: int, held_out: Any) -> None:
    """Replace the classes of a model by others: their vectors are the middle of two rows each."""
    data = make_dense_codes(A_CLASS * n_all, n_all, **SHAPE)
    rows = np.flatnonzero(data.y < n_classes)
    y, predictor = data.y[rows].astype(np.int64), model.predictor_
    logits = predictor.logits(data.X[rows])
    sums = np.zeros((n_classes, 64), np.float32)
    np.add.at(sums, y, np.tanh(logits / 2))
    length = np.linalg.norm(predictor.decoder.linear.weight, axis=1).mean()
    sums *= length / np.linalg.norm(sums, axis=1, keepdims=True)
    linear = LinearDecoder(sums, np.zeros(n_classes, np.float32))
    decoder = ShortlistDecoder(linear, PackedCodes.from_logits(sums), np.arange(n_classes))
    memory = (
        Memory.empty(64, n_classes)
        .with_rows(SoftCodes.from_logits(logits), y, A_CLASS, 0)
        .counting(y)
    )
    memory = memory.with_held_out(SoftCodes.from_logits(predictor.logits(held_out[0])), held_out[1])
    model.predictor_, model._memory = predictor.with_decoder(decoder), memory
    model._labels = Labels(np.arange(n_classes))


def microseconds(model: Any, test: Any) -> float:
    """Return what a row of many takes, at the least of some times."""
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        model.predict(test.X)
        times.append(time.process_time() - start)
    return 1e6 * min(times) / len(test.y)


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
            for row in measure(path, arguments.choices, arguments.bits, arguments.rows)
        ]
    report("additions", rows)


if __name__ == "__main__":
    main()
