"""From arrays to trained arrays: what is learned, scaled, loaded and refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.decoders import LinearDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError
from dsnc.fast import FastLearner
from dsnc.predictor import Predictor
from made_examples import K, make_dense, make_settings, make_sparse

MAKERS = {"dense": make_dense, "sparse": make_sparse}
SETTINGS = {"learning_rate": "auto", "max_epochs": 12}


def learn(examples, validation=None, *, seed=0, **settings):
    learner = FastLearner(make_settings(**SETTINGS | settings), examples, K, seed)
    return learner, learner.fit(examples, validation)


def parts_of(examples):
    """Three parts of one X."""
    rows = np.array_split(np.arange(examples.n_rows), 3)
    return [examples._replace(rows=part) for part in rows]


def accuracy(learner, examples):
    right = Predictor(*learner.export()).predict(examples.X) == examples.targets.y
    return right[slice(None) if examples.rows is None else examples.rows].mean()


def arrays_of(learner):
    encoder, decoder = learner.export()
    return [*encoder.layers[0][:2], decoder.weight, decoder.bias]


def same(one, other):
    return all(map(np.array_equal, arrays_of(one), arrays_of(other)))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("n_bits", [5, 12, 40])
def test_new_rows_are_recognized(kind, n_bits):
    train, held_out, test = parts_of(MAKERS[kind](600))
    learner, history = learn(train, held_out, n_bits=n_bits)
    least = 0.85 if n_bits > 5 else 0.6
    assert accuracy(learner, test) > least
    assert history.best_accuracy > least
    assert history.column("validation_rows") == [200] * 12
    losses = history.column("loss")
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("scaling", ["auto", "none", "unit_rows"])
def test_the_same_numbers_learn_the_same_in_any_container(scaling):
    dense = make_sparse()
    dense = dense._replace(X=dense.X.toarray())
    sparse, full = (learn(e, scaling=scaling)[0] for e in (make_sparse(), dense))
    assert same(sparse, full)


@pytest.mark.parametrize("scaling", ["auto", "standard", "common"])
def test_units_of_features_do_not_matter(scaling):
    examples = make_dense()
    big = examples._replace(X=examples.X * np.float32(1024))
    one, other = (learn(e, scaling=scaling)[0] for e in (examples, big))
    np.testing.assert_allclose(
        one.export()[0].logits(examples.X), other.export()[0].logits(big.X), rtol=1e-3, atol=1e-3
    )


def test_features_that_float32_cannot_hold_are_left_alone():
    examples = make_dense()
    X = examples.X.astype(float)
    X[:, 3:] *= 1e-60
    learner, history = learn(examples._replace(X=X))
    assert np.isfinite(history.column("loss")).all()
    assert all(np.isfinite(array).all() for array in arrays_of(learner))


@pytest.mark.parametrize("value", [1e30, 1e38])
def test_numbers_near_the_end_of_float32_are_learned(value):
    examples = make_dense()
    X = examples.X / np.abs(examples.X).max()
    learner, _ = learn(examples._replace(X=(X * value).astype(np.float32)))
    assert accuracy(learner, examples._replace(X=(X * value).astype(np.float32))) > 0.85


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("scaling", ["auto", "none"])
def test_what_was_exported_can_be_loaded(kind, scaling):
    examples = MAKERS[kind]()
    learner, _ = learn(examples, scaling=scaling)
    encoder, decoder = learner.export()
    others = examples._replace(rows=np.arange(0, 300, 3))  # their means are not quite the same
    other = FastLearner(make_settings(scaling=scaling), others, K, 1)
    other.load(encoder, decoder)
    again, decoder_again = other.export()
    logits, scale = encoder.logits(examples.X), np.abs(encoder.logits(examples.X)).max()
    np.testing.assert_allclose(again.logits(examples.X), logits, rtol=1e-5, atol=1e-5 * scale)
    assert again.row_normalize == encoder.row_normalize
    assert np.array_equal(decoder_again.weight, decoder.weight)
    other.partial_fit(examples, 1)
    assert accuracy(other, examples) > accuracy(learner, examples) - 0.1


def shifted_rows(examples):
    """Dense rows that would be standardized, as long as they like."""
    return examples._replace(X=np.abs(np.random.default_rng(0).normal(size=(300, 400))) + 1)


@pytest.mark.parametrize("first", MAKERS)
def test_a_loaded_model_keeps_its_scaling_whatever_rows_come(first):
    examples = MAKERS[first]()
    encoder, decoder = learn(examples)[0].export()
    rows = shifted_rows(examples)
    if first == "dense":
        rows = examples._replace(X=sp.csr_array((300, 12), dtype=np.float32))
    tiny = make_settings(learning_rate=1e-9, soft_share=1.0)
    learner = FastLearner(tiny, rows, K, 0)
    learner.load(encoder, decoder)
    loss = learner.partial_fit(rows, 1).epochs[0].loss
    again, _ = learner.export()
    assert again.row_normalize == encoder.row_normalize
    logits = encoder.logits(rows.X)
    np.testing.assert_allclose(again.logits(rows.X), logits, rtol=1e-4, atol=1e-4)
    scores = np.tanh(logits / 2) @ decoder.weight.T + decoder.bias
    scores -= scores.max(axis=1, keepdims=True)
    likely = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    assert loss == pytest.approx(-likely[np.arange(300), rows.targets.y].mean(), rel=1e-3)


def test_models_that_cannot_be_loaded():
    learner = FastLearner(make_settings(), make_dense(), K, 0)
    decoder = LinearDecoder(np.zeros((K, 9)), np.zeros(K))
    with pytest.raises(InputError, match="n_bits=12, but the model has 9 bits"):
        learner.load(NumpyEncoder([Layer(np.zeros((12, 9)), np.zeros(9))]), decoder)
    layers = [Layer(np.zeros((12, 4)), np.zeros(4), "relu"), Layer(np.zeros((4, 12)), np.zeros(12))]
    with pytest.raises(InputError, match="encoder='linear' is not the encoder that the model has"):
        learner.load(NumpyEncoder(layers), decoder)
    with pytest.raises(InputError, match="nothing has been learned yet"):
        learner.export()


def test_a_sparse_matrix_is_not_made_dense():
    with pytest.raises(InputError, match="scaling='standard' would make a sparse X dense"):
        FastLearner(make_settings(scaling="standard"), make_sparse(), K, 0)


def test_the_batch_may_be_larger_than_any_memory():
    one, other = (learn(make_dense(), batch_size=size)[0] for size in (300, 10**15))
    assert same(one, other)


def test_what_was_exported_stays_as_it_is():
    learner, _ = learn(make_sparse(), n_bits=16)  # no copy would be needed for any other reason
    kept = arrays_of(learner)
    before = [array.copy() for array in kept]
    learner.partial_fit(make_sparse(), 1)
    assert all(map(np.array_equal, kept, before))
    assert not np.array_equal(learner.export()[1].weight, before[2])


# Vectors for soft bits
