"""What reaches fit and predict: kinds of rows and labels, validation rows, seeds."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from comparing import same_model
from dsnc.classifier.inputs import hold_out, seed_of
from dsnc.errors import InputError
from dsnc.targets import Targets
from input_rows import X, Y, blobs, quick

# Labels


@pytest.mark.parametrize(
    "labels",
    [
        np.array([7, -3, 2**60 + 1, 0]),
        np.array([1, 2, 3, 4], dtype=np.uint8),
        np.array([0, 2**64 - 1, 5, 2**63], dtype=np.uint64),
        np.array(["b", "ä", "", "字"]),
        np.array(["b", "ä", "a\0", "a"], dtype=object),
        np.array([1.0, -2.0, 1e9, 0.0]),
        np.array([1.0, -2.0, 1e9, 0.0], dtype=np.float32),
    ],
    ids=lambda labels: f"{labels.dtype}-{labels[0]!r}",
)
def test_labels_of_any_kind_come_back(labels):
    y = labels[Y]
    model = quick().fit(X, y)
    predicted = model.predict(X)
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert model.classes_.dtype == predicted.dtype == labels.dtype
    assert np.mean(predicted == y) > 0.9


@pytest.mark.parametrize("labels", [[True, False], ["no", "yes"], [0, 1], [3.0, -1.0]])
def test_two_classes(labels):
    y = [labels[i] for i in Y % 2]
    model = quick(n_bits=6).fit(X[:, :2], y)
    assert model.score(X[:, :2], y) > 0.5
    assert model.predict_proba(X[:, :2]).shape == (len(X), 2)


def test_a_class_with_one_example_and_unbalanced_ones():
    y = np.where(Y == 1, 0, Y)
    y[5] = 99
    rows = X.copy()
    rows[5] = 255
    model = quick(validation_fraction=0.4).fit(rows, y)
    assert model.data_["validation"]["never_held_out"] == 1
    assert model.classes_.tolist() == [0, 2, 3, 99]
    assert model.predict(rows[5:6]) == [99]


def test_of_two_rows_of_a_class_either_may_be_held_out():
    model = quick(validation_fraction=0.4, max_epochs=1).fit(X, np.arange(len(X)) // 2)
    assert model.data_["validation"]["rows"] > 10
    assert model.data_["validation"]["never_held_out"] == 0


# Rows


DENSE = [np.float64, np.float32, np.float16, np.uint8, np.int64, np.int8, np.longdouble, ">f4"]


@pytest.mark.parametrize("dtype", DENSE)
def test_dense_rows_of_any_type(dtype):
    rows = (X / 2).astype(dtype)
    assert quick().fit(rows, Y).score(rows, Y) > 0.9


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8, np.int16, np.int64])
@pytest.mark.parametrize("scaling", ["unit_rows", "none"])
def test_sparse_and_dense_rows_of_any_type_train_alike(dtype, scaling):
    # Values up to 255: in the narrow types their squares are beyond the type's range.
    rows = X.astype(dtype)
    settings = {"scaling": scaling}
    sparse = quick(**settings).fit(sp.csr_array(rows), Y)
    as_float = quick(**settings).fit(sp.csr_array(rows.astype(np.float64)), Y)
    assert same_model(sparse, as_float)
    assert np.array_equal(sparse.predict(rows), sparse.predict(sp.csr_array(rows)))


FEW = X * (X > 60)


@functools.cache
def fitted_to_sparse_rows():
    return quick().fit(sp.csr_array(FEW), Y)


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_rows_in_any_format(index_type, format, kind):
    make = {"array": sp.coo_array, "matrix": sp.coo_matrix}[kind]
    rows = make(FEW).asformat(format)
    for name in {"csr": ("indices", "indptr"), "csc": ("indices", "indptr")}.get(format, ()):
        setattr(rows, name, getattr(rows, name).astype(index_type))
    model = quick().fit(rows, Y)
    assert same_model(model, fitted_to_sparse_rows())
    assert model.data_["sparse"]
    assert np.array_equal(model.predict(rows), model.predict(FEW))


def test_lists_and_memory_maps(tmp_path):
    expected = quick().fit(X, Y)
    assert same_model(quick().fit(X.tolist(), Y.tolist()), expected)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = quick().fit(mapped, Y)
    assert same_model(model, expected)
    assert np.array_equal(model.predict(mapped), expected.predict(X))


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_left_alone(dtype, writeable):
    expected = X.astype(dtype)
    rows, labels, sparse = expected.copy(), Y.copy(), sp.csr_array(expected)
    for array in (rows, labels, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = writeable
    for some in (rows, sparse):
        quick(max_epochs=1).fit(some, labels).predict(some)
        quick(max_epochs=1, validation_fraction=0).fit(some, labels)
        quick(max_epochs=1).fit(some, labels, validation=(some, labels))
        quick(max_epochs=1).partial_fit(some, labels, classes=labels)
    assert np.array_equal(rows, expected)
    assert np.array_equal(sparse.toarray(), expected)
    assert np.array_equal(labels, Y)


def test_an_offset_and_a_scale_of_the_features_do_not_matter():
    scale = np.array([1e-6, 1, 1e6, 1e-3, 1e3])
    shift = np.array([1e-3, 1e3, -1e8, 1, -1e6])
    assert quick().fit(X * scale + shift, Y).score(X * scale + shift, Y) > 0.9


# Validation rows


@given(
    y=st.lists(st.integers(0, 6), min_size=1, max_size=60),
    fraction=st.floats(0, 1, exclude_max=True),
    seed=st.integers(0, 2**40),
    data=st.data(),
)
def test_hold_out_leaves_every_class_a_row(y, fraction, seed, data):
    y = np.array(y, dtype=np.int32)
    some = data.draw(st.none() | st.sets(st.integers(0, len(y) - 1), min_size=1))
    rows = np.arange(len(y)) if some is None else np.array(sorted(some))
    targets = Targets(y, 7)
    train, held = hold_out(targets, fraction, seed, None if some is None else rows)
    assert np.array_equal(np.sort(np.concatenate([train, held])), rows)
    assert set(y[train]) == set(y[rows])
    n_classes = len(set(y[rows].tolist()))
    n_drawn = int(fraction * len(rows))
    assert max(0, n_drawn - n_classes) <= len(held) <= min(n_drawn, len(rows) - n_classes)
    again = hold_out(targets, fraction, seed, None if some is None else rows)
    assert np.array_equal(again[0], train)
    assert np.array_equal(again[1], held)


SIZES = (2, 3, 5, 20, 400)  # rows of a class
SEEDS = range(60)


def drawn(targets, rows=None):
    """Return how often each row is held out."""
    counts = np.zeros(len(targets))
    for seed in SEEDS:
        counts[hold_out(targets, 0.1, seed, rows)[1]] += 1
    return counts


def is_by_chance(counts, expected=0.1):
    """Tell whether rows were held out as often as independent draws would have it: five sigma."""
    n = counts.size * len(SEEDS)
    return abs(counts.sum() / n - expected) <= 5 * np.sqrt(expected * (1 - expected) / n)


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
def test_held_out_rows_are_like_all_rows(in_order, part):
    # Classes of each size hold 2,000 rows together.
    sizes = np.repeat(SIZES, [2000 // size for size in SIZES])
    y = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    y = y if in_order else np.random.default_rng(0).permutation(y)
    rows = np.arange(0, len(y), 2) if part else None  # which leaves classes with fewer
    counts = drawn(Targets(y, len(sizes)), rows)
    here = np.arange(len(y)) if rows is None else rows
    assert not counts[np.setdiff1d(np.arange(len(y)), here)].any()
    left = np.bincount(y[here], minlength=len(sizes))
    for size in np.unique(left[y[here]]):
        of_size = here[left[y[here]] == size]
        # A class whose rows are all drawn gets one back.
        assert is_by_chance(counts[of_size], 0.1 - 0.1**size / size), size
    large = here[left[y[here]] > 5]
    for third in np.array_split(large, 3):
        assert is_by_chance(counts[third])


def test_held_out_label_sets_are_like_all_of_them():
    rng = np.random.default_rng(0)
    sets = (rng.random((3000, 40)) < rng.uniform(0.01, 0.2, 40)).astype(np.int8)
    counts = drawn(Targets(sp.csr_array(sets), 40))
    for label in sets.T.astype(bool):
        assert is_by_chance(counts[label])
    for third in np.array_split(counts, 3):
        assert is_by_chance(third)


@given(sets=st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=30), seed=st.integers(0, 99))
def test_every_label_keeps_a_row(sets, seed):
    flat = np.array([label for each in sets for label in sorted(each)], dtype=np.int32)
    targets = Targets.from_lists(flat, [len(each) for each in sets], 6)
    train, held = hold_out(targets, 0.5, seed)
    assert np.array_equal(targets.take(train).counts() > 0, targets.counts() > 0)
    assert len(held) <= len(sets) // 2


@pytest.mark.parametrize("fraction", [1, 1.0, -0.1, 2, float("nan"), "0.1", None, [0.1]])
def test_an_impossible_validation_fraction(fraction):
    with pytest.raises(InputError, match="validation_fraction=.* at least 0 and below 1"):
        quick(validation_fraction=fraction).fit(X, Y)


def test_no_validation():
    model = quick(validation_fraction=0).fit(X, Y)
    assert model.history_.best_accuracy is None
    assert set(model.history_.column("validation_accuracy")) == {None}
    assert model.data_["rows"] == len(X)
    assert model.score(X, Y) > 0.9


def test_a_share_is_held_out():
    model = quick(validation_fraction=0.25).fit(X, Y)
    assert model.data_["rows"] == len(X) - 20
    assert model.data_["validation"] == {"rows": 20, "never_held_out": 0}
    assert model.history_.best_accuracy == max(model.history_.column("validation_accuracy"))


def test_given_validation_rows_choose_the_epoch():
    other, labels = blobs(seed=0, n=40)
    model = quick().fit(X, Y, validation=(other, labels))
    assert model.data_["rows"] == len(X)
    assert model.score(other, labels) == pytest.approx(model.history_.best_accuracy, abs=1e-5)
    some = labels < 2  # not every class has to be there
    quick().fit(X, Y, validation=(other[some], labels[some]))


def test_given_validation_rows_may_be_sparse_where_the_others_are_dense():
    rows = X + 50
    dense = quick().fit(rows, Y, validation=(rows, Y))
    sparse = quick().fit(rows, Y, validation=(sp.csr_array(rows), Y))
    accuracies = sparse.history_.column("validation_accuracy")
    assert accuracies == dense.history_.column("validation_accuracy")


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ((X, Y + 9), "None of the 80 validation rows has a label that was learned"),
        ((X, Y.astype(str)), "None of the 80 validation rows has a label"),
        ((X, Y.astype(str).astype(object)), "None of the 80 validation rows has a label"),
        ((X[:, :2], Y), "X has 2 features, but DSNCClassifier is expecting 5"),
        ((X, Y[:-1]), "inconsistent numbers of samples"),
        ((X[:0], Y[:0]), "0 sample"),
        (X, r"validation is of type ndarray; pass a pair \(X, y\)"),
        ((X, Y, Y), r"pass a pair \(X, y\)"),
    ],
)
def test_wrong_validation_rows(validation, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(X, Y, validation=validation)


# Seeds


def test_seeds():
    assert seed_of(7) == seed_of(np.int64(7)) == 7
    assert seed_of(2**80) == 2**80
    assert seed_of(np.random.RandomState(3)) == seed_of(np.random.RandomState(3))
    assert seed_of(None) != seed_of(None)


def test_validation_rows_of_unknown_classes_are_left_out_and_counted():
    other, labels = blobs(seed=0, n=40)
    strange = np.append([77, 78], labels)
    with pytest.warns(UserWarning, match=r"2 of 42 validation rows have labels .* such as 77"):
        model = quick().fit(X, Y, validation=(np.vstack([other[:2], other]), strange))
    assert same_model(model, quick().fit(X, Y, validation=(other, labels)))
    with pytest.raises(InputError, match="None of the 40 validation rows has a label"):
        quick().fit(X, Y, validation=(other, labels + 100))
