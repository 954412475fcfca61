"""What a second stage is worth, what it costs, and what of it matters.

python benchmarks/bench_reranker.py [DATA...] [--bits 24 64] [--seeds 0 1 2] [--ablation]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A model is trained
twice for each number of bits and seed, without and with a second stage (`reranker=None` and
"auto"): seconds of `fit`, accuracy and calibration error of test rows, microseconds a row of the
whole `predict` of many rows and of one, on one thread, both in turns, and bytes of the folder. With
``--ablation`` settings of the second stage are changed one at a time, on the same first stage, and
its losses by scikit-learn's liblinear.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.fast import class_vectors
from dsnc.metrics import expected_calibration_error
from dsnc.selection import VectorTrainer
from dsnc.selection.second_stage import add_second_stage, parse_reranker
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from harness import best_of, report

SINGLE = 300  # rows, one at a time
ABLATIONS: dict[str, dict[str, Any]] = {
    "as chosen": {},
    "8 candidates": {"size": 8},
    "16 candidates": {"size": 16},
    "50 candidates": {"size": 50},
    "200 candidates": {"size": 200},
    "no cascade": {"reach": 1e30},
    "a tenth of the budget": {"budget": 800_000},
    "a hundredth of the budget": {"budget": 80_000},
    "C = 0.3": {"C": 0.3},
    "C = 30": {"C": 30.0},
    "features alone": {"mix": 0.0, "reach": 1e30},
}
LOSSES = {
    **{
        f"hinge, C = {C}": LinearSVC(C=C, loss="hinge", max_iter=10_000, random_state=0)
        for C in (1, 3)
    },
    **{f"logistic loss, C = {C}": LogisticRegression(C=C, solver="liblinear") for C in (10, 100)},
}


def measure(parts: Any, options: dict[str, Any]) -> list[dict[str, object]]:
    """Train without and with a second stage; return a row of figures for each."""
    train, validation, test = parts
    models, figures = {}, {}
    for name, reranker in (("none", None), ("auto", "auto")):
        begin = time.perf_counter()
        model = DSNCClassifier(**options, reranker=reranker)
        model.fit(train.X, train.y, validation=(validation.X, validation.y))
        models[name] = model
        figures[name] = {"fit s": time.perf_counter() - begin, **quality(model, test)}
    with threadpool_limits(1):
        many = best_of({n: lambda m=m: m.predict(test.X) for n, m in models.items()})
        rows = [test.X[i : i + 1] for i in range(min(SINGLE, len(test.y)))]
        one = {n: lambda m=m: [m.predict(row) for row in rows] for n, m in models.items()}
        single = best_of(one)
    for name in models:
        figures[name]["us a row"] = 1e6 * many[name] / len(test.y)
        figures[name]["us alone"] = 1e6 * single[name] / len(rows)
    return [{"reranker": name, **of_model} for name, of_model in figures.items()]


def quality(model: Any, test: Any) -> dict[str, object]:
    """Return accuracy, honesty and size of a model."""
    classes, probabilities = model.predict_top_k(test.X, k=1)
    right = classes[:, 0] == test.y
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        size = sum(file.stat().st_size for file in (Path(folder) / "model").iterdir())
    return {
        "taken": model.predictor_.reranker is not None,
        "test %": 100 * right.mean(),
        "ECE": expected_calibration_error(right, np.minimum(probabilities[:, 0], 1)),
        "MB": size / 1e6,
    }


def by(estimator: Any) -> Callable[..., Any]:
    """Return what trains class vectors on the same rows by an estimator of scikit-learn."""

    def train(feed: Any, candidates: Any, n_classes: int, recipe: Any, **_: Any) -> Any:
        problems = class_vectors._Problems(feed, candidates, n_classes, recipe)
        bias = np.zeros(n_classes, np.float32)
        kept = class_vectors._Kept(recipe.n_weights)
        lean = class_vectors._LEAN if feed.scaling.unit_rows else 0.0
        for k in range(n_classes):
            mine = slice(problems._starts[k], problems._starts[k + 1])
            positive = problems._positive[mine].astype(bool)
            X = feed.features(problems._rows[mine].astype(np.int64))
            model = clone(estimator).fit(X, positive)
            center = np.asarray(X[positive].mean(axis=0)).ravel()
            vector = model.coef_[0] + lean * center / np.linalg.norm(center)
            bias[k] = model.intercept_[0]
            named = np.flatnonzero(np.abs(vector) >= class_vectors._LEAST)
            kept.add(np.full(len(named), k), named, vector[named].astype(np.float32))
        owners, features, weights = kept.largest()
        found = sp.csr_array((weights, (owners, features)), shape=(n_classes, feed.n_features))
        return class_vectors._unscaled(found, bias, feed.scaling)

    return train


def ablate(parts: Any, options: dict[str, Any]) -> list[dict[str, object]]:
    """Return what becomes of one model with other settings of the second stage."""
    train, validation, test = parts
    model = DSNCClassifier(**options, reranker=None)
    model.fit(train.X, train.y, validation=(validation.X, validation.y))
    labels, predictor, evidence = model._labels, model.predictor_, model._evidence
    numbers = [labels.numbers(part.y) for part in (train, test)]
    examples = Examples(train.X, Targets(numbers[0], len(labels)))
    trainer = VectorTrainer(predictor, examples, "auto", 0)
    table = []
    changed = {
        "no center": patch.object(class_vectors, "_LEAN", 0.0),
        **{
            name: patch.object(class_vectors, "train_class_vectors", by(estimator))
            for name, estimator in LOSSES.items()
        },
    }
    for name in (*ABLATIONS, *changed):
        wanted = parse_reranker({"name": "features", **ABLATIONS.get(name, {})})
        with changed.get(name, nullcontext()):
            found = add_second_stage(
                predictor.decoder, replace(evidence, train_vectors=trainer), wanted
            )
        both = predictor.with_decoder(found.decoder, None, found.reranker)
        with threadpool_limits(1):
            seconds = best_of({name: lambda both=both: both.predict(test.X)}, 3)[name]
        row = {"second stage": name, "test %": 100 * (both.predict(test.X) == numbers[1]).mean()}
        row |= {"us a row": 1e6 * seconds / len(test.y), "weights": len(found.reranker.vectors)}
        table.append({**row, "candidates": found.reranker.size, "mix": found.reranker.mix})
    first = {"second stage": "none", "test %": 100 * model.score(test.X, test.y)}
    return [first | dict.fromkeys(list(table[0])[2:]), *table]


def main() -> None:
    """Measure all data, numbers of bits and seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["glyphs"])
    parser.add_argument("--bits", type=int, nargs="+", default=[64])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--ablation", action="store_true")
    arguments = parser.parse_args()
    table: list[dict[str, object]] = []
    for data in arguments.data:
        name, parts = load(data)
        for bits in arguments.bits:
            for seed in arguments.seeds:
                options = {"n_bits": bits, "random_state": seed}
                rows = (ablate if arguments.ablation else measure)(parts, options)
                known = {"data": name, "bits": bits, "seed": seed}
                table += [{**known, **row} for row in rows]
                print(*table[-len(rows) :], sep="\n", flush=True)
    report("reranker_ablation" if arguments.ablation else "reranker", table)


if __name__ == "__main__":
    main()
