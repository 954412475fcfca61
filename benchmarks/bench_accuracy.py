"""Test accuracy and training speed of the linear decoder on data sets of your own.

python benchmarks/bench_accuracy.py [DATA...] [--bits 24 36 100] [--recipe paper] [--seeds 0 1 2]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A predefined split is
used, or 80/10/10. Sparse rows of whole numbers are counts and become (1 + log tf) * idf, and dense
integers are divided by the largest; under the paper's recipe features stay as they are in the file.
"""

import argparse
import time

from dsnc.classifier import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.data import Split
from dsnc.paper.experiments import Source
from dsnc.paper.experiments.prepare import prepare
from harness import report

RECIPES = {
    "default": {"decoder": "linear", "reranker": None},
    "paper": PAPER,
    "paper_regularized": PAPER_REGULARIZED,
}


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
    return {
        "data": name,
        "bits": classifier.n_bits,
        "seed": classifier.random_state,
        "test %": 100 * classifier.score(test.X, test.y),
        "validation %": 100 * (classifier.history_.best_accuracy or 0.0),
        "epochs": classifier.n_iter_,
        "s": seconds,
        "rows/s": classifier.n_iter_ * len(train) / seconds,
        "codes": len(classifier.encode(train.X).unique().codes),
    }


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=["glyphs"], help="names, folders or files")
    parser.add_argument("--bits", nargs="+", type=int, default=[64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--recipe", choices=RECIPES, default="default")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="other settings")
    arguments = parser.parse_args()
    chosen = dict(item.split("=", 1) for item in arguments.set)
    settings = {**RECIPES[arguments.recipe], **{k: _value(v) for k, v in chosen.items()}}
    rows = []
    for path in arguments.data:
        name, parts = load(path, arguments.recipe)
        for n_bits in arguments.bits:
            for seed in arguments.seeds:
                options = {**settings, "n_bits": n_bits, "random_state": seed}
                rows.append({"recipe": arguments.recipe, **measure(name, parts, options)})
                print(rows[-1], flush=True)
    report("accuracy", rows)


def _value(text: str) -> object:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)


if __name__ == "__main__":
    main()
