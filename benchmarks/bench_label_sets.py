"""P@k, PSP@k and F1 of label sets on data sets of your own: the mean over seeds.

python benchmarks/bench_label_sets.py [DATA...] [--bits 200] [--seeds 0 1 2] [--tfidf | --texts]
    [--set max_epochs=55 'reranker={"name": "features", "size": 32}']

DATA are what `dsnc.data.load_dataset` reads as label sets. A predefined split is used, or 80/10/10;
where there are no validation rows, `fit` holds some out. Features are as they are in the file; with
``--tfidf`` words are weighed, and with ``--texts`` rows are the strings of texts.jsonl.gz, in a
folder that has a split. Values of settings are JSON, or plain words.
"""

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfTransformer

from dsnc import DSNCMultiLabelClassifier
from dsnc.data import Split, load_dataset
from dsnc.metrics import f1_of_sets, precision_at_k, propensities, psprecision_at_k
from harness import report, settings_of

KS = (1, 3, 5)


def load(path: str, rows: str) -> tuple[str, Split, list[Any]]:
    """Return the name and the parts of a data set, and the rows of each part."""
    data = load_dataset(path)
    parts = data.predefined_split() if data.splits else data.split()
    X = [part.X for part in parts]
    if rows == "tfidf":
        weigh = TfidfTransformer(sublinear_tf=True).fit(X[0])
        X = [weigh.transform(part) if part.shape[0] else part for part in X]
    elif rows == "texts":
        if not data.splits:
            raise SystemExit(f"{path} has no split, which --texts needs.")
        with gzip.open(Path(path) / "texts.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = np.array([json.loads(line)["text"] for line in file], dtype=object)
        X = [texts[data.splits[name]].tolist() for name in Split._fields]
    return data.name, parts, X


def measure(parts: Split, X: list[Any], options: dict[str, Any]) -> dict[str, float]:
    """Fit once; return the figures of the test rows, in percent."""
    Y = [part.targets.classes for part in parts]
    start = time.perf_counter()
    model = DSNCMultiLabelClassifier(**options)
    model.fit(X[0], Y[0], validation=(X[1], Y[1]) if len(parts.validation) else None)
    seconds = time.perf_counter() - start
    best, _ = model.predict_top_k(X[2], k=max(KS))
    sets = model.predict(X[2])
    rarity = propensities(Y[0])
    figures = {
        "P": precision_at_k(Y[2], best, KS),
        "PSP": psprecision_at_k(Y[2], best, KS, propensity=rarity),
    }
    shares = {f"{name}@{k}": v for name, at in figures.items() for k, v in zip(KS, at, strict=True)}
    shares |= {f"{name} F1": f1_of_sets(Y[2], sets, name) for name in ("micro", "samples")}
    return {name: 100 * float(share) for name, share in shares.items()} | {"s": seconds}


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", help="names, folders or files; none, nothing is done")
    parser.add_argument("--bits", type=int, default=200)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    rows = parser.add_mutually_exclusive_group()
    rows.add_argument("--tfidf", action="store_const", dest="rows", const="tfidf", default="")
    rows.add_argument("--texts", action="store_const", dest="rows", const="texts")
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="other settings")
    arguments = parser.parse_args()
    settings = {"n_bits": arguments.bits, **settings_of(arguments.set)}
    table: list[dict[str, object]] = []
    for path in arguments.data:
        name, parts, X = load(path, arguments.rows)
        runs = [measure(parts, X, {**settings, "random_state": s}) for s in arguments.seeds]
        means = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        table.append({"data": name, **means})
    if table:
        report("label_set_runs", table)


if __name__ == "__main__":
    main()
