"""A small model of texts, and tables of texts with ids and labels."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dsnc import DSNCClassifier

WORDS = np.array([f"w{i}" for i in range(60)])


def texts(n, seed=0):
    drawn = np.random.default_rng(seed).integers(len(WORDS), size=(n, 4))
    return [" ".join(row) for row in WORDS[drawn]]


def labelled(n, seed=0):
    """Return texts and labels: two of four words are of the class, the others of any."""
    random = np.random.default_rng(seed)
    y = random.integers(12, size=n)
    own = 5 * y[:, None] + random.integers(5, size=(n, 2))
    others = random.integers(len(WORDS), size=(n, 2))
    return [" ".join(row) for row in WORDS[np.hstack([own, others])]], [f"class {c}" for c in y]


def save_model(folder):
    rows, y = labelled(300, 1)
    DSNCClassifier(n_bits=16, max_epochs=2, n_jobs=1).fit(rows, y).save(folder)
    return folder


def write_rows(folder, n_files=3, n_rows=400, group=100):
    """Write files of `n_rows` each; ids count through all of them, backwards."""
    folder.mkdir()
    for number in range(n_files):
        ids = [10_000 - number * n_rows - i for i in range(n_rows)]
        rows, y = labelled(n_rows, 5 + number)
        table = pa.table({"id": ids, "text": rows, "label": y})
        pq.write_table(table, folder / f"rows-{number}.parquet", row_group_size=group)
    return folder
