"""Classes come and go on a fitted or loaded model; the others stay."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
from dsnc.errors import DsncWarning, InputError

X, Y = make_blobs(2400, centers=24, n_features=16, cluster_std=2.0, random_state=0)
X = X.astype(np.float32)
OLD, TEST = Y < 18, np.arange(len(Y)) % 4 == 0


def quick(**settings):
    return dsnc.DSNCClassifier(**{"n_bits": 24, "max_epochs": 5, "reranker": None, **settings})


def trained(**settings):
    return quick(**settings).fit(X[OLD & ~TEST], Y[OLD & ~TEST])


@pytest.fixture(scope="module")
def base():
    return trained()


@pytest.fixture
def model(base, tmp_path):
    base.save(tmp_path / "base")
    return dsnc.load(tmp_path / "base")


def come(model, classes=range(18, 24), rows=1000):
    which = np.isin(Y, list(classes)) & ~TEST
    places = np.concatenate([np.flatnonzero(which & (Y == k))[:rows] for k in classes])
    return model.add_classes(X[places], Y[places])


def scores(model):
    return [model.score(X[TEST & part], Y[TEST & part]) for part in (OLD, ~OLD)]


def test_new_classes_are_learned_and_old_ones_are_not_forgotten(model):
    before = scores(model)[0]
    come(model)
    old, new = scores(model)
    assert list(model.classes_) == list(range(24))
    assert old > before - 0.02
    assert new > 0.97
    assert model.predict_proba(X[:7]).shape == (7, 24)


@pytest.mark.parametrize("rows", [1, 5])
def test_a_few_rows_are_enough(model, rows):
    old, new = scores(come(model, rows=rows))
    assert 2 / (1 / old + 1 / new) > 0.85


def test_ten_additions_are_worth_one(model):
    once = np.mean(scores(come(trained())))
    for k in range(18, 24):
        come(model, [k])
    assert np.mean(scores(model)) > once - 0.02


@pytest.mark.parametrize(
    "decoder", ["linear", "soft", "nearest", {"name": "shortlist", "known": "training"}]
)
def test_every_decoder_takes_and_gives_up_classes(decoder):
    model = come(trained(decoder=decoder))
    assert min(scores(model)) > 0.9
    model.remove_classes([2, 20])
    assert model.predict_proba(X[:5]).shape == (5, 22)
    assert not np.isin(model.predict(X), [2, 20]).any()
    assert not np.isin(model.predict_top_k(X[:50], 22)[0], [2, 20]).any()


@pytest.mark.parametrize("source", ["nearest", "linear"])
def test_tables_are_made_anew(source):
    model = come(trained(n_bits=10, decoder={"name": "table", "source": source}))
    assert min(scores(model)) > 0.8
    assert 3 not in model.remove_classes(3).predict(X)


def test_a_table_that_is_too_small_says_so():
    is_one = np.isin(Y, range(4)) & ~TEST
    model = quick(n_bits=2, decoder="table").fit(X[is_one], Y[is_one])
    with pytest.raises(InputError, match=r"decoder='table' has 2\*\*2 entries.*with_decoder"):
        come(model, [5])
    assert list(model.classes_) == [0, 1, 2, 3]


def test_removed_classes_come_back_to_their_place(model):
    model.remove_classes([3, 7])
    assert list(model.classes_) == [k for k in range(18) if k not in (3, 7)]
    come(model, [20, 3])
    assert list(model.classes_) == [k for k in range(18) if k != 7] + [20]
    come(model, [7])
    assert list(model.classes_) == [*range(18), 20]
    assert model.score(X[OLD & TEST], Y[OLD & TEST]) > 0.95


def test_others_predict_as_before_when_classes_go(model):
    labels, _ = model.predict_top_k(X[:300], 2)
    model.remove_classes([4])
    expected = np.where(labels[:, 0] == 4, labels[:, 1], labels[:, 0])
    assert (model.predict(X[:300]) == expected).mean() > 0.99


def test_more_rows_of_known_classes(model):
    come(model, [1, 2, 3])
    assert list(model.classes_) == list(range(18))
    assert model.score(X[OLD & TEST], Y[OLD & TEST]) > 0.95


def test_a_file_keeps_everything(model, tmp_path):
    come(model).remove_classes([0])
    model.save(tmp_path / "changed")
    again = dsnc.load(tmp_path / "changed")
    assert (again.predict(X) == model.predict(X)).all()
    assert list(again.classes_) == list(model.classes_)
    assert again._memory.balance == model._memory.balance
    assert list(come(again, [0]).classes_) == list(range(24))
    card = (tmp_path / "changed" / "README.md").read_text()
    assert "## Changes since training" in card
    assert "classes added 6" in card


def test_strings_and_long_labels():
    names = np.array([f"c{k}" for k in range(24)])
    model = quick().fit(X[OLD & ~TEST], names[Y[OLD & ~TEST]])
    model.add_classes(X[Y == 20], np.full((Y == 20).sum(), "a very long new label"))
    assert model.classes_[-1] == "a very long new label"
    assert (model.predict(X[Y == 20]) == "a very long new label").mean() > 0.9


def test_texts_and_their_second_stage():
    words = [f"w{i}" for i in range(400)]
    rng = np.random.default_rng(0)
    y = np.arange(900) % 30
    texts = [
        " ".join(rng.choice(words[k * 12 : k * 12 + 16], 4)) + " " + rng.choice(words) for k in y
    ]
    old = y < 24
    model = dsnc.DSNCClassifier(
        n_bits=32, max_epochs=8, reranker="features", text={"words": (1, 1)}
    )
    model.fit([t for t, k in zip(texts, old, strict=True) if k], y[old])
    model.add_classes([t for t, k in zip(texts, old, strict=True) if not k], y[~old])
    assert model.predictor_.reranker.vectors.n_classes == 30
    right = model.predict(texts) == y
    assert right[old].mean() > 0.75
    assert right[~old].mean() > 0.75
    assert model.remove_classes([1]).predictor_.reranker.vectors.n_classes == 29


def test_without_a_memory_it_works_and_says_what_is_lost():
    model = trained(memory=0)
    assert model._memory is None
    with pytest.warns(DsncWarning, match="remembers nothing of its classes"):
        come(model)
    assert min(scores(model)) > 0.8


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([1, 1], "lists a class twice"),
        ([99], r"labels\[0\] is 99, which is not one of the 18 classes"),
        (list(range(18)), "at least two must remain"),
    ],
)
def test_refusals_change_nothing(model, labels, message):
    before = dict(vars(model))
    with pytest.raises(InputError, match=message):
        model.remove_classes(labels)
    assert vars(model) == before


def test_a_failed_addition_changes_nothing(model):
    before, answers = dict(vars(model)), model.predict(X)
    with pytest.raises(InputError, match="use one type"):
        model.add_classes(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="features"):
        model.add_classes(X[:2, :5], [50, 51])
    assert vars(model) == before
    assert (model.predict(X) == answers).all()


def test_memory_must_be_a_number():
    with pytest.raises(InputError, match="memory=-1"):
        trained(memory=-1)


def test_partial_fit_adds_labels_that_it_has_never_seen(model):
    rows = np.flatnonzero((Y == 20) & ~TEST)
    model.partial_fit(X[rows], Y[rows])
    assert list(model.classes_) == [*range(18), 20]
    mixed = np.flatnonzero(np.isin(Y, [3, 21]) & ~TEST)
    model.partial_fit(X[mixed], Y[mixed])
    assert model.classes_[-1] == 21
    assert model.score(X[TEST & (Y == 21)], Y[TEST & (Y == 21)]) > 0.5


def test_partial_fit_of_other_classes_is_refused_whole(model):
    before = list(model.classes_)
    rows = np.flatnonzero(Y == 20)
    with pytest.raises(InputError, match="classes differs"):
        model.partial_fit(X[rows], Y[rows], classes=[1, 2])
    assert list(model.classes_) == before
