"""Benchmarks reach into the house further than users do; here they are tried on little data."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import bench_reranker

OPTIONS = {"n_bits": 12, "random_state": 0}


@pytest.fixture(scope="module")
def parts():
    """Rows of words, some of which only their class has."""
    rng, n_classes = np.random.default_rng(0), 30

    def some(n):
        y = rng.integers(0, n_classes, n)
        words = np.column_stack([y, rng.integers(n_classes, 90, (n, 2))])
        words, rows = words.astype(np.int32), np.repeat(np.arange(n, dtype=np.int32), 3)
        counts = np.ones(words.size, np.float32)
        X = sp.csr_array((counts, (rows, words.ravel())), shape=(n, 90))
        return SimpleNamespace(X=X, y=y)

    return some(900), some(250), some(60)


def test_without_and_with_a_second_stage(parts):
    rows = bench_reranker.measure(parts, OPTIONS)
    assert [row["reranker"] for row in rows] == ["none", "auto"]
    assert not rows[0]["taken"]
    assert rows[1]["test %"] >= rows[0]["test %"] > 50


def test_every_setting_of_the_ablation(parts):
    rows = bench_reranker.ablate(parts, OPTIONS)
    names = [row["second stage"] for row in rows]
    assert names[0] == "none"
    assert {*bench_reranker.ABLATIONS, *bench_reranker.LOSSES} < set(names)
    by_name = dict(zip(names, rows, strict=True))
    assert by_name["8 candidates"]["candidates"] == 8
    assert by_name["features alone"]["mix"] == 0
    assert all(row["test %"] > 50 for row in rows)
