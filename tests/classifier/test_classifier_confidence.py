"""How sure a classifier is, and rows that it rejects."""

import numpy as np
import pytest

from dsnc.errors import InputError
from many_classes import NAMES, X_TEST, Y_TEST, quick, rows_and_labels


def test_rows_that_are_too_unsure_are_rejected(model):
    sure = model.predict_top_k(X_TEST, k=1)[1][:, 0]
    limit = float(np.sort(sure)[len(sure) // 2])  # a row that is just sure enough is kept
    answers = model.predict(X_TEST, reject_below=limit)
    assert answers.dtype == object
    is_rejected = np.array([answer is None for answer in answers])
    assert np.array_equal(is_rejected, sure < limit)
    assert 0.3 < is_rejected.mean() < 0.7
    kept = ~is_rejected
    assert answers[kept].tolist() == model.predict(X_TEST)[kept].tolist()
    assert np.mean(answers[kept] == Y_TEST[kept]) > model.score(X_TEST, Y_TEST) + 0.1


def test_what_rejected_rows_get_decides_the_type(model):
    answers = model.predict(X_TEST, reject_below=0.5, rejected=-1)
    assert answers.dtype == model.classes_.dtype
    assert np.array_equal(answers == -1, model.predict_top_k(X_TEST, k=1)[1][:, 0] < 0.5)
    for rejected in ("unknown", 0.5, None):
        answers = model.predict(X_TEST, reject_below=0.5, rejected=rejected)
        assert answers.dtype == object
        assert rejected in answers.tolist()
        assert {type(answer) for answer in answers.tolist()} == {int, type(rejected)}


@pytest.mark.parametrize(
    ("rejected", "kind"), [("?", "U"), ("many letters", "O"), (-1, "O"), (None, "O")]
)
def test_rejected_rows_among_text_labels(small, rejected, kind):
    rows, numbers = small
    model = quick(max_epochs=1).fit(rows, np.array([f"no. {number}" for number in numbers]))
    answers = model.predict(rows, reject_below=1.0, rejected=rejected)
    assert answers.dtype.kind == kind
    assert set(answers.tolist()) == {rejected}


def test_all_or_none_are_rejected(model):
    assert np.array_equal(model.predict(X_TEST, reject_below=0), model.predict(X_TEST))
    assert (model.predict(X_TEST, reject_below=0, rejected=-1) != -1).all()
    answers = model.predict(X_TEST, reject_below=1.0, rejected=-1)
    assert np.array_equal(answers == -1, model.predict_top_k(X_TEST, k=1)[1][:, 0] < 1)


@pytest.mark.parametrize("limit", [1.5, -0.1, np.nan])
def test_what_is_no_probability_is_refused(model, limit):
    with pytest.raises(InputError, match=f"reject_below={limit} is not a probability from 0 to 1"):
        model.predict(X_TEST, reject_below=limit)


@pytest.mark.parametrize("choice", ["auto", *NAMES])
@pytest.mark.parametrize("k", [1, 10, 200, 720])
def test_probabilities_of_the_best_are_those_of_all(others, choice, k):
    other, rows = others(choice), X_TEST[:60]
    labels, some = other.predict_top_k(rows, k=k)
    everything = other.predict_proba(rows)
    np.testing.assert_allclose(everything.sum(axis=1), 1, rtol=1e-4)
    assert (some.sum(axis=1) <= 1 + 1e-4).all()
    columns = np.searchsorted(other.classes_, labels)
    np.testing.assert_allclose(np.take_along_axis(everything, columns, axis=1), some, rtol=1e-5)
    assert np.array_equal(labels[:, 0], other.predict(rows))
    assert np.array_equal(everything.argmax(axis=1), columns[:, 0])
    assert all(len(set(row)) == k for row in labels.tolist())


def test_confidence_is_honest_on_fresh_rows(others):
    rows, labels = rows_and_labels(3000, part=2)
    for name in ("auto", "soft", "linear"):
        answers, sure = others(name).predict_top_k(rows, k=1)
        assert sure.mean() == pytest.approx((answers[:, 0] == labels).mean(), abs=0.08)
