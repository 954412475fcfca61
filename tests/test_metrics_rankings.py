"""Figures at k are those of plain loops, and of scikit-learn where it has them."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import ndcg_score

import label_set_twins as twins
from dsnc import metrics
from dsnc.errors import InputError
from dsnc.targets import Targets

AT_K = ["precision_at_k", "recall_at_k", "ndcg_at_k", "coverage_at_k"]
SHARES = st.sampled_from([0.25, 0.5, 1.0])  # few, so that labels tie


@st.composite
def rankings(draw, gaps=True):
    n, n_labels = draw(st.integers(1, 6)), draw(st.integers(2, 6))
    dense = draw(hnp.arrays(np.int8, (n, n_labels), elements=st.integers(0, 1)))
    n_columns = draw(st.integers(1, n_labels))
    predicted = np.array([draw(st.permutations(range(n_labels))) for _ in range(n)])[:, :n_columns]
    if gaps:
        predicted[draw(hnp.arrays(np.bool_, predicted.shape))] = -1
    return dense, predicted


def members(dense):
    return [set(np.flatnonzero(row).tolist()) for row in dense]


@pytest.mark.parametrize("name", AT_K)
@given(rankings())
def test_figures_equal_their_naive_twins(name, drawn):
    dense, predicted = drawn
    ks = tuple(range(1, predicted.shape[1] + 1))
    found = getattr(metrics, name)(dense, predicted, ks)
    twin = getattr(twins, name)
    expected = [twin(members(dense), predicted.tolist(), k) for k in ks]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert getattr(metrics, name)(dense, predicted, ks[-1]) == found[-1]


@given(rankings(), st.data())
def test_propensity_scored_precision_equals_its_naive_twin(drawn, data):
    dense, predicted = drawn
    propensity = data.draw(hnp.arrays(np.float64, dense.shape[1], elements=SHARES))
    for k in range(1, predicted.shape[1] + 1):
        found = metrics.psprecision_at_k(dense, predicted, k, propensity)
        expected = twins.psprecision_at_k(members(dense), predicted.tolist(), k, propensity)
        assert found == pytest.approx(expected, rel=1e-12)


@given(rankings(gaps=False))
def test_ndcg_is_that_of_scikit_learn(drawn):
    dense, predicted = drawn
    scores = np.zeros(dense.shape)
    n_columns = predicted.shape[1]
    np.put_along_axis(scores, predicted, np.arange(n_columns, 0, -1.0)[None], axis=1)
    for k in range(1, n_columns + 1):
        expected = ndcg_score(dense, scores, k=k)
        assert metrics.ndcg_at_k(dense, predicted, k) == pytest.approx(expected, rel=1e-12)


@given(
    hnp.arrays(
        np.int8, st.tuples(st.integers(3, 9), st.integers(1, 4)), elements=st.integers(0, 1)
    ),
    st.floats(0, 2),
    st.floats(0.1, 4),
)
def test_propensities_are_those_of_the_paper(dense, A, B):
    found = metrics.propensities(dense, A, B)
    np.testing.assert_allclose(found, twins.propensities(members(dense), dense.shape[1], A, B))
    assert ((found > 0) & (found <= 1)).all()


def test_rare_labels_have_low_propensities_and_earn_more():
    Y = np.zeros((100, 2), int)
    Y[:, 0], Y[0, 1] = 1, 1
    propensity = metrics.propensities(Y)
    assert propensity[1] < propensity[0]
    frequent, rare = (metrics.psprecision_at_k(Y[:1], [[j]], 1, propensity) for j in (0, 1))
    assert rare == 1.0 and frequent == pytest.approx(propensity[1] / propensity[0])


@pytest.mark.parametrize(
    "form",
    [
        sp.csr_array,
        sp.csc_matrix,
        sp.coo_array,
        sp.lil_matrix,
        np.array,
        lambda dense: np.array(dense, bool),
        lambda dense: np.array(dense, float),
        lambda dense: Targets(sp.csr_array(dense), 3),
    ],
)
def test_sets_come_in_many_forms(form):
    dense = [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    predicted = np.array([[2, 1], [0, 1], [0, -1]], dtype=np.int32)
    assert metrics.precision_at_k(form(dense), predicted, 2) == pytest.approx(2 / 6)
    assert metrics.recall_at_k(form(dense), predicted, 2) == pytest.approx(1.5 / 3)
    np.testing.assert_array_equal(metrics.propensities(form(dense)), metrics.propensities(dense))


def test_targets_of_one_class_are_sets_of_one():
    y, predicted = np.array([2, 0, 1]), np.array([[2, 1], [1, 0], [0, 2]])
    targets = Targets(y, 3)
    assert metrics.recall_at_k(targets, predicted, 2) == metrics.top_k_accuracy(y, predicted)
    assert metrics.precision_at_k(targets, predicted, 1) == pytest.approx(1 / 3)


def test_a_million_labels_are_no_matrix():
    rng = np.random.default_rng(0)
    n, n_labels = 100_000, 1_000_000
    labels = rng.integers(n_labels, size=(n, 3))
    targets = Targets.from_lists(labels.ravel(), np.full(n, 3), n_labels)
    predicted = np.column_stack([labels[:, 0], np.full(n, -1)])
    assert metrics.precision_at_k(targets, predicted, (1, 2)).tolist() == [1, 0.5]
    propensity = metrics.propensities(targets)
    assert 0 < metrics.psprecision_at_k(targets, predicted, 2, propensity) < 0.6
    n_found, n_there = len(np.unique(labels[:, 0])), len(np.unique(labels))
    assert metrics.coverage_at_k(targets, predicted, 1) == pytest.approx(n_found / n_there)


def test_what_was_given_stays_as_it_is():
    Y = sp.csr_matrix(([1, 0, 1], [2, 1, 0], [0, 3]), shape=(1, 3))  # unsorted, with a zero
    predicted = np.array([[1, 2, 0]])
    assert metrics.precision_at_k(Y, predicted, 3) == pytest.approx(2 / 3)
    assert Y.indices.tolist() == [2, 1, 0] and Y.data.tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", AT_K)
@pytest.mark.parametrize(
    ("Y", "predicted", "k", "message"),
    [
        ([[0, 1]], [0], 1, r"predicted has shape \(1,\) .* expected label numbers"),
        ([[0, 1]], [[0.0]], 1, "predicted has shape .* type float64"),
        ([[0, 1]], [[True]], 1, "predicted has shape .* type bool"),
        ([[0, 1], [1, 0]], [[0], [0, 1]], 1, "type object; .* -1 where a row has fewer"),
        ([[0, 1]], [[0], [1]], 1, "predicted has 2 rows and Y has 1"),
        ([[0, 1]], [[0]], 2, "k=2 is more than the 1 columns of predicted; use a smaller"),
        ([[0, 1]], [[0]], (1, 3), r"k=\(1, 3\) is more than the 1 columns"),
        ([[0, 1]], [[0]], 0, "k=0 must be a whole number, 1 or more"),
        ([[0, 1]], [[0]], 1.0, "k=1.0 must be a whole number"),
        ([[0, 1]], [[0]], (), r"k=\(\) is empty"),
        ([[0, 1]], [[0, 2]], 1, r"predicted\[0, 1\] is 2; a label is 0 to 1"),
        ([[0, 1]], [[-2]], 1, r"predicted\[0, 0\] is -2; a label is 0 to 1"),
        ([[0, 1], [0, 1]], [[0, 1], [1, 1]], 1, r"predicted\[1\] has label 1 twice"),
        ([[0, 1], [0, 2]], [[0], [0]], 1, r"Y\[1, 1\] is 2; give 1 where"),
        (sp.csr_array([[0, 1], [-1, 0]]), [[0], [0]], 1, r"Y\[1, 0\] is -1; give 1"),
        ([[0.0, np.nan]], [[0]], 1, r"Y\[0, 1\] is nan"),
        ([[0], [1, 2]], [[0], [0]], 1, r"Y has shape \(2,\) .* MultiLabelBinarizer"),
        ([{0}, {1, 2}], [[0], [0]], 1, "Y has shape .* MultiLabelBinarizer"),
        ([["a"]], [[0]], 1, "Y has shape .* expected an indicator"),
        (np.zeros((0, 3)), np.zeros((0, 1), int), 1, r"Y has shape \(0, 3\) .* not empty"),
        (Targets(np.zeros(0, int), 3), np.zeros((0, 1), int), 1, "Y has 0 rows"),
    ],
)
def test_what_cannot_be_compared_is_named(name, Y, predicted, k, message):
    with pytest.raises(InputError, match=message):
        getattr(metrics, name)(Y, predicted, k)


@pytest.mark.parametrize(
    ("propensity", "message"),
    [
        ([1.0], r"propensity has shape \(1,\) .* shape \(2,\), one for each label"),
        (["a", "b"], "propensity has shape .* expected numbers"),
        ([1.0, 0.0], r"propensity\[1\] is 0.0; expected above 0"),
        ([1.0, 2.5], r"propensity\[1\] is 2.5; .* not their inverses"),
        ([np.nan, 1.0], r"propensity\[0\] is nan"),
    ],
)
def test_odd_propensities_are_named(propensity, message):
    with pytest.raises(InputError, match=message):
        metrics.psprecision_at_k([[0, 1]], [[0]], 1, propensity)


def test_propensities_need_rows_and_sound_constants():
    with pytest.raises(InputError, match="Y has 2 rows; propensities need 3 or more"):
        metrics.propensities([[1], [0]])
    with pytest.raises(InputError, match="A=-1 must be a number 0 or more"):
        metrics.propensities([[1]] * 3, A=-1)
    with pytest.raises(InputError, match="B=0 must be a number above 0"):
        metrics.propensities([[1]] * 3, B=0)
