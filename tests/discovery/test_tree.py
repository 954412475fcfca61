"""Ward's tree by way of near codes is Ward's tree."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

from dsnc.codes import PackedCodes
from dsnc.discovery import tree as module
from dsnc.discovery.tree import Tree
from dsnc.metrics import clustering_accuracy


def rows(n, n_groups, noise, seed=0, n_bits=32):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_groups
    bits = np.where(rng.random((n_groups, n_bits)) < 0.5, -1, 1)[y] + noise * rng.normal(
        size=(n, n_bits)
    )
    return (bits / np.linalg.norm(bits, axis=1, keepdims=True)).astype(np.float32), y


def test_all_pairs_give_the_tree_of_scipy():
    bits, _ = rows(300, 12, 0.9)
    assert len(PackedCodes.from_logits(bits).unique().codes) == 300
    expected = linkage(bits.astype(np.float64), "ward")
    tree = Tree.grown(bits)
    assert np.sort(tree._costs) == pytest.approx(expected[:, 2], rel=1e-3)
    for k in (1, 2, 12, 40, 300):
        theirs = fcluster(expected, k, "maxclust")
        assert clustering_accuracy(theirs, tree.cut(k)) == 1.0


def test_near_pairs_are_enough(monkeypatch):
    bits, y = rows(2000, 40, 0.7)
    whole = Tree.grown(bits).cut(40)
    monkeypatch.setattr(module, "_ALL_PAIRS", 60)
    done = []
    found = Tree.grown(bits, n_jobs=2, tell=done.append).cut(40)
    assert clustering_accuracy(whole, found) > 0.97
    assert clustering_accuracy(y, found) > 0.97
    assert done == sorted(done)
    assert done[-1] == 2000


def test_groups_without_near_pairs_are_joined_as_well(monkeypatch):
    monkeypatch.setattr(module, "_ALL_PAIRS", 4)
    monkeypatch.setattr(module, "_NEAR", 1)
    bits, _ = rows(200, 20, 0.5)
    tree = Tree.grown(bits)
    assert len(np.unique(tree.cut(1))) == 1
    assert len(np.unique(tree.cut(20))) == 20


def test_rows_of_one_code_are_one_leaf():
    bits = np.array([[1, -1], [0.5, -0.5], [-1, 1], [-1, -1]], np.float32)
    tree = Tree.grown(bits)
    assert tree.n_leaves == 3
    assert tree.sizes[-1] == 4
    groups = tree.cut(3)
    assert groups[0] == groups[1]
    assert len(set(groups.tolist())) == 3


def test_one_code():
    tree = Tree.grown(np.ones((5, 3), np.float32))
    assert tree.n_leaves == 1
    assert tree.cut(1).tolist() == [0] * 5
    assert tree.distances(np.array([1])).shape == (1,)


@pytest.mark.parametrize("per_group", [6, 60])
def test_groups_are_as_far_apart_however_many_rows_they_have(per_group):
    bits, y = rows(20 * per_group, 20, 0.5)
    centers = np.stack([bits[y == k].mean(axis=0) for k in range(20)])
    centers = np.linalg.norm(centers[:, None] - centers, axis=2) + 9 * np.eye(20)
    near = centers.min()
    assert Tree.grown(bits).distances(np.array([20]))[0] == pytest.approx(near, rel=0.45)
