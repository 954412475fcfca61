"""A million classes through the same ``fit``: rows per second, accuracy, peak memory of the GPU.

python benchmarks/bench_million.py [--classes 1000000 --rows 4000000 --epochs 1]

Dense rows of 256 features with a hidden code of 64 bits, written to a memory map first. Without a
GPU the default is a hundredth of that.
"""

import argparse
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from dsnc.classifier import DSNCClassifier
from dsnc.data import make_dense_codes
from harness import report

FEATURES, BITS, BLOCK = 256, 64, 250_000


def write_rows(path: Path, n_rows: int, n_classes: int) -> tuple[np.memmap, np.ndarray]:
    """Write the rows block by block; return the memory map and the classes."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(n_rows, FEATURES))
    y = np.empty(n_rows, dtype=np.int32)

    def write(start: int) -> None:
        rows = slice(start, min(n_rows, start + BLOCK))
        size = rows.stop - start, n_classes, FEATURES
        part = make_dense_codes(*size, n_bits=BITS, part=start // BLOCK)
        X[rows], y[rows] = part.X, part.y

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, range(0, n_rows, BLOCK)))
    return X, y


def main() -> None:
    """Make the rows, train for a while, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    share = 1 if torch.cuda.is_available() else 100
    parser.add_argument("--classes", type=int, default=1_000_000 // share)
    parser.add_argument("--rows", type=int, default=4_000_000 // share)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=None, help="stop after so many")
    parser.add_argument("--batch", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--loss", default="auto")
    parser.add_argument("--precision", default="auto")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        X, y = write_rows(Path(folder) / "X.npy", a.rows, a.classes)
        made = time.perf_counter() - start
        classifier = DSNCClassifier(
            n_bits=BITS,
            decoder="linear",
            trainer="torch",
            reranker=None,
            gradient={"name": "straight_through", "n_draws": a.draws},
            batch_size=a.batch,
            learning_rate=a.rate,
            max_epochs=a.epochs,
            time_limit=a.seconds,
            validation_fraction=0.005,
            loss=a.loss,
            precision=a.precision,
        )
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        start = time.perf_counter()
        classifier.fit(X, y)
        seconds = time.perf_counter() - start
        last = classifier.history_.epochs[-1]
        peak = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0
        report(
            "million",
            [
                {
                    "classes": len(classifier.classes_),
                    "rows": a.rows,
                    "loss": a.loss,
                    "precision": a.precision,
                    "draws": a.draws,
                    "batch": a.batch,
                    "rate": a.rate,
                    "rows/s": int(sum(classifier.history_.column("rows")) / last.seconds),
                    "mean loss": last.loss,
                    "log K": float(np.log(a.classes)),
                    "validation %": 100 * (last.validation_accuracy or 0.0),
                    "peak GPU GB": peak,
                    "fit s": seconds,
                    "making rows s": made,
                }
            ],
        )


if __name__ == "__main__":
    main()
