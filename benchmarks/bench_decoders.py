"""Accuracy, honesty and speed of the decoders, beside an MLP of the same width.

python benchmarks/bench_decoders.py [DATA...] [--bits 24 64] [--seeds 0 1 2] [--encoder mlp]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. One model is trained
for each number of bits and seed; its decoders are exchanged without training. Times are of decoding
alone, microseconds a row on one thread, all contestants in turns.
"""

import argparse
import statistics
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.baselines import MLPBaseline
from dsnc.codes import Encoded
from dsnc.data import Split
from dsnc.metrics import expected_calibration_error
from harness import best_of, report

TIMED = 4096  # rows
DECODERS = ("linear", "soft", "nearest", "shortlist")


def measure(parts: Split, options: dict[str, Any], mlp: bool) -> dict[str, float]:
    """Train once; return test accuracies, calibration errors and times."""
    train, validation, test = parts
    model = DSNCClassifier(**options, reranker=None)
    model.fit(train.X, train.y, validation=(validation.X, validation.y))
    print(f"{options}\n{model.decoder_report_}", flush=True)
    decoders = {name: model.with_decoder(name) for name in DECODERS}
    if model.n_bits <= 24:
        decoders["table"] = model.with_decoder({"name": "table", "probes": 16})
    decoders["auto"] = model
    figures = {f"{name} %": 100 * part.score(test.X, test.y) for name, part in decoders.items()}
    for name in ("shortlist", "auto"):
        figures[f"{name} ECE"] = _calibration_error(decoders[name], test)
    figures |= _times(decoders, test.X[:TIMED])
    if mlp:
        mlp_options = {"n_units": model.n_bits, "random_state": options["random_state"]}
        baseline = MLPBaseline(**mlp_options)
        baseline.fit(train.X, train.y, validation=(validation.X, validation.y))
        figures["mlp %"] = 100 * baseline.score(test.X, test.y)
    return figures


def _calibration_error(model: Any, test: Any) -> float:
    classes, probabilities = model.predict_top_k(test.X, k=1)
    confidence = np.minimum(probabilities[:, 0], 1)
    return expected_calibration_error(classes[:, 0] == test.y, confidence)


def _times(decoders: dict[str, Any], X: Any) -> dict[str, float]:
    """Time decoding alone: the same codes and logits for all."""
    predictor = decoders["linear"].predictor_
    encoded = Encoded(predictor.logits(X), predictor.encode(X))
    contestants = {
        name: lambda d=model.predictor_.decoder: d.predict(encoded)
        for name, model in decoders.items()
    }
    with threadpool_limits(1):
        for function in contestants.values():
            function()  # makes the index
        seconds = best_of(contestants, repeat=5)
    return {f"{name} us": 1e6 * value / len(encoded) for name, value in seconds.items()}


def main() -> None:
    """Read the command line and print the table of means over seeds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=["glyphs"], help="names, folders or files")
    parser.add_argument("--bits", nargs="+", type=int, default=[64])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--encoder", default="linear")
    parser.add_argument("--epochs", type=int, default=None, help="instead of the default")
    parser.add_argument("--no-mlp", action="store_true", help="without the MLP")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for path in arguments.data:
        name, parts = load(path)
        for n_bits in arguments.bits:
            options: dict[str, Any] = {"n_bits": n_bits, "encoder": arguments.encoder}
            if arguments.epochs:
                options["max_epochs"] = arguments.epochs
            runs = [
                measure(parts, {**options, "random_state": seed}, not arguments.no_mlp)
                for seed in arguments.seeds
            ]
            means = {key: statistics.fmean(run[key] for run in runs) for key in runs[0]}
            rows.append({"data": name, "bits": n_bits, "encoder": arguments.encoder, **means})
            print(rows[-1], flush=True)
    report("decoders", rows)


if __name__ == "__main__":
    main()
