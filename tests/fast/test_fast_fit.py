"""What `fit` and `partial_fit` promise, kept by the fast trainer."""

import numpy as np
import pytest
import scipy.sparse as sp

from animals import ANIMALS, X_TEST, Y_TEST, X, Y
from comparing import same_model
from dsnc import DSNCClassifier
from dsnc.errors import DsncWarning, InputError
from dsnc.fast import rows as fast_rows


def quick(**settings):
    return DSNCClassifier(**{"n_bits": 16, "max_epochs": 12, "trainer": "fast"} | settings)


def shared_words(n=120):
    """Sparse rows of six classes."""
    rng = np.random.default_rng(0)
    columns = (np.arange(n) % 6 * 20)[:, None] + rng.integers(0, 20, (n, 5))
    values = np.ones(5 * n, np.float32), (np.repeat(np.arange(n), 5), columns.ravel())
    return sp.csr_array(values, shape=(n, 150))


# Weights


@pytest.mark.parametrize("validation_fraction", [0, 0.3])
def test_rows_of_weight_zero_do_not_exist(validation_fraction):
    weight = (np.arange(2 * len(X)) < len(X)).astype(float)
    models = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        rows = np.concatenate([X, rng.normal(scale=1e6, size=X.shape)])
        labels = np.concatenate([Y, rng.choice(ANIMALS, len(X))])
        model = quick(validation_fraction=validation_fraction)
        models.append(model.fit(rows, labels, sample_weight=weight))
    assert same_model(*models)
    assert models[0].score(X_TEST, Y_TEST) > 0.9


def test_a_weight_of_two_is_like_a_row_twice():
    """The same rows with two opinions: whichever counts more is learned."""
    others = np.roll(ANIMALS, 1)[np.searchsorted(ANIMALS, Y)]
    rows, labels = np.concatenate([X, X]), np.concatenate([Y, others])
    heavy = np.arange(len(rows)) < len(X)
    model = quick(validation_fraction=0)
    weighted = model.fit(rows, labels, sample_weight=1.0 + 2 * heavy).predict_proba(X)
    picked = np.concatenate([np.arange(len(rows)), *[np.flatnonzero(heavy)] * 2])
    repeated = model.fit(rows[picked], labels[picked]).predict_proba(X)
    own = np.searchsorted(ANIMALS, Y), np.searchsorted(ANIMALS, others)
    for found in (weighted, repeated):
        mine, theirs = (found[np.arange(len(X)), numbers].mean() for numbers in own)
        assert mine > 0.6 and mine > 1.5 * theirs > 0.05


def test_class_weight_is_a_sample_weight():
    weight = np.where(Y == "ant", 3.0, 1.0)
    by_class = quick(class_weight={name: 1 + 2 * (name == "ant") for name in ANIMALS}).fit(X, Y)
    assert same_model(by_class, quick().fit(X, Y, sample_weight=weight))
    assert not same_model(by_class, quick().fit(X, Y))


# Validation, and when to stop


def test_rows_are_held_out_given_or_none():
    held_out = quick(validation_fraction=0.25).fit(X, Y)
    assert held_out.history_.column("validation_rows") == [30] * 12
    assert held_out.history_.best_accuracy > 0.8
    given = quick(validation_every=5).fit(X, Y, validation=(X_TEST, Y_TEST))
    measured = [None if k not in (5, 10, 12) else 90 for k in range(1, 13)]
    assert given.history_.column("validation_rows") == measured
    assert given.figures_["validation_accuracy"] > 0.9
    none = quick(validation_fraction=0).fit(X, Y)
    assert none.history_.column("validation_accuracy") == [None] * 12
    assert none.history_.best_epoch is None
    assert all(model.score(X_TEST, Y_TEST) > 0.9 for model in (held_out, given, none))


def test_the_best_epoch_is_kept():
    """Labels are noise, so that accuracies go up and down."""
    labels = np.random.default_rng(0).permutation(Y)
    model = quick(validation_fraction=0.5, decoder="linear").fit(X, labels)
    best = model.history_.best_epoch
    assert best < 12
    assert model.history_.best_accuracy == max(model.history_.column("validation_accuracy"))

    def stop(progress):
        if progress.epoch.epoch == best:
            progress.stop()

    again = quick(validation_fraction=0.5, decoder="linear", callbacks=[stop])
    assert same_model(again.fit(X, labels), model)


def test_callbacks_see_each_epoch_and_may_stop():
    seen = []

    def callback(progress):
        seen.append(progress.epoch)
        if progress.epoch.epoch == 3:
            progress.stop()

    model = quick(callbacks=[callback]).fit(X, Y)
    assert model.history_.epochs == seen and model.n_iter_ == 3
    assert model.history_.stopped == "a callback asked for it"
    assert [epoch.rows for epoch in seen] == [108] * 3
    assert all(np.isfinite(epoch.loss) and epoch.learning_rate > 0 for epoch in seen)


@pytest.mark.parametrize("max_epochs", [1, 3])
def test_as_many_epochs_as_were_asked_for(max_epochs):
    model = quick(max_epochs=max_epochs).fit(X, Y)
    assert (model.n_iter_, model.history_.stopped) == (max_epochs, "max_epochs reached")


def test_patience_ends():
    model = quick(patience=2, max_epochs=100).fit(X, Y)
    assert model.n_iter_ < 100
    assert model.history_.stopped == "no progress in 2 validations"


def test_the_time_limit_stops_within_an_epoch(monkeypatch):
    monkeypatch.setattr(fast_rows, "_MOST", 32)  # rows between two looks at the clock
    model = quick(time_limit=1e-9).fit(X, Y)
    assert model.history_.stopped == "time_limit reached"
    assert model.history_.column("rows") == [32]
    assert model.predict(X).shape == (len(X),)


def test_a_generous_time_limit_changes_nothing():
    assert same_model(quick(time_limit=1e6).fit(X, Y), quick().fit(X, Y))


def test_ctrl_c_keeps_the_best():
    def ctrl_c(progress):
        if progress.epoch.epoch == 4:
            raise KeyboardInterrupt

    with pytest.warns(DsncWarning, match="interrupted in epoch 5 of 12; the best model so far"):
        model = quick(callbacks=[ctrl_c]).fit(X, Y)
    assert model.history_.stopped == "interrupted" and model.n_iter_ == 4
    assert model.score(X_TEST, Y_TEST) > 0.7


def test_a_loss_that_is_no_number_names_the_learning_rate():
    with pytest.raises(
        InputError, match=r"The loss is nan after epoch 1; try learning_rate=2e\+37"
    ):
        quick(learning_rate=2e38).fit(X, Y)


# Rows of every kind


def test_the_same_numbers_of_any_type_learn_the_same(tmp_path):
    rows = np.round(X * 4).astype(np.int64)
    model = quick().fit(rows, Y)
    np.save(tmp_path / "rows.npy", rows.astype(np.float32))
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    kinds = [rows.astype(t) for t in (np.float64, np.float32, np.float16, np.int16)]
    frozen = rows.astype(np.float32)
    frozen.flags.writeable = False
    for other in (*kinds, mapped, frozen, np.asfortranarray(rows), rows.tolist()):
        assert same_model(quick().fit(other, Y), model)


def test_sparse_rows_of_any_form_learn_the_same():
    rows, labels = shared_words(), ANIMALS[np.arange(120) % 6]
    rows.sum_duplicates()
    model = quick().fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    shuffled, twice = rows.copy(), rows.copy()
    for start, stop in zip(rows.indptr, rows.indptr[1:], strict=False):
        for array in (shuffled.indices, shuffled.data):
            array[start:stop] = array[start:stop][::-1].copy()
    shuffled.has_sorted_indices = False
    halves = np.repeat(twice.data / 2, 2), np.repeat(twice.indices, 2), 2 * twice.indptr
    twice = sp.csr_array(halves, shape=rows.shape)
    wide = sp.csr_array((rows.data.astype(float), rows.indices.astype(np.int64), rows.indptr))
    wide.resize(rows.shape)
    for other in (shuffled, twice, wide, rows.tocsc(), rows.astype(np.int32)):
        assert same_model(quick().fit(other, labels), model)
    dense, arrays = (
        quick().fit(rows.toarray(), labels).predictor_.arrays(),
        model.predictor_.arrays(),
    )
    # A product of dense rows is rounded in its own way, which the calibration may notice.
    calibrated = {"decoder.confidence", "decoder.curve"}
    assert all(np.array_equal(dense[n], arrays[n]) for n in arrays if n not in calibrated)
    for name in calibrated:
        assert dense[name] == pytest.approx(arrays[name], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("scaling", ["none", "auto"])
def test_entries_in_pieces_count_as_their_sum(scaling):
    """Rows that are not divided by their length."""
    rows = sp.csr_array(np.round(X * 4))
    halves = np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), 2 * rows.indptr
    pieces = sp.csr_array(halves, shape=rows.shape)
    one, other = (quick(scaling=scaling).fit(each, Y) for each in (rows, pieces))
    expected, found = one.predictor_.arrays(), other.predictor_.arrays()
    assert expected.keys() == found.keys()
    for name, array in expected.items():  # only the calibration sees how the sums are rounded
        tolerance = 1e-5 if name in ("decoder.confidence", "decoder.curve") else 0
        np.testing.assert_allclose(found[name], array, rtol=tolerance, err_msg=name)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(value):
    rows = X.copy()
    rows[3, 2] = value
    for other in (rows, sp.csr_array(rows)):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            quick().fit(other, Y)


def test_one_row_for_each_class():
    rows = np.random.default_rng(0).normal(size=(40, 10))
    model = quick(n_bits=32, max_epochs="auto").fit(rows, np.arange(40))
    assert model.history_.column("validation_accuracy")[0] is None  # none could be spared
    assert model.score(rows, np.arange(40)) > 0.9


@pytest.mark.parametrize("n_bits", [1, 16])
def test_two_classes(n_bits):
    two = np.isin(Y, ["ant", "bee"])
    model = quick(n_bits=n_bits, max_epochs="auto").fit(X[two], Y[two])
    assert model.score(X[two], Y[two]) > 0.95
    assert model.decision_function(X).shape == (len(X),)


def test_rows_without_any_feature():
    rows = shared_words()
    rows = sp.csr_array((rows.shape[0], rows.shape[1]), dtype=np.float32)
    model = quick().fit(rows, Y)
    assert np.isfinite(model.predict_proba(rows)).all()


def test_codes_longer_than_an_octet_can_count():
    assert quick(n_bits=300).fit(X, Y).score(X_TEST, Y_TEST) > 0.9
