"""The baselines beside scikit-learn's: test accuracy, time of fit, time of predict.

python benchmarks/bench_baselines.py [--data FOLDER...] [--bits 24 60] [--C 1] [--only ecoc ...]

Without data, two synthetic sets: sparse documents and dense rows. Everything runs in one process
with one thread of torch, as liblinear has one; of several values of C each contestant takes the one
with the best validation accuracy, and its time is that of that one fit.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from sklearn.multiclass import OutputCodeClassifier
from sklearn.svm import LinearSVC

from bench_accuracy import load
from dsnc.baselines import (
    ECOCBaseline,
    MLPBaseline,
    NearestCentroidBaseline,
    OneVsRestBaseline,
)
from dsnc.data import Dataset, Split, make_dense_codes, make_sparse_topics
from harness import best_of, report

SINGLE = 20  # rows that are asked for one by one
RATIOS = {"fit ratio": "fit s", "row ratio": "µs/row", "single ratio": "µs single"}
GROUPS = ("one_vs_rest", "ecoc", "mlp", "nearest_centroid")


def synthetic() -> Iterator[tuple[str, Split]]:
    """Make small data sets of both kinds."""
    documents = make_sparse_topics(5000, 200, 5000, words_per_row=24)
    X = documents.X
    for name in ("indices", "indptr"):  # LinearSVC takes no others
        setattr(X, name, getattr(X, name).astype("int32"))
    yield (
        "documents",
        Dataset(X, documents.y, documents.classes).split(0.8, 0.1, 0.1, random_state=0),
    )
    yield "dense codes", make_dense_codes(5000, 200, 64).split(0.8, 0.1, 0.1, random_state=0)


def contestants(
    bits: Iterable[int], n_classes: int
) -> Iterator[tuple[str, str, bool, Callable[..., Any]]]:
    """Yield group, name, whether C matters, and what makes the estimator."""
    yield "one_vs_rest", "LinearSVC", True, lambda C: LinearSVC(C=C)
    yield "one_vs_rest", "OneVsRestBaseline", True, lambda C: OneVsRestBaseline(C=C)
    for n in bits:
        theirs = {"code_size": n / n_classes, "random_state": 0}
        yield (
            f"ecoc {n}",
            "OutputCodeClassifier",
            True,
            lambda C, o=theirs: OutputCodeClassifier(LinearSVC(C=C), **o),
        )
        for decoding in ("soft", "hamming"):
            options = {"n_bits": n, "decoding": decoding}
            yield (
                f"ecoc {n}",
                f"ECOCBaseline {decoding}",
                True,
                lambda C, o=options: ECOCBaseline(C=C, **o),
            )
    for n in bits:
        yield f"mlp {n}", "MLPBaseline", False, lambda n=n: MLPBaseline(n_units=n)
    yield "nearest_centroid", "NearestCentroidBaseline", False, NearestCentroidBaseline


def fit(model: Any, train: Dataset, validation: Dataset) -> float:
    """Fit; return the seconds. Only what has epochs to choose from is shown validation rows."""
    start = time.perf_counter()
    if isinstance(model, MLPBaseline):
        model.fit(train.X, train.y, validation=(validation.X, validation.y))
    else:
        model.fit(train.X, train.y)
    return time.perf_counter() - start


def measure(
    make: Callable[..., Any], matters: bool, Cs: list[float], parts: Split
) -> dict[str, Any]:
    """Fit the estimator, with the best C where it matters; return its figures."""
    train, validation, test = parts
    fitted = []
    for C in Cs if matters else [None]:
        model = make(C) if matters else make()
        seconds = fit(model, train, validation)
        fitted.append((model.score(validation.X, validation.y), C, model, seconds))
    right, C, model, seconds = max(fitted, key=lambda entry: entry[0])
    rows = [test.X[i : i + 1] for i in range(SINGLE)]
    model.predict(test.X[:2])  # whatever is made at the first use
    times = best_of(
        {
            "batch": lambda: model.predict(test.X),
            "single": lambda: [model.predict(row) for row in rows],
        },
        repeat=3,
    )
    return {
        "C": "" if C is None else f"{C:g}",
        "validation %": 100 * right,
        "test %": 100 * model.score(test.X, test.y),
        "fit s": seconds,
        "µs/row": 1e6 * times["batch"] / len(test),
        "µs single": 1e6 * times["single"] / SINGLE,
    }


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", nargs="*", default=[], help="folders or files")
    parser.add_argument("--bits", nargs="+", type=int, default=[24])
    parser.add_argument("--C", nargs="+", type=float, default=[1.0])
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=GROUPS)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    sets = map(load, arguments.data) if arguments.data else synthetic()
    for data, parts in sets:
        theirs: dict[str, dict[str, Any]] = {}  # figures of scikit-learn's, which comes first
        for group, name, matters, make in contestants(arguments.bits, parts.train.n_classes):
            if group.split()[0] not in arguments.only:
                continue
            figures = measure(make, matters, arguments.C, parts)
            first = theirs.setdefault(group, figures)
            ratios = {ratio: first[took] / figures[took] for ratio, took in RATIOS.items()}
            rows.append({"data": data, "group": group, "model": name, **figures, **ratios})
            print(rows[-1], flush=True)
    report("baselines", rows)


if __name__ == "__main__":
    main()
