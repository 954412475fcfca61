"""Paired tests: what is within chance is called so, and what is not is not."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom, ttest_rel

from peers.data import Data, Part
from peers.paired import add_tests, holm, outcomes_of, p_value, p_values


def test_of_yes_or_no_only_rows_that_differ_count():
    a = np.array([True] * 90 + [False] * 10)
    b = np.array([True] * 88 + [False] * 11 + [True])
    assert p_value(a, b) == pytest.approx(2 * (binom.pmf(0, 3, 0.5) + binom.pmf(1, 3, 0.5)))
    assert p_value(a, a) == 1
    assert p_value(np.r_[a, [True] * 1000], np.r_[b, [True] * 1000]) == p_value(a, b)


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.1])
def test_of_means_the_signs_of_differences_are_drawn(shift):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 5, 500).astype(float)
    b = a + rng.normal(shift, 0.5, 500)
    found, expected = p_value(a, b), max(2e-4, ttest_rel(a, b).pvalue)
    assert abs(found - expected) < 5 * np.sqrt(expected / 9999) + 1e-4


def test_p_values_hold_for_all_comparisons_together():
    assert holm({"a": 0.04, "b": 0.01, "c": 0.03}) == pytest.approx(
        {"b": 0.03, "c": 0.06, "a": 0.06}
    )
    rng = np.random.default_rng(0)
    alike = {str(i): rng.random(400) < 0.7 for i in range(10)}
    small = [min(p_values(alike, str(i)).values()) < 0.05 for i in range(10)]
    assert sum(small) <= 3


def table(n=400):
    """A test set whose first answers are right with these shares; "poor" names but one class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, n)
    part = Part(None, y, None)
    answers = {}
    for name, share in (("dsnc n_bits=8", 0.8), ("same", 0.8), ("poor", 0.5)):
        first = np.where(rng.random(n) < share, y, (y + 1) % 20)
        several = np.column_stack([first, *((first + i) % 20 for i in range(2, 6))])
        answers[name] = np.column_stack([first, several[:, : 1 if name == "poor" else 5]])
    return answers, Data("set", 20, False, part, part, part)


def test_rows_have_p_values_against_ours_and_against_the_best():
    answers, data = table()
    rows = [{"contestant": name} for name in (*answers, "left out")]
    add_tests(rows, answers, data, "dsnc n_bits=8")
    ours, same, poor, none = rows
    assert "p top-1 %" not in ours and same["p top-1 %"] > 0.05 > 1e-6 > poor["p top-1 %"]
    assert "p top-5 %" in same and "p top-5 %" not in poor  # it names the best class alone
    best = max((ours, same), key=lambda row: "p best top-1 %" not in row)
    assert "p best top-1 %" not in best and poor["p best top-1 %"] < 1e-6
    assert none.keys() == {"contestant"}


def test_label_sets_have_figures_of_rankings_of_each_row():
    Y = sp.csr_matrix([[1, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1]])
    part = Part(None, Y, None)
    answers = {"one": np.array([[0, 0, 2, 1, -1, -1], [0, 0, 2, 3, 4, 5], [3, 3, 4, 5, 0, 1]])}
    found = outcomes_of(answers, Data("sets", 6, False, part, part, part))
    assert found["P@1 %"]["one"].tolist() == [True, False, True]
    assert found["P@3 %"]["one"].tolist() == [2, 0, 3]
    assert found["P@5 %"]["one"].tolist() == [2, 0, 3]
    assert found["PSP@5 %"]["one"][1] == 0 < found["PSP@5 %"]["one"][0]
