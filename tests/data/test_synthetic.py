import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import NearestCentroid

from dsnc.codes import PackedCodes
from dsnc.data import make_dense_codes, make_sparse_topics
from dsnc.data.synthetic import class_codes
from dsnc.errors import InputError


def test_topics_have_the_size_asked_for_and_every_class():
    dataset = make_sparse_topics(500, 100, 1000, words_per_row=20)
    assert dataset.X.shape == (500, 1000)
    assert dataset.X.sum(axis=1).tolist() == [20.0] * 500
    assert dataset.X.has_sorted_indices
    assert dataset.rows_per_class.min() >= 1
    assert dataset.n_classes == 100


@pytest.mark.parametrize("make", [make_sparse_topics, make_dense_codes])
def test_the_same_seed_gives_the_same_data(make):
    one, two, other = (make(50, 10, 40, random_state=seed) for seed in (3, 3, 4))

    def dense(dataset):
        return dataset.X.toarray() if dataset.is_sparse else dataset.X

    assert np.array_equal(dense(one), dense(two))
    assert np.array_equal(one.y, two.y)
    assert not np.array_equal(dense(one), dense(other))


@pytest.mark.parametrize(
    ("dataset", "classifier"),
    [
        (make_sparse_topics(5000, 100, 3000, words_per_row=15), MultinomialNB()),
        (make_dense_codes(5000, 100, 32), NearestCentroid()),
    ],
    ids=["topics", "codes"],
)
def test_classes_can_be_learned_but_not_trivially(dataset, classifier):
    train, _, test = dataset.split()
    assert 0.3 < classifier.fit(train.X, train.y).score(test.X, test.y) < 0.99


def test_parts_are_other_rows_of_the_same_problem():
    first = make_dense_codes(2000, 50, 16, feature_noise=0.5)
    second = make_dense_codes(500, 50, 16, feature_noise=0.5, part=1)
    assert not np.array_equal(first.X[:500], second.X)
    assert NearestCentroid().fit(first.X, first.y).score(second.X, second.y) > 0.9
    words = make_sparse_topics(2000, 50, 500)
    more = make_sparse_topics(500, 50, 500, part=1)
    assert MultinomialNB().fit(words.X, words.y).score(more.X, more.y) > 0.8


def test_background_words_follow_zipf():
    X = make_sparse_topics(20_000, 10, 1000, background=1.0).X
    counts = np.asarray(X.sum(axis=0)).ravel()
    # Rank 0 and ranks 10..19 hold log(2) and log(21/11) of log(1001) parts of the words.
    shares = counts[0] / counts.sum(), counts[10:20].sum() / counts.sum()
    expected = np.log(2) / np.log(1001), np.log(21 / 11) / np.log(1001)
    assert np.allclose(shares, expected, rtol=0.02)


def test_neighbors_in_the_tree_share_words():
    dataset = make_sparse_topics(4000, 1000, 50_000, background=0.0, words_per_row=100)
    means = np.zeros((1000, 50_000), dtype=bool)
    means[np.repeat(dataset.y, np.diff(dataset.X.indptr)), dataset.X.indices] = True
    siblings = (means[0] & means[5]).sum()
    cousins = (means[0] & means[50]).sum()
    strangers = (means[0] & means[950]).sum()
    assert siblings > cousins > strangers


def test_skewed_classes():
    counts = make_sparse_topics(20_000, 100, 50, class_skew=1.0).rows_per_class
    assert counts[0] > 10 * counts[50] > 0


def test_without_noise_rows_give_their_codes_back():
    dataset = make_dense_codes(
        300, 60, 64, n_bits=16, bit_noise=0.0, feature_noise=0.0, random_state=5
    )
    codes = class_codes(60, 16, random_state=5)
    signs = codes.to_signs(np.float64)[dataset.y]
    mixing, *_ = np.linalg.lstsq(signs, dataset.X.astype(float), rcond=None)
    recovered = dataset.X @ np.linalg.pinv(mixing)
    assert PackedCodes.from_logits(recovered) == codes.take(dataset.y)


def test_share_of_flipped_bits():
    clean = make_dense_codes(2000, 50, 40, n_bits=24, bit_noise=0.0, feature_noise=0.0)
    noisy = make_dense_codes(2000, 50, 40, n_bits=24, bit_noise=0.1, feature_noise=0.0)
    codes = class_codes(50, 24)
    assert np.array_equal(clean.y, noisy.y)
    mixing, *_ = np.linalg.lstsq(codes.to_signs(float)[clean.y], clean.X.astype(float), rcond=None)
    found = PackedCodes.from_logits(noisy.X @ np.linalg.pinv(mixing)).to_bits()
    share = (found != codes.to_bits()[noisy.y]).mean()
    assert abs(share - 0.1) < 5 * np.sqrt(0.1 * 0.9 / found.size)


def test_a_million_classes_cost_what_their_rows_cost():
    dataset = make_sparse_topics(1000, 1_000_000, 1_000_000, words_per_row=10)
    assert dataset.n_classes == 1_000_000
    assert dataset.X.nnz <= 10_000
    dataset = make_dense_codes(1000, 1_000_000, 8, n_bits=24)
    assert dataset.X.shape == (1000, 8)


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (make_sparse_topics, {"n_rows": 0}, "n_rows=0"),
        (make_sparse_topics, {"n_classes": 0}, "n_classes=0"),
        (make_sparse_topics, {"words_per_row": 0}, "words_per_row=0"),
        (make_sparse_topics, {"branching": 1}, "branching=1"),
        (make_sparse_topics, {"background": 1.5}, "background=1.5"),
        (make_sparse_topics, {"class_skew": -1}, "class_skew=-1"),
        (make_dense_codes, {"n_bits": 0}, "n_bits=0"),
        (make_dense_codes, {"bit_noise": 2}, "bit_noise=2"),
        (make_dense_codes, {"feature_noise": -1}, "feature_noise=-1"),
    ],
)
def test_impossible_sizes_are_named(make, change, message):
    with pytest.raises(InputError, match=message):
        make(**{"n_rows": 5, "n_classes": 3, "n_features": 4} | change)


@pytest.mark.parametrize("n_classes", [1, 2, 10, 11])
def test_few_classes(n_classes):
    assert make_sparse_topics(30, n_classes, 20).n_classes == n_classes
    assert make_dense_codes(30, n_classes, 20).n_classes == n_classes
