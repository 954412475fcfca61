"""F1 of sets is that of plain loops and of scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

import label_set_twins as twins
from dsnc.errors import InputError
from dsnc.metrics import f1_of_sets
from dsnc.targets import Targets

AVERAGES = ["micro", "macro", "samples"]
PAIRS = st.tuples(st.just(2), st.integers(1, 7), st.integers(2, 5))


@pytest.mark.parametrize("average", AVERAGES)
@given(hnp.arrays(np.int8, PAIRS, elements=st.integers(0, 1)), st.booleans())
def test_f1_is_that_of_the_naive_twin_and_of_scikit_learn(average, both, sparse):
    truth, answers = both
    members = [[set(np.flatnonzero(row).tolist()) for row in dense] for dense in both]
    found = f1_of_sets(*(map(sp.csc_array, both) if sparse else both), average=average)
    assert found == pytest.approx(twins.f1_of_sets(*members, truth.shape[1], average))
    assert found == pytest.approx(f1_score(truth, answers, average=average, zero_division=0))


@pytest.mark.parametrize("average", AVERAGES)
def test_targets_are_sets_whatever_their_values_are(average):
    truth = Targets(sp.csr_array(np.array([[16, 0], [16, 16]], dtype=np.uint8)), 2)
    assert f1_of_sets(truth, truth, average) == 1.0
    assert f1_of_sets(Targets(np.array([0, 1]), 2), [[1, 0], [0, 1]], average) == 1.0


def test_what_cannot_be_compared_is_named():
    with pytest.raises(InputError, match="predicted has 2 rows and Y has 1"):
        f1_of_sets([[0, 1]], [[0, 1], [1, 0]])
    with pytest.raises(
        InputError, match="predicted has 3 labels and Y has 2; give the same number"
    ):
        f1_of_sets([[0, 1]], [[0, 1, 0]])
    with pytest.raises(InputError, match=r"predicted\[0, 0\] is 0.7; give 1"):
        f1_of_sets([[0, 1]], [[0.7, 0.0]])
    with pytest.raises(InputError, match="average='makro' is not known. Did you mean 'macro'"):
        f1_of_sets([[0, 1]], [[0, 1]], average="makro")
