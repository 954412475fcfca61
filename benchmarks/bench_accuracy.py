"""Test accuracy of whole models on data sets of your own, beside an MLP of the same width.

python benchmarks/bench_accuracy.py [DATA...] [--bits 24 64] [--recipe paper] [--seeds 0 1] [--mlp]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A predefined split is
used, or 80/10/10. Sparse rows of whole numbers are counts and become (1 + log tf) * idf, and dense
integers are divided by the largest; under the paper's recipe features stay as they are in the file.
With ``--mlp`` an MLP of as many hidden units is trained with label smoothing 0 and 0.1; the better
one on validation rows counts.
"""

import argparse
import time

from dsnc.baselines import MLPBaseline
from dsnc.classifier import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.data import Split
from dsnc.metrics import expected_calibration_error
from dsnc.paper.experiments import Source
from dsnc.paper.experiments.prepare import prepare
from harness import report, settings_of

RECIPES = {"default": {}, "paper": PAPER, "paper_regularized": PAPER_REGULARIZED}
SMOOTHING = (0.0, 0.1)


def load(path: str, recipe: str = "default") -> tuple[str, Split]:
    """Return the parts of a data set, features as the recipe has them."""
    prepared = prepare(Source(path=path), "tfidf" if recipe == "default" else "none")
    return prepared.name, prepared.parts


def measure(name: str, parts: Split, options: dict[str, object]) -> dict[str, object]:
    """Fit once; return a row of the table."""
    train, validation, test = parts
    classifier = DSNCClassifier(**options)
    start = time.perf_counter()
    classifier.fit(train.X, train.y, validation=(validation.X, validation.y))
    seconds = time.perf_counter() - start
    labels, probabilities = classifier.predict_top_k(test.X, k=5)
    right = labels == test.y[:, None]
    return {
        "data": name,
        "bits": classifier.n_bits,
        "seed": classifier.random_state,
        "test %": 100 * float(right[:, 0].mean()),
        "top-5 %": 100 * float(right.any(axis=1).mean()),
        "ECE": expected_calibration_error(right[:, 0], probabilities[:, 0]),
        "second stage": "yes" if classifier.predictor_.reranker is not None else "",
        "decoder": classifier.predictor_.decoder.name,
        "epochs": classifier.n_iter_,
        "s": seconds,
        "codes": len(classifier.encode(train.X).unique().codes),
    }


def mlp_accuracy(parts: Split, n_units: int, seed: int) -> float:
    """Return the test accuracy in % of an MLP, smoothed as suits the validation rows."""
    train, validation, test = parts
    found = []
    for smoothing in SMOOTHING:
        model = MLPBaseline(n_units=n_units, label_smoothing=smoothing, random_state=seed)
        model.fit(train.X, train.y, validation=(validation.X, validation.y))
        scores = (model.score(part.X, part.y) for part in (validation, test))
        found.append(tuple(scores))
    return 100 * float(max(found)[1])


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=["glyphs"], help="names, folders or files")
    parser.add_argument("--bits", nargs="+", type=int, default=[64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--recipe", choices=RECIPES, default="default")
    parser.add_argument("--mlp", action="store_true", help="an MLP of the same width beside it")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="other settings")
    arguments = parser.parse_args()
    settings = {**RECIPES[arguments.recipe], **settings_of(arguments.set)}
    rows = []
    for path in arguments.data:
        name, parts = load(path, arguments.recipe)
        for n_bits in arguments.bits:
            for seed in arguments.seeds:
                options = {**settings, "n_bits": n_bits, "random_state": seed}
                rows.append({"recipe": arguments.recipe, **measure(name, parts, options)})
                if arguments.mlp:
                    rows[-1]["MLP %"] = mlp_accuracy(parts, n_bits, seed)
                print(rows[-1], flush=True)
    report("accuracy", rows)


if __name__ == "__main__":
    main()
