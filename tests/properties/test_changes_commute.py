"""Changes of classes commute with saving, can be taken back, and do not wear a model."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import dsnc
from dsnc.codes import Encoded
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.changes import Change
from dsnc.decoders.memory import Memory
from dsnc.selection.lesson import Learning, Lesson, Rows, scorer

N_OLD, N_BITS = 40, 12
X, Y = make_blobs(1800, centers=N_OLD + 5, n_features=12, cluster_std=1.5, random_state=0)
X = X.astype(np.float32)
OLD = Y < N_OLD
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def base():
    settings = {"n_bits": 24, "max_epochs": 3, "reranker": None, "decoder": "soft"}
    model = dsnc.DSNCClassifier(**settings).fit(X[OLD], Y[OLD])
    model._memory = replace(model._memory, balance={2: 1.5})  # what classes of two rows get
    return model


@pytest.fixture
def model(base):
    return copy.deepcopy(base)


def come(model, classes, rows=2):
    places = np.concatenate([np.flatnonzero(k == Y)[:rows] for k in classes])
    return model.add_classes(X[places], Y[places])


def numbers(model):
    parts = model.predictor_.arrays(), model._memory.arrays(), model._novelty.arrays()
    return {f"{i} {name}": array for i, part in enumerate(parts) for name, array in part.items()}


# All old vectors are rehearsed where more than one class comes to sixteen.
@pytest.mark.parametrize("classes", [[40], [40, 41, 42, 43]])
def test_saving_in_between_changes_nothing(model, classes, tmp_path):
    come(model, classes)
    assert (model._memory.offsets[N_OLD:] == 1.5).all()  # there is something to forget
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    come(model, [44, *classes])
    come(loaded, [44, *classes])
    mine, others = numbers(model), numbers(loaded)
    assert mine.keys() == others.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(others[name], array, err_msg=name)


def test_a_class_that_comes_and_goes_leaves_nothing(model):
    before, answers = numbers(model), model.predict(X)
    come(model, [40, 41]).remove_classes([40, 41])
    after = numbers(model)
    for name in (name for name in before if not name.startswith("2")):
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)
    assert np.array_equal(model.predict(X), answers)


def made_up(n_classes=6):
    """Vectors of some classes, and what is remembered of them."""
    logits = RNG.normal(size=(10 * n_classes, N_BITS)).astype(np.float32)
    owners = np.arange(len(logits)) % n_classes
    memory = Memory.empty(N_BITS, n_classes).with_rows(SoftCodes.from_logits(logits), owners, 10, 0)
    weight, bias = RNG.normal(size=(n_classes, N_BITS)), RNG.normal(size=n_classes)
    return LinearDecoder(weight, bias), memory.counting(owners)


def test_what_is_on_top_stays_on_top_once():
    """Without a step of training, ten changes leave old biases as they were."""
    linear, memory = made_up()
    expected = linear.bias.tolist()
    decoder = SoftDecoder(linear.weight, linear.bias)
    for n in range(6, 16):
        before = np.append(np.arange(n), -1)
        memory = memory.changed(Change(before))
        rows = Rows(RNG.normal(size=(3, N_BITS)).astype(np.float32), np.full(3, n))
        lesson = Lesson(decoder, scorer(decoder), 0, 1.0, Learning(10))
        decoder, linear = lesson.learned(memory, before, rows, offset=1.5)
        offsets = memory.offsets.copy()
        offsets[n] = 1.5
        memory = memory.with_rows(rows.codes(), rows.classes, 10, 0).counting(rows.classes)
        memory = replace(memory, offsets=offsets)
        np.testing.assert_allclose(linear.bias[:n], expected, atol=1e-5)
        expected = linear.bias.tolist()


@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["soft", "shortlist"])
def test_old_classes_score_as_before_beside_new_ones(kind, prior):
    linear, memory = made_up()
    codes = Encoded(memory.codes.logits())
    settings = {"sharpness": 0.7, "prior": prior}
    if kind == "soft":
        decoder = SoftDecoder(linear.weight, linear.bias, **settings)
    else:
        known = codes.codes, memory.classes
        decoder = ShortlistDecoder(linear, *known, size=9, **settings)
    asked = Encoded(RNG.normal(size=(20, N_BITS)).astype(np.float32))
    expected = by_class(decoder, asked)
    for n in (6, 7, 8):
        one = LinearDecoder(RNG.normal(size=(1, N_BITS)), RNG.normal(size=1))
        more = scorer(decoder).with_more(one)
        new = Encoded(RNG.normal(size=(2, N_BITS)).astype(np.float32)).codes
        change = Change(np.append(np.arange(n), -1), more, new, np.full(2, n), keeps_vectors=True)
        decoder = decoder.with_classes(change)
        np.testing.assert_allclose(by_class(decoder, asked)[:, :6], expected, rtol=1e-5, atol=1e-5)


def by_class(decoder, encoded):
    classes, scores = decoder.top_k(encoded, decoder.n_classes)
    result = np.empty_like(scores)
    np.put_along_axis(result, classes, scores, axis=1)
    return result


def test_descriptions_stay_with_their_classes_while_others_return():
    words = ["ant", "bee", "cat", "dog", "elk", "fox"]
    texts = [f"{word} {more}" for word in words for more in ("one", "two", "three", "four")] * 5
    model = dsnc.DSNCClassifier(n_bits=16, max_epochs=3, reranker=None)
    model.fit(texts, [text.split()[0] for text in texts])
    said = {"bee": "bee makes honey", "dog": "dog barks"}
    model.remove_classes(["bee"]).add_described_classes(list(said), list(said.values()))
    memory = model._memory
    described = np.flatnonzero(memory.described)
    assert sorted(model.classes_[memory.classes[described]]) == ["bee", "dog"]
    for place in described:
        own = said[model.classes_[memory.classes[place]]]
        octets = SoftCodes.from_logits(model.predictor_.logits([own])).octets
        assert np.array_equal(memory.codes.octets[[place]], octets)
