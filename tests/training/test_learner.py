"""The learner: arrays in, trained arrays out."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dsnc.encoders import NumpyEncoder
from dsnc.encoders.torch import as_batch
from dsnc.errors import InputError
from dsnc.gradients import StraightThrough
from dsnc.targets import Targets
from dsnc.training.examples import Examples, describe, fingerprint
from dsnc.training.learner import Learner
from dsnc.training.world import choose_device
from made_examples import (
    CPU,
    K,
    accuracy,
    learn,
    make_dense,
    make_settings,
    make_sparse,
    predictor_of,
)

# Learning


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize("encoder", ["linear", "mlp"])
def test_what_was_learned_predicts_without_torch(make, encoder):
    examples = make()
    learner, history = learn(examples, encoder=encoder, hidden=(32,))
    assert accuracy(learner, examples) > 0.95
    assert history.stopped == "max_epochs reached"
    assert isinstance(learner.export().encoder, NumpyEncoder)


@pytest.mark.parametrize("gradient", ["reinforce", "relaxed", "disarm", StraightThrough()])
def test_every_gradient_learns(gradient):
    examples = make_dense()
    learner, _ = learn(examples, gradient=gradient, max_epochs=20)
    assert accuracy(learner, examples) > 0.9


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")  # a processor without bfloat16
@pytest.mark.parametrize(
    "settings",
    [
        {"code_values": "bits"},
        {"label_smoothing": 0.1},
        {"loss": "sampled_softmax"},
        {"loss": "sampled_softmax", "code_values": "bits", "soft_share": 0.0},
        {"beta": 1e-3, "gamma": 1e-3},
        {"precision": "bfloat16"},
        {"batch_size": 7},
        {"schedule": "constant"},
    ],
)
def test_every_setting_learns(settings):
    examples = make_sparse()
    learner, _ = learn(examples, max_epochs=10, **settings)
    assert accuracy(learner, examples) > 0.9


@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_the_predictor_agrees_with_the_validation(make):
    examples = make()
    chosen = np.random.default_rng(0).permutation(300)
    training, held_out = (examples._replace(rows=rows) for rows in np.split(chosen, [200]))
    learner, history = learn(training, held_out, max_epochs=3)
    rows = held_out.rows
    share = (predictor_of(learner).predict(examples.X[rows]) == examples.targets.y[rows]).mean()
    assert history.best_accuracy == pytest.approx(share, abs=0.011)  # at most a row at its border
    assert share > 1 / K


def test_a_memory_map_is_as_good_as_an_array(tmp_path):
    examples = make_dense()
    np.save(tmp_path / "X.npy", examples.X)
    mapped = examples._replace(X=np.load(tmp_path / "X.npy", mmap_mode="r"))
    first, second = (learn(e, max_epochs=2)[0].export() for e in (examples, mapped))
    assert np.array_equal(first.encoder.layers[0][0], second.encoder.layers[0][0])


def test_a_million_features_cost_no_dense_row():
    examples = make_sparse()
    X = sp.csr_array(
        (examples.X.data, examples.X.indices * 2500, examples.X.indptr), shape=(300, 1_000_000)
    )
    learner, _ = learn(examples._replace(X=X), n_bits=6, max_epochs=1, batch_size=300)
    assert learner.export().encoder.layers[0][0].shape == (1_000_000, 6)


def test_a_last_batch_of_one_row_is_no_trouble():
    examples = make_dense(97)  # batches of 16: one row is left
    learner, _ = learn(examples, encoder="mlp", hidden=(8,), max_epochs=2)
    assert accuracy(learner, examples) > 0.2


def test_rows_of_no_weight_teach_nothing():
    examples = make_dense()
    weight = np.zeros(300, dtype=np.float32)
    weight[:20] = 1  # whole batches are left without any
    learner, history = learn(examples._replace(weight=weight), max_epochs=3)
    assert np.isfinite(history.column("loss")).all()
    y = np.where(weight > 0, examples.targets.y, 0).astype(np.int32)
    wrong = examples._replace(targets=Targets(y, K), weight=weight)
    other, _ = learn(wrong, max_epochs=3)
    assert np.array_equal(learner.export().decoder.weight, other.export().decoder.weight)


# Repeatability


@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_the_seed_decides_everything(make):
    examples = make(100)
    state = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, twin, other = (
        learn(examples, seed=seed, max_epochs=2, encoder="mlp", hidden=(8,))[0].export()
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), state[0])
    assert np.array_equal(np.random.get_state()[1], state[1])  # noqa: NPY002
    for a, b, c in zip(*(model.encoder.layers for model in (first, twin, other)), strict=True):
        assert np.array_equal(a[0], b[0]) and not np.array_equal(a[0], c[0])
    assert np.array_equal(first.decoder.weight, twin.decoder.weight)


def test_the_users_gradient_stays_as_it_was():
    gradient = StraightThrough(slope_growth=2.0)
    learn(make_dense(100), gradient=gradient, max_epochs=3)
    assert gradient.state_dict() == {"slope": 1.0}


# Going on


@pytest.mark.parametrize("code_values", ["signs", "bits"])
@pytest.mark.parametrize("encoder", ["linear", "mlp"])
@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_a_loaded_model_is_the_same_model(make, encoder, code_values):
    examples = make()
    first, _ = learn(examples, encoder=encoder, hidden=(8,), code_values=code_values, max_epochs=3)
    model = predictor_of(first)
    some = examples._replace(rows=np.arange(40))  # a scaling of their own, which must not matter
    second = Learner(first.settings, some, K, 1)
    second.load(model.encoder, model.decoder)
    expected, logits = (m.encoder.logits(examples.X) for m in (model, predictor_of(second)))
    np.testing.assert_allclose(logits, expected, atol=1e-4 * np.abs(expected).max())
    weight = second.export().decoder.weight
    np.testing.assert_allclose(weight, model.decoder.weight, rtol=1e-5, atol=1e-6)


def test_a_loaded_model_learns_on():
    examples = make_dense()
    first, _ = learn(examples)
    before = accuracy(first, examples)
    second = Learner(make_settings(learning_rate=1e-3), examples, K, 0)
    model = predictor_of(first)
    second.load(model.encoder, model.decoder)
    second.partial_fit(examples, 1)
    assert accuracy(second, examples) > before - 0.02  # a first step must not wreck it


def test_partial_fit_learns_pass_by_pass():
    examples = make_dense()
    learner = Learner(make_settings(learning_rate=0.01), examples, K, 0)
    histories = [learner.partial_fit(examples, call) for call in range(1, 9)]
    assert accuracy(learner, examples) > 0.95
    assert {len(history) for history in histories} == {1}
    assert [h.epochs[0].learning_rate for h in histories] == [0.01] * 8


@pytest.mark.parametrize("encoder", ["linear", "mlp"])
def test_partial_fit_of_a_single_row(encoder):
    examples = make_dense()
    learner = Learner(make_settings(encoder=encoder, hidden=(8,)), examples, K, 0)
    learner.partial_fit(Examples(examples.X[:1], examples.targets.take(slice(1))), 1)
    assert np.isfinite(learner.export().decoder.weight).all()


# The door


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta:x", 3.5])
def test_a_device_that_is_not_there_is_named(device):
    with pytest.raises(InputError, match=f"device={device!r} cannot be used here"):
        choose_device(device)


def test_auto_finds_a_device():
    assert choose_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    assert choose_device("cpu") == CPU


def test_settings_are_checked():
    with pytest.raises(InputError, match="n_bits=0"):
        Learner(make_settings(n_bits=0), make_dense(), K, 0)
    with pytest.raises(InputError, match="encoder='conv'"):
        Learner(make_settings(encoder="conv"), make_dense(), K, 0)
    with pytest.raises(InputError, match="gradient='magic'"):
        Learner(make_settings(gradient="magic"), make_dense(), K, 0)


@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_the_fingerprint_knows_the_data(make):
    examples = make()
    changes = [
        examples._replace(X=examples.X * 2),
        examples._replace(targets=examples.targets.take(slice(None, None, -1))),
        examples._replace(weight=np.ones(300, dtype=np.float32)),
        examples._replace(rows=np.arange(10)),
        make(200),
    ]
    seen = {fingerprint(e) for e in (examples, *changes)}
    assert len(seen) == 6
    assert fingerprint(make()) == fingerprint(examples)


def test_the_model_says_what_it_was_made_from():
    examples = make_sparse()._replace(rows=np.arange(100))
    assert describe(examples) == {
        "rows": 100,
        "features": 400,
        "sparse": True,
        "fingerprint": fingerprint(examples),
    }


def test_empty_rows_only():
    examples = Examples(sp.csr_array((40, 5), dtype=np.float32), make_dense(40).targets)
    learner, _ = learn(examples, max_epochs=1)
    assert learner.objective.encoder(as_batch(examples.X, CPU)).shape == (40, 12)


@pytest.mark.parametrize(("make", "rate"), [(make_dense, 0.02), (make_sparse, 0.01)])
def test_the_automatic_rate_depends_on_the_rows(make, rate):
    history = learn(make(), learning_rate="auto", schedule="constant", max_epochs=1)[1]
    assert history.epochs[0].learning_rate == rate
