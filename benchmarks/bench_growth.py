"""How the cost of training grows with the number of classes, from a thousand to a million.

python benchmarks/bench_growth.py [--classes 1000 1000000] [--rows-per-class 2] [--epochs 1]

Dense rows of 64 features with a hidden code of 64 bits, `DSNCClassifier` with its defaults, every
size in a process of its own. A row-step is one row in one epoch. The slope is that of the line
through the logarithms of classes and of seconds for a million row-steps. Memory is the most that
`fit` took above the data, as a multiple of the parameters (encoder and class vectors).
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

from harness import peak_megabytes, report

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "training_growth.png"
LEAST_ROWS, TEST_ROWS = 50_000, 5_000
ONE_SIZE = f"""
import warnings
import numpy as np
from dsnc import DSNCClassifier
from dsnc.data import make_dense_codes
n_classes, n_rows = int(sys.argv[1]), int(sys.argv[2])
shape = {{"n_classes": n_classes, "n_features": 64, "n_bits": 64}}
few = make_dense_codes(500, 100, 64)
DSNCClassifier(max_epochs=1).fit(few.X, few.labels)  # what only the first one takes is not counted
train = make_dense_codes(n_rows, **shape)
test = make_dense_codes({TEST_ROWS}, part=1, **shape)
X, y = train.X, train.labels
before = now()
epochs = "auto" if sys.argv[3] == "auto" else int(sys.argv[3])
model = DSNCClassifier(decoder="shortlist", reranker=None, max_epochs=epochs).fit(X, y)
most = peak() - before
predictor, last = model.predictor_, model.history_.epochs[-1]
parameters = 4e-6 * (64 + n_classes) * 65
print(json.dumps({{
    "classes": n_classes,
    "rows": n_rows,
    "epochs": len(model.history_),
    "s a million row-steps": 1e6 * last.seconds / sum(model.history_.column("rows")),
    "training s": last.seconds,
    "accuracy %": 100 * model.score(test.X, test.labels),
    "peak MB": most,
    "parameters MB": parameters,
    "memory / parameters": most / parameters,
}}))
"""


def main() -> None:
    """Measure every size, print the table and the slope."""
    parser = argparse.ArgumentParser(description=__doc__)
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    parser.add_argument("--classes", type=int, nargs="+", default=sizes)
    parser.add_argument("--rows-per-class", type=int, default=2)
    parser.add_argument("--epochs", nargs="+", default=["auto"], help="of each size, or of all")
    parser.add_argument("--plot", action="store_true", help=f"draw {PICTURE.name} for the docs")
    a = parser.parse_args()
    rows: list[dict[str, object]] = []
    for n_classes, epochs in zip(a.classes, itertools.cycle(a.epochs)):
        n_rows = max(LEAST_ROWS, a.rows_per_class * n_classes)
        rows.append(peak_megabytes(ONE_SIZE, str(n_classes), str(n_rows), epochs))
        print(rows[-1], flush=True)
    classes = np.log([float(row["classes"]) for row in rows])
    seconds = np.log([float(row["s a million row-steps"]) for row in rows])
    slope = float(np.polyfit(classes, seconds, 1)[0]) if len(rows) > 1 else float("nan")
    report("growth", [{**row, "slope": slope} for row in rows])
    if a.plot:
        draw(rows, slope)


def draw(rows: list[dict[str, object]], slope: float) -> None:
    """Draw cost against the number of classes, beside a line of slope 1."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    classes = [float(row["classes"]) for row in rows]
    seconds = [float(row["s a million row-steps"]) for row in rows]
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    axes.loglog(classes, seconds, "o-", color="#0072b2", label=f"measured, slope {slope:.2f}")
    all_classes = [seconds[0] * n / classes[0] for n in classes]
    axes.loglog(classes, all_classes, "--", color="#999999", label="if every class were scored")
    axes.set(xlabel="classes", ylabel="seconds for a million row-steps")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(PICTURE, dpi=160)


if __name__ == "__main__":
    main()
