"""Classes that nobody has named: how well rows without labels are sorted, and how long that takes.

python benchmarks/bench_discovery.py [DATA...] [--choices 0 1 2] [--bits 64] [--growth [ROWS...]]

Data are what `dsnc.data.load_dataset` reads, by default the built-in glyphs. A fifth of the classes
is held back, drawn at random by each of the choices, and the model is fitted to training rows of
the others. All rows of held-back classes then come without labels. "Right" is clustering accuracy:
the best one-to-one match of groups and classes.

- number given: right, beside k-means on features (sparse rows: on their 100 main directions);
- number not given: groups for each class that there is, share of rows in a group, right of these;
- half known: as many test rows of known classes as new ones among them, `unknown_share` as it is by
  default. Of the new rows, how many are in a group and right, with these and without them; of the
  known rows, how many are in a group.

--growth: seconds of `discover_classes` on made-up rows, 20 of a class.
"""

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.data import make_dense_codes
from dsnc.metrics import clustering_accuracy
from harness import report

SHARE, DIRECTIONS = 0.2, 100
SIZES, A_CLASS, KNOWN = [10_000, 100_000, 1_000_000], 20, 1000
SHAPE = {"n_features": 64, "n_bits": 64}


def measure(name: str, parts: Any, choice: int, n_bits: int) -> dict[str, object]:
    """Hold a fifth of the classes back; return a row of the table."""
    y = [part.y for part in parts]
    classes = np.unique(y[0])
    new = np.random.default_rng(choice).permutation(classes)[: int(SHARE * len(classes))]
    is_new = [np.isin(each, new) for each in y]
    known = [(part.X[~new], part.y[~new]) for part, new in zip(parts, is_new, strict=True)]
    stack = sp.vstack if sp.issparse(parts[0].X) else np.concatenate
    X = stack([part.X[new] for part, new in zip(parts, is_new, strict=True)])
    X = X.tocsr() if sp.issparse(X) else X
    truth = np.concatenate([each[new] for each, new in zip(y, is_new, strict=True)])
    model = DSNCClassifier(n_bits=n_bits, random_state=0).fit(*known[0], validation=known[1])
    row: dict[str, object] = {"data": name, "choice": choice, "rows": len(truth)}
    row |= {"classes": len(new), "features %": 100 * of_features(X, truth, len(new))}
    start = time.process_time()
    found = model.discover_classes(X, len(new), unknown_share=1).groups
    row |= {"seconds": time.process_time() - start}
    row |= {"given %": 100 * right(truth, found, len(truth))}
    found = model.discover_classes(X, unknown_share=1).groups
    inside = found >= 0
    row |= {"groups": len(np.unique(found[inside])) / len(new), "inside %": 100 * inside.mean()}
    row |= {"right of these %": 100 * right(truth, found, inside.sum())}
    return row | mixed(model, stack, (X, truth), known[2])


def mixed(model: Any, stack: Any, new: Any, known: Any) -> dict[str, object]:
    """Discover new classes among rows of which every second is of a known one."""
    n = min(len(new[1]), len(known[1]))
    draw = np.random.default_rng(0).permutation
    some, others = np.sort(draw(len(new[1]))[:n]), np.sort(draw(len(known[1]))[:n])
    X, truth, n_classes = new[0][some], new[1][some], len(np.unique(new[1][some]))
    alone = model.discover_classes(X, n_classes, unknown_share=1).groups
    both = stack([X, known[0][others]])
    both = both.tocsr() if sp.issparse(both) else both
    row: dict[str, object] = {"alone %": 100 * right(truth, alone, n)}
    for how, number in (("given", n_classes), ("not given", None)):
        groups = model.discover_classes(both, number).groups
        # Rows of known classes take up groups of their own, which are nothing right.
        row[f"half known, {how} %"] = 100 * right(truth, groups[:n], n)
        row[f"known inside, {how} %"] = 100 * float((groups[n:] >= 0).mean())
    return row


def right(truth: Any, groups: Any, n_rows: int) -> float:
    """Return the share of so many rows that are in the right group; -1 is none."""
    inside = groups >= 0
    if not inside.any():
        return 0.0
    return clustering_accuracy(truth[inside], groups[inside]) * float(inside.sum()) / n_rows


def of_features(X: Any, truth: Any, n_classes: int) -> float:
    """Return the clustering accuracy of k-means."""
    if sp.issparse(X):
        X = TruncatedSVD(DIRECTIONS, random_state=0).fit_transform(X)
    groups = KMeans(n_classes, n_init=1, random_state=0).fit_predict(X)
    return clustering_accuracy(truth, groups)


def growth(sizes: list[int]) -> list[dict[str, object]]:
    """Time discovery among more and more rows."""
    known = make_dense_codes(A_CLASS * KNOWN, KNOWN, random_state=0, **SHAPE)
    model = DSNCClassifier(n_bits=64, random_state=0).fit(known.X, known.y)
    table = []
    for n_rows in sizes:
        n_classes = n_rows // A_CLASS
        # The same matrix makes features of codes; classes with other numbers are other classes.
        n_all = KNOWN + n_classes
        data = make_dense_codes(A_CLASS * n_all, n_all, random_state=0, part=1, **SHAPE)
        rows = np.flatnonzero(data.y >= KNOWN)
        X, truth = data.X[rows], data.y[rows]
        for how, number in (("given", len(np.unique(truth))), ("not given", None)):
            start = time.process_time()
            found = model.discover_classes(X, number, unknown_share=1)
            seconds = time.process_time() - start
            groups = found.groups
            row = {"rows": len(X), "classes": len(np.unique(truth)), "number": how}
            row |= {"groups": len(found), "right %": 100 * right(truth, groups, len(truth))}
            table.append(row | {"s": seconds, "us/row": 1e6 * seconds / len(X)})
    return table


def main() -> None:
    """Read the command line and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="*", default=["glyphs"], help="names, folders or files")
    parser.add_argument("--choices", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--growth", nargs="*", type=int, help="instead, with more and more rows")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        if arguments.growth is not None:
            report("discovery_growth", growth(arguments.growth or SIZES))
            return
        rows = [
            measure(*load(path), choice, arguments.bits)
            for path in arguments.data
            for choice in arguments.choices
        ]
    report("discovery", rows)


if __name__ == "__main__":
    main()
