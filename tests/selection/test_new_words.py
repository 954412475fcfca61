"""Words that come with new rows: columns, and what an encoder is told of them."""

import numpy as np
import pytest

import dsnc
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.features import TextFeatures
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors
from dsnc.selection.new_words import with_new_words

OLD = ["night nurse", "ward nurse", "bus driver", "truck driver"] * 10
ROLES = ["care", "care", "traffic", "traffic"] * 10
NEW = ["welder nurse", "welder on a ward"] * 3
PLAIN = {"words": (1, 1), "characters": None}


@pytest.fixture(scope="module")
def model():
    return dsnc.DSNCClassifier(n_bits=16, text=PLAIN, reranker=None).fit(OLD, ROLES)


def test_columns_of_more_texts():
    known = TextFeatures(**PLAIN).fit(OLD)
    wider, places = known.with_texts(NEW)
    assert wider.n_features_ == known.n_features_ + 3  # welder, on, a
    assert (wider.buckets_[places] == known.buckets_).all()
    assert (wider.idf_[places] == known.idf_).all()
    before, after = known.rows(OLD), wider.rows(OLD)
    assert (after[:, places] != before).nnz == 0
    assert after.nnz == before.nnz
    assert wider.rows(["welder"]).nnz == 1
    again = TextFeatures.from_arrays(wider.arrays())
    assert (again.rows(NEW) != wider.rows(NEW)).nnz == 0
    assert known.with_texts(OLD)[0].n_features_ == known.n_features_


def test_weights_of_new_words_count_all_texts_so_far():
    known = TextFeatures(**PLAIN).fit(OLD)
    wider, _ = known.with_texts(NEW)
    later, places = wider.with_texts(["roof"] * 4)
    of_new = np.setdiff1d(wider.idf_, known.idf_)  # welder in 6 texts; on and a in 3
    of_later = np.delete(later.idf_, places)

    def idf(n, df):
        return np.log((1 + n) / (1 + df)) + 1

    np.testing.assert_allclose(of_new, [idf(46, 6), idf(46, 3)], rtol=1e-6)
    np.testing.assert_allclose(of_later, [idf(50, 4)], rtol=1e-6)


def test_few_texts_make_no_column():
    known = TextFeatures(**PLAIN).fit(OLD)
    assert known.with_texts(["welder", "painter"])[0].n_features_ == known.n_features_


def test_as_many_columns_as_there_is_room_for():
    most = TextFeatures(**PLAIN).fit(OLD).n_features_ + 1
    known = TextFeatures(**PLAIN, max_features=most).fit(OLD)
    wider, places = known.with_texts(NEW)
    assert wider.n_features_ == most
    assert wider.rows(["welder"]).nnz == 1  # the most frequent one
    assert wider.with_texts(["on a roof"] * 9)[0].n_features_ == most
    assert len(places) == most - 1


def test_old_rows_keep_their_codes_and_new_words_point_to_their_class(model):
    before = model.predictor_
    counted = model._memory.seeing(before.features.rows(OLD))
    after, memory = with_new_words(before, counted, NEW, np.zeros(len(NEW)))
    assert len(memory.seen) == after.n_features > before.n_features
    assert memory.seen.sum() == counted.seen.sum()
    assert np.allclose(after.logits(OLD), before.logits(OLD), atol=1e-5)
    mean = before.logits(NEW).mean(axis=0)
    sure = np.abs(mean) > 1
    assert sure.any()
    assert ((after.logits(["welder"])[0] > 0) == (mean > 0))[sure].all()
    assert with_new_words(before, memory, OLD, ROLES) == (before, memory)


def test_a_word_alone_finds_its_class(model, tmp_path):
    model.save(tmp_path / "model")
    changed = dsnc.load(tmp_path / "model")
    changed.add_classes(NEW, ["metal"] * len(NEW))
    changed.save(tmp_path / "changed")
    again = dsnc.load(tmp_path / "changed")
    assert again.predict(["welder"]).tolist() == ["metal"]
    assert again.n_features_in_ == again.predictor_.features.n_features_
    assert again.score(OLD, ROLES) == 1


def test_vectors_of_a_second_stage_keep_their_features():
    vectors = ClassVectors.from_matrix([[1.0, 0, -1], [0, 2, 0]], [0.5, 0])
    wider = vectors.with_features(np.array([0, 2, 4]), 5).matrix().toarray()
    assert (wider[:, [0, 2, 4]] == vectors.matrix().toarray()).all()
    assert not wider[:, [1, 3]].any()


def test_other_encoders_stay_as_they_are(model):
    linear = model.predictor_
    layers = *linear.encoder.layers, Layer(np.eye(16), np.zeros(16))
    deep = Predictor(NumpyEncoder(layers), linear.decoder, linear.features)
    assert with_new_words(deep, None, NEW, np.zeros(len(NEW))) == (deep, None)
