"""Classes of which no row is known: from descriptions, and from attributes."""

import copy

import numpy as np
import pytest

import dsnc
from dsnc.errors import DsncWarning, InputError

# A class is a pair of topics; its rows and its description draw from the words of both.
TOPICS = 9
PAIRS = [(a, b) for a in range(TOPICS) for b in range(a)]
NAMES = np.array([f"c{a}{b}" for a, b in PAIRS])
RNG = np.random.default_rng(0)


def text(k, n=5, rng=RNG):
    words = [f"w{topic}{'abcdef'[i]}" for topic in PAIRS[k] for i in range(6)]
    return " ".join(rng.choice(words, n, replace=False))


Y = np.arange(len(PAIRS)).repeat(60)
X = np.array([text(k) for k in Y], dtype=object)
SAID = {name: [text(k, 8), text(k, 8)] for k, name in enumerate(NAMES)}
NEW = Y % 5 == 2
TEST = np.arange(len(Y)) % 4 == 0
UNSEEN = np.unique(Y[NEW])


def quick(**settings):
    words = {"words": (1, 1), "characters": None}
    return dsnc.DSNCClassifier(
        **{"n_bits": 32, "max_epochs": 8, "reranker": None, "text": words, **settings}
    )


def said_of(classes):
    return {NAMES[k]: SAID[NAMES[k]] for k in classes}


def trained(descriptions=None, **settings):
    rows = ~NEW & ~TEST
    return quick(**settings).fit(X[rows].tolist(), NAMES[Y[rows]], descriptions=descriptions)


def scores(model):
    return [model.score(X[TEST & part].tolist(), NAMES[Y[TEST & part]]) for part in (~NEW, NEW)]


@pytest.fixture(scope="module")
def known():
    return trained(said_of(np.setdiff1d(Y, UNSEEN)))


@pytest.fixture
def model(known):
    return copy.deepcopy(known)


def describe(model, classes=UNSEEN):
    said = said_of(classes)
    return model.add_described_classes(list(said), list(said.values()))


@pytest.mark.parametrize("reranker", [None, "features"])
def test_fit_learns_classes_without_a_row(reranker):
    model = trained(SAID, reranker=reranker)
    assert sorted(model.classes_) == sorted(NAMES)
    old, new = scores(model)
    assert old > 0.9
    assert new > 0.75
    assert (model.predictor_.reranker is None) == (reranker is None)


def test_described_classes_come_later(model):
    before = scores(model)[0]
    old, new = scores(describe(model))
    assert old > before - 0.06
    assert new > 0.75
    assert model.data_["changes"][-1]["new"] == len(UNSEEN)
    assert model.predict_proba(X[:3].tolist()).shape == (3, len(NAMES))


def test_a_model_that_never_saw_a_description(tmp_path):
    trained().save(tmp_path / "plain")
    model = dsnc.load(tmp_path / "plain")
    everyone = range(len(NAMES))  # of known classes, it shows what descriptions are worth
    assert min(scores(describe(model, everyone))) > 0.7


def test_descriptions_are_no_rows(model, known):
    rows = int((~NEW & ~TEST).sum())
    assert known.data_["rows"] + known.data_["validation"]["rows"] == rows
    assert known.data_["descriptions"] == 2 * (len(NAMES) - len(UNSEEN))
    memory = describe(model)._memory
    assert memory.described.sum() == 2 * len(NAMES)
    assert memory.counts.sum() == known.data_["rows"]


@pytest.mark.parametrize("reranker", [None, "features"])
def test_rows_refine_them(reranker):
    vague = {NAMES[k]: text(k, 1, np.random.default_rng(k)) for k in UNSEEN}
    model = trained({**SAID, **vague}, reranker=reranker)
    new = scores(model)[1]
    places = np.concatenate([np.flatnonzero((k == Y) & ~TEST)[:4] for k in UNSEEN])
    model.add_classes(X[places].tolist(), NAMES[Y[places]])
    old, refined = scores(model)
    assert refined > new + 0.05
    assert old > 0.9
    assert (model._memory.counts > 0).all()
    assert (
        model._memory.offsets[model._labels.find(NAMES[UNSEEN])] == model._memory.balance[4]
    ).all()


def test_later_changes_leave_them_alone(model):
    describe(model)
    new = scores(model)[1]
    places = np.flatnonzero(~NEW & ~TEST)[:50]
    model.add_classes(X[places].tolist(), NAMES[Y[places]]).remove_classes(NAMES[:1])
    assert scores(model)[1] > new - 0.05


def test_a_file_keeps_them(model, tmp_path):
    describe(model).save(tmp_path / "model")
    again = dsnc.load(tmp_path / "model")
    assert (again.predict(X.tolist()) == model.predict(X.tolist())).all()
    assert (again._memory.described == model._memory.described).all()
    assert again.novelty(X[:5].tolist()).shape == (5,)


def test_weights_of_rows_and_frames():
    pd = pytest.importorskip("pandas")
    rows = np.flatnonzero(~NEW & ~TEST)
    weight = np.where(np.arange(len(rows)) % 7 == 0, 0.0, 2.0)
    said = pd.Series({name: texts[0] for name, texts in SAID.items()})
    texts = pd.Series(X[rows], name="text")
    model = quick().fit(texts, pd.Series(NAMES[Y[rows]]), weight, descriptions=said)
    assert min(scores(model)) > 0.6
    assert model._memory.described.sum() == len(NAMES)


def test_a_model_that_learns_in_passes():
    model, rows = quick(), ~NEW & ~TEST
    for _ in range(3):
        model.partial_fit(X[rows].tolist(), NAMES[Y[rows]], classes=np.unique(NAMES[Y[rows]]))
    describe(model)
    model.partial_fit(X[rows].tolist(), NAMES[Y[rows]])
    assert sorted(model.classes_) == sorted(NAMES)


def test_without_a_memory():
    model = trained(memory=0)
    with pytest.warns(DsncWarning, match="remembers nothing"):
        describe(model)
    assert scores(model)[1] > 0.3


@pytest.mark.parametrize(
    ("labels", "descriptions", "message"),
    [
        (["n1", "n1"], ["w1a", "w2a"], "labels lists 'n1' twice"),
        (["n1"], ["qqq zzz"], "'n1', 'qqq zzz', has no n-gram that the model knows"),
        (["n1"], [" "], "description of 'n1' is empty"),
        (["n1"], [3], "description of 'n1' is 3; give a text"),
        (["n1", "n2"], ["w1a"], "1 entries for 2 labels"),
        (["n1"], "w1a", "descriptions='w1a': give a list"),
        ("n1", ["w1a"], "give a list of labels"),
        ([], [], "labels is empty"),
        ([7], ["w1a"], "use one type"),
        (["n1"], None, "descriptions=None: give a list"),
    ],
)
def test_refusals_change_nothing(model, labels, descriptions, message):
    before = model.predict(X[:50].tolist())
    with pytest.raises(InputError, match=message):
        model.add_described_classes(labels, descriptions)
    assert len(model.classes_) == len(NAMES) - len(UNSEEN)
    assert (model.predict(X[:50].tolist()) == before).all()


def test_fit_refuses_before_it_learns():
    with pytest.raises(InputError, match="give a dict"):
        quick().fit(["a b", "c d"], ["x", "y"], descriptions=["a"])
    with pytest.raises(InputError, match="'z', '-', has no n-gram"):
        quick().fit(["a b", "c d"], ["x", "y"], descriptions={"z": "-"})
    with pytest.raises(InputError, match="rows of numbers; give attributes"):
        quick(text=None).fit(np.eye(4), ["x", "y"] * 2, descriptions={"x": "a"})
    with pytest.raises(InputError, match="both given"):
        quick().fit(["a b", "c d"], ["x", "y"], descriptions={"z": "a"}, attributes={"z": [1]})


def test_label_sets_are_refused():
    model = dsnc.DSNCMultiLabelClassifier(n_bits=8, max_epochs=1)
    with pytest.raises(InputError, match="add labels of sets from rows"):
        model.add_described_classes(["a"], ["b"])
