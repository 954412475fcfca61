"""Classes that nobody has named are proposed, with what a person needs to name them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
from dsnc.discovery.grouping import directions, soft_bits
from dsnc.discovery.marks import marking_words
from dsnc.errors import InputError
from dsnc.metrics import clustering_accuracy

X, Y = make_blobs(4000, centers=80, n_features=24, cluster_std=2.0, random_state=0)
X = X.astype(np.float32)
NEW, TEST = Y >= 64, np.arange(len(Y)) % 4 == 0


def quick(**settings):
    return dsnc.DSNCClassifier(**{"n_bits": 32, "max_epochs": 5, "reranker": None, **settings})


@pytest.fixture(scope="module")
def model():
    return quick().fit(X[~NEW & ~TEST], Y[~NEW & ~TEST])


def test_a_given_number_of_classes(model):
    found = model.discover_classes(X[NEW], 16, unknown_share=1)
    assert len(found) == 16
    assert (found.groups >= 0).all()
    assert clustering_accuracy(Y[NEW], found.groups) > 0.9
    sizes = [len(proposed) for proposed in found.classes]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == NEW.sum() == found.n_novel


def test_the_number_is_estimated(model):
    found = model.discover_classes(X[NEW], unknown_share=1)
    assert 12 <= len(found) <= 20
    inside = found.groups >= 0
    assert inside.mean() > 0.8
    assert clustering_accuracy(Y[NEW][inside], found.groups[inside]) > 0.85


def test_known_rows_stay_where_they_are(model):
    mixed = NEW | TEST
    found = model.discover_classes(X[mixed])
    inside, is_new = found.groups >= 0, NEW[mixed]
    assert inside[is_new].mean() > 0.6
    assert inside[~is_new].mean() < 0.15
    assert found.n_rows == mixed.sum()


def test_what_is_said_of_a_class(model):
    found = model.discover_classes(X[NEW], 16, unknown_share=1)
    first = found.classes[0]
    assert first.name == 64
    assert found.classes[-1].name == 79
    assert 0.5 < first.tightness <= 1
    assert first.novel == 1.0
    assert len(first.nearest) == 3
    assert first.nearest[0][0] in model.classes_
    assert first.nearest[0][1] >= first.nearest[1][1]
    assert first.texts == []
    bits = soft_bits(model.predictor_.logits(X[NEW]))[first.rows]
    likeness = bits @ directions(bits.mean(axis=0))
    assert (np.diff(likeness) <= 1e-5).all()  # the most typical rows come first
    middle, all_rows = X[NEW][first.rows].mean(axis=0), X[NEW]
    column = ((middle - all_rows.mean(axis=0)) / all_rows.std(axis=0)).argmax()
    assert first.marks[0] == f"feature {column}"
    record = first.as_dict()
    assert record["rows"] == first.rows.tolist()
    assert record["size"] == len(first)
    assert str(found).startswith("16 proposed classes of")


def test_named_classes_can_be_added(model, tmp_path):
    model.save(tmp_path / "model")
    again = dsnc.load(tmp_path / "model")
    rows_of_new = X[NEW]
    found = again.discover_classes(rows_of_new, 16, unknown_share=1)
    rows, labels = found.named({64: 500, 65: 500, 66: 501, 67: None})
    assert len(rows) == len(labels) == sum(len(found.classes[k]) for k in (0, 1, 2))
    again.add_classes(rows_of_new[rows], labels)
    assert list(again.classes_[-2:]) == [500, 501]
    assert (again.predict(rows_of_new[rows]) == labels).mean() > 0.8
    assert len(found.named()[0]) == NEW.sum()
    with pytest.raises(InputError, match="which is not a proposed class"):
        found.named({9: 1})


def test_the_same_every_time_and_without_scikit_learn(model, tmp_path):
    model.save(tmp_path / "model")
    light = dsnc.model.read_fitted(tmp_path / "model")
    expected = model.discover_classes(X[NEW]).groups
    assert (light.discover_classes(X[NEW]).groups == expected).all()


def test_texts_are_marked_by_words():
    rng = np.random.default_rng(0)
    words = [f"w{i}x" for i in range(400)]
    y = np.arange(800) % 20
    texts = [" ".join(rng.choice(words[k * 12 : k * 12 + 12], 5)) for k in y]
    old = [text for text, k in zip(texts, y, strict=True) if k < 16]
    new = [text for text, k in zip(texts, y, strict=True) if k >= 16]
    model = quick(n_bits=24, text={"words": (1, 1), "min_rows": 1})
    # Words of new classes are known from a few rows that are called something else.
    model.fit([*old, *new[:60]], [f"c{k}" for k in [*y[y < 16], *[99] * 60]])
    found = model.discover_classes([*new[60:], "?!"], 4, unknown_share=1)
    assert found.groups[-1] == -1  # no word
    first = found.classes[0]
    assert first.name == "new class 1"
    assert len(first.texts) == 5
    assert set(first.marks) <= set(words)
    assert first.texts[0] == new[60:][first.rows[0]]


def test_pieces_of_words_are_shown_as_the_words():
    texts = ["The arteries of Zoë", "an arterial road", "arterial blood", "blood"]
    features = dsnc.features.TextFeatures(words=None, characters=(3, 4), min_rows=1).fit(texts)
    excess = np.zeros(features.n_features_)
    names = {gram: column for column, [gram, *_] in features.names(texts).items()}
    for place, gram in enumerate(("'ter'", "'arte'", "' zo'", "'loo'", "' ro'")):
        excess[names[gram]] = 9 - place
    assert marking_words(excess, features, texts) == ["arterial", "zoë", "blood", "road"]


@pytest.mark.parametrize(
    ("rows", "n_classes", "share", "message"),
    [
        (slice(0, 3), 9, 1, "n_classes=9 is more than the 3 novel rows"),
        (slice(0, 30), None, 0, "X has no novel row"),
        (slice(0, 3), 0, 1, "n_classes=0 must be a whole number"),
        (slice(0, 3), None, 2, "unknown_share=2 must be a number"),
    ],
)
def test_refusals(model, rows, n_classes, share, message):
    known = X[~NEW & ~TEST]
    with pytest.raises(InputError, match=message):
        model.discover_classes(known[rows], n_classes, unknown_share=share)


def test_refusals_of_few_codes(model):
    with pytest.raises(InputError, match="only 1 different codes"):
        model.discover_classes(np.repeat(X[:1], 5, axis=0), 2, unknown_share=1)
    with pytest.raises(InputError, match="no 3 of them look like one class"):
        model.discover_classes(X[:1], unknown_share=1)


def test_without_a_memory_the_number_must_be_given():
    model = quick(memory=0).fit(X[~NEW & ~TEST], Y[~NEW & ~TEST])
    with pytest.raises(InputError, match=r"memory=0.*give n_classes"):
        model.discover_classes(X[NEW], unknown_share=1)
    found = model.discover_classes(X[NEW], 16, unknown_share=1)
    assert clustering_accuracy(Y[NEW], found.groups) > 0.85
    assert len(found.classes[0].nearest) == 3


def test_models_that_held_nothing_out_cannot_tell():
    model = quick(validation_fraction=0.0).fit(X[~NEW & ~TEST], Y[~NEW & ~TEST])
    with pytest.raises(InputError, match="how strange a row is"):
        model.discover_classes(X[NEW])


def test_label_sets_are_refused():
    sets = np.eye(4, dtype=int)[Y[:200] % 4]
    model = dsnc.DSNCMultiLabelClassifier(n_bits=16, max_epochs=2).fit(X[:200], sets)
    with pytest.raises(InputError, match="one label a row"):
        model.discover_classes(X[:10])
