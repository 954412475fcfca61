"""A small model of texts, and tables of texts with ids."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dsnc import DSNCClassifier

WORDS = np.array([f"w{i}" for i in range(60)])


def texts(n, seed=0):
    drawn = np.random.default_rng(seed).integers(len(WORDS), size=(n, 4))
    return [" ".join(row) for row in WORDS[drawn]]


def save_model(folder):
    rows = texts(300, 1)
    model = DSNCClassifier(n_bits=16, max_epochs=2, n_jobs=1)
    model.fit(rows, [text.split()[0] for text in rows]).save(folder)
    return folder


def write_rows(folder, n_files=3, n_rows=400, group=100):
    """Write files of `n_rows` each; ids count through all of them, backwards."""
    folder.mkdir()
    for number in range(n_files):
        ids = [10_000 - number * n_rows - i for i in range(n_rows)]
        table = pa.table({"id": ids, "text": texts(n_rows, 5 + number)})
        pq.write_table(table, folder / f"rows-{number}.parquet", row_group_size=group)
    return folder
