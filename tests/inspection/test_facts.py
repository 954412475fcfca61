"""What is inside a model, against what its arrays say."""

from dataclasses import replace

import numpy as np
import pytest

import dsnc
from dsnc import inspection as look
from dsnc.baselines import ECOCBaseline, MLPBaseline, NearestCentroidBaseline
from dsnc.errors import InputError


@pytest.fixture(scope="module")
def data():
    return dsnc.data.make_dense_codes(n_rows=400, n_classes=20, n_features=8)


@pytest.fixture(scope="module")
def model(data):
    settings = {"n_bits": 12, "max_epochs": 2, "device": "cpu"}
    return dsnc.DSNCClassifier(**settings).fit(data.X, data.labels)


def test_facts(model, tmp_path):
    model.save(tmp_path / "m")
    facts = look.model_facts(dsnc.load(tmp_path / "m"), tmp_path / "m")
    assert (facts.kind, facts.n_classes, facts.n_features, facts.n_bits) == ("dsnc", 20, 8, 12)
    assert facts.layers == [(8, 12)]
    assert not facts.takes_text
    assert facts.reason == model.decoder_report_.reason
    assert facts.metrics["epochs"] == 2
    assert facts.files["model.json"] == (tmp_path / "m" / "model.json").stat().st_size
    assert facts.versions["dsnc"] == dsnc.__version__
    assert look.model_facts(model).files == {}
    assert dict(look.summary(facts))["unknown rows"] == str(model._novelty)


@pytest.mark.parametrize("decoder", ["soft", "linear", "shortlist", "table"])
def test_codes_are_the_signs_of_the_weights_whatever_the_decoder(model, decoder):
    weight = model.with_decoder("linear").predictor_.decoder.weight
    codes = look.class_codes(model.with_decoder(decoder))
    assert np.array_equal(codes.to_bits(), weight > 0)


def test_neighbors_and_pairs_by_brute_force(model):
    bits, weight = look.class_codes(model).to_bits(), look.class_weights(model)
    distance = (bits[:, None] != bits).sum(axis=2)
    unit = weight / np.linalg.norm(weight, axis=1, keepdims=True)
    likeness = unit @ unit.T - 9 * np.eye(20)
    expected = [(int(c), int(distance[3, c])) for c in np.argsort(-likeness[3])][:5]
    label = model.classes_[3]
    found = look.nearest_classes(model, label, k=5)
    assert [(n.label, n.distance) for n in found] == [(model.classes_[c], d) for c, d in expected]
    np.testing.assert_allclose([n.likeness for n in found], sorted(likeness[3])[:-6:-1], rtol=1e-5)
    assert len(look.nearest_classes(model, str(label), k=99)) == 19
    pairs = look.closest_pairs(model, k=4)
    assert pairs[0].likeness == pytest.approx(likeness.max(), rel=1e-5)
    assert all(a.likeness >= b.likeness for a, b in zip(pairs, pairs[1:], strict=False))
    assert len({frozenset((p.first, p.second)) for p in pairs}) == len(pairs) == 4
    assert len(look.closest_pairs(model, k=99)) <= 20


def test_of_many_classes_only_near_ones_are_compared(model, monkeypatch):
    linear = model.with_decoder("linear")
    monkeypatch.setattr(look.meaning, "_NEAR", 2)
    monkeypatch.setattr(look.meaning, "_BLOCK", 100)
    bits = look.class_codes(linear).to_bits()
    distance = (bits[:, None] != bits).sum(axis=2) + 99 * np.eye(20, dtype=int)
    for pair in look.closest_pairs(linear, k=20):
        a, b = (model.classes_.tolist().index(name) for name in (pair.first, pair.second))
        assert pair.distance == distance[a, b]
        assert (
            pair.distance in np.sort(distance[a])[:2] or pair.distance in np.sort(distance[b])[:2]
        )


def test_equal_codes_are_a_pair(model):
    twins = model.with_decoder("linear")
    decoder = twins.predictor_.decoder
    weight = np.array(decoder.weight)
    weight[5] = weight[9]
    twins.predictor_ = twins.predictor_.with_decoder(type(decoder)(weight, decoder.bias))
    first = look.closest_pairs(twins, k=1)[0]
    assert first.distance == 0
    assert first.likeness == pytest.approx(1)
    assert {first.first, first.second} == set(twins.classes_[[5, 9]].tolist())


def test_more_classes_of_one_code_than_are_compared(model):
    twins = model.with_decoder("linear")
    weight = np.ones((20, 12), dtype=np.float32)
    weight[7] = 0  # no vector at all
    decoder = type(twins.predictor_.decoder)(weight, np.zeros(20))
    twins.predictor_ = twins.predictor_.with_decoder(decoder)
    label = twins.classes_[19]
    near = look.nearest_classes(twins, label, k=2)
    assert [n.label for n in near] == twins.classes_[:2].tolist()
    assert len(look.closest_pairs(twins, k=3)) == 3
    assert all(pair.likeness == pytest.approx(1) for pair in look.closest_pairs(twins, k=3))


def test_a_bit(model):
    pushes = model.predictor_.encoder.layers[0].weight
    bit = int(((pushes.max(axis=0) > 0) & (pushes.min(axis=0) < 0)).argmax())  # pushed both ways
    weight, push = look.class_weights(model)[:, bit], pushes[:, bit]
    facts = look.bit_facts(model, bit, n=3)
    assert facts.share_set == pytest.approx((weight > 0).mean())
    assert facts.set_classes[0] == (model.classes_[weight.argmax()], pytest.approx(weight.max()))
    assert facts.unset_classes[0][1] == pytest.approx(weight.min())
    assert facts.set_features[0] == (f"feature {push.argmax()}", pytest.approx(push.max()))
    named = look.bit_facts(model, bit, n=3, names={int(push.argmin()): "width"})
    assert named.unset_features[0][0] == "width"


def test_features_are_called_as_in_training(data):
    pandas_like = dsnc.DSNCClassifier(n_bits=8, max_epochs=1, device="cpu")
    pandas_like.fit(data.X, data.labels)
    pandas_like.feature_names_in_ = np.array([f"f{i}" for i in range(8)], dtype=object)
    assert look.feature_names(pandas_like, [2, 5]) == {2: "f2", 5: "f5"}
    pandas_like.data_["first_index"] = 1
    high, _ = look.pushing_features(pandas_like, 0, 1)
    assert look.bit_facts(pandas_like, 0, n=1).set_features[0][0] == f"feature {high[0] + 1}"


def test_n_grams_are_named():
    texts = ["night nurse", "ward nurse", "bus driver", "truck driver"] * 5
    model = dsnc.DSNCClassifier(n_bits=8, max_epochs=1, device="cpu", text={"characters": None})
    model.fit(texts, [text.split()[1] for text in texts])
    columns = list(range(model.predictor_.n_features))
    assert "nurse" in look.feature_names(model, columns, texts).values()
    assert look.feature_names(model, columns) == {}


def test_hidden_layers_have_no_features_of_a_bit(data):
    model = dsnc.DSNCClassifier(
        n_bits=8, encoder="mlp", hidden=(4,), max_epochs=1, device="cpu"
    ).fit(data.X, data.labels)
    assert look.model_facts(model).layers == [(8, 4), (4, 8)]
    assert look.bit_facts(model, 0).set_features == []


def test_codebooks_are_the_codes(data):
    model = ECOCBaseline(n_bits=15, max_epochs=1, device="cpu").fit(data.X, data.labels)
    assert look.class_codes(model) == model.predictor_.decoder.codes
    facts = look.bit_facts(model, 0, n=2)
    assert len(facts.set_classes) == len(facts.unset_classes) == 2


def test_what_has_no_codes_says_so(data, model):
    for other in (NearestCentroidBaseline(), MLPBaseline(n_units=8, max_epochs=1, device="cpu")):
        with pytest.raises(InputError, match="has no codes of classes"):
            look.class_codes(other.fit(data.X, data.labels))
    with pytest.raises(InputError, match="not one of the 20 classes"):
        look.nearest_classes(model, "nothing")
    for bit in (-1, 12):
        with pytest.raises(InputError, match="0 to 11"):
            look.bit_facts(model, bit)


def test_a_number_of_rows_that_is_none_is_left_out(model):
    facts = look.model_facts(model)
    assert dict(look.summary(facts))["trained on"].startswith("360 rows (")
    for rows in ("x", None, [1], True):
        forged = replace(facts, data={"rows": rows})
        assert "trained on" not in dict(look.summary(forged))
