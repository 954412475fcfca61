"""The benchmark of label sets, tried on little data."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import bench_label_sets

N_LABELS, N_WORDS = 12, 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of two labels each: a word for each, and a word that says nothing, as a text, too."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("sets")
    labels = np.array([rng.choice(N_LABELS, 2, replace=False) for _ in range(600)])
    words = np.column_stack([labels, rng.integers(N_LABELS, N_WORDS, len(labels))])

    def indicator(columns, width):
        rows = np.repeat(np.arange(len(columns)), columns.shape[1])
        ones = np.ones(columns.size, np.float32)
        return sp.csr_array((ones, (rows, columns.ravel())), shape=(len(columns), width))

    sp.save_npz(path / "X.npz", indicator(words, N_WORDS))
    sp.save_npz(path / "Y.npz", indicator(labels, N_LABELS))
    np.save(path / "split.npy", np.repeat([0, 1, 2], [400, 100, 100]).astype(np.int8))
    with gzip.open(path / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        for row in words:
            file.write(json.dumps({"text": " ".join(f"word{j}" for j in row)}) + "\n")
    return str(path)


@pytest.mark.parametrize("rows", ["", "tfidf", "texts"])
def test_figures_of_all_kinds_of_rows(folder, rows):
    name, parts, X = bench_label_sets.load(folder, rows)
    assert [len(part) for part in parts] == [400, 100, 100]
    assert isinstance(X[0][0], str) == (rows == "texts")
    figures = bench_label_sets.measure(parts, X, {"n_bits": 16, "random_state": 0})
    assert name
    assert figures["P@1"] > 80  # 17 by chance
    assert figures["P@5"] <= 40  # rows have two labels
    assert 50 < figures["micro F1"] <= 100


def test_without_data_nothing_is_done(monkeypatch):
    monkeypatch.setattr("sys.argv", ["bench_label_sets.py"])
    monkeypatch.setattr(bench_label_sets, "report", pytest.fail)
    bench_label_sets.main()


def test_texts_need_a_split(folder, tmp_path):
    for name in ("X.npz", "Y.npz", "texts.jsonl.gz"):
        (tmp_path / name).write_bytes((Path(folder) / name).read_bytes())
    with pytest.raises(SystemExit, match="no split, which --texts needs"):
        bench_label_sets.load(str(tmp_path), "texts")
