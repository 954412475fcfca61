import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from dsnc.encoders import Layer, NumpyEncoder
from dsnc.encoders.torch import (
    ENCODERS,
    InputLayer,
    LinearEncoder,
    MLPEncoder,
    ModuleEncoder,
    SparseRows,
    as_batch,
    make_encoder,
    unit_rows,
)
from dsnc.errors import InputError

CPU = torch.device("cpu")
VARIANTS = [
    pytest.param("linear", {}, id="linear"),
    pytest.param("mlp", {"hidden": (8,)}, id="mlp"),
    pytest.param("mlp", {"hidden": (9, 7)}, id="mlp-deep"),
    pytest.param("mlp", {"hidden": (8,), "normalize": False}, id="mlp-plain"),
]


def make(name="linear", n_features=12, n_bits=6, *, seed=0, **options):
    return make_encoder(name, n_features, n_bits, torch.Generator().manual_seed(seed), **options)


def make_X(n=200, d=12, seed=0):
    """Dense rows whose features differ in place and size; one is constant."""
    rng = np.random.default_rng(seed)
    X = rng.normal(loc=5 * rng.normal(size=d), scale=np.exp(rng.normal(size=d)), size=(n, d))
    X[:, 3] = 0.1
    return X.astype(np.float32)


def make_sparse(n=200, d=12, seed=0):
    X = sp.random_array((n, d), density=0.2, format="csr", rng=np.random.default_rng(seed))
    return X.astype(np.float32)  # some rows are empty


def scaled(encoder, X):
    encoder.input.scale(X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64))
    return encoder


def trained(encoder, batch, steps=20):
    """Move everything that training moves: weights, biases, batch statistics."""
    generator = torch.Generator().manual_seed(9)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.05)
    encoder.train()
    for _ in range(steps):
        logits = encoder(batch)
        target = torch.randn(logits.shape, generator=generator)
        optimizer.zero_grad()
        (logits - target).square().mean().backward()
        optimizer.step()
    return encoder.eval()


def exported(encoder, **options):
    return NumpyEncoder([Layer(*layer) for layer in encoder.layers()], **options)


def agree(ours, theirs, size):
    """Whether logits differ by rounding only, and bits only where a logit is rounding itself.

    `size` is the largest sum of absolute terms that any logit is made of.
    """
    rounding = 8 * np.finfo(np.float32).eps * size
    assert np.abs(ours - theirs).max() <= rounding
    differ = (ours > 0) != (theirs > 0)
    assert np.abs(ours[differ]).max(initial=0) <= rounding
    assert differ.mean() < 0.01
    return True


def size_of_terms(layers, X):
    """The largest logit if no two terms canceled each other."""
    terms = abs(X)
    for weight, bias, _ in layers:
        terms = terms @ np.abs(weight) + np.abs(bias)
    return terms.max()


@torch.no_grad()
def logits_of(encoder, X):
    return encoder(as_batch(X, CPU)).numpy()


# One map, three forms: torch on dense rows, torch on sparse rows, numpy


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_sparse_and_dense_rows_give_the_same_logits(name, options):
    X = make_sparse()
    encoder = trained(make(name, sparse=True, **options), as_batch(X, CPU))
    assert isinstance(as_batch(X, CPU), SparseRows)
    size = size_of_terms(encoder.layers(), X.toarray())
    assert agree(logits_of(encoder, X), logits_of(encoder, X.toarray()), size)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_sparse_and_dense_rows_give_the_same_gradients(name, options):
    X, gradients = make_sparse(), []
    for rows in (X, X.toarray()):
        encoder = make(name, sparse=True, **options)
        encoder(as_batch(rows, CPU)).square().mean().backward()
        gradients.append([parameter.grad for parameter in encoder.parameters()])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_numpy_gives_the_codes_of_torch(name, options, standard):
    X = make_X()
    encoder = make(name, **options)
    if standard:
        scaled(encoder, X)
    trained(encoder, as_batch(X, CPU))
    size = size_of_terms(encoder.layers(), X)
    assert agree(exported(encoder).logits(X), logits_of(encoder, X), size)


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_numpy_gives_the_codes_of_torch_for_sparse_rows(name, options):
    X = make_sparse()
    encoder = trained(make(name, sparse=True, **options), as_batch(X, CPU))
    size = size_of_terms(encoder.layers(), X)
    assert agree(exported(encoder).logits(X), logits_of(encoder, X), size)


def test_the_comparison_tells_right_from_wrong():
    X = make_X()
    encoder = trained(scaled(make("mlp", hidden=(8,)), X), as_batch(X, CPU))
    right, size = exported(encoder).logits(X), size_of_terms(encoder.layers(), X)
    encoder.norms[0].eps *= 1000
    with pytest.raises(AssertionError):
        agree(right, logits_of(encoder, X), size)


def test_scaling_is_what_it_says():
    X = make_X()
    encoder = scaled(make(n_features=12, n_bits=12), X)
    with torch.no_grad():
        encoder.input.weight.copy_(torch.eye(12))
    Z = logits_of(encoder, X)
    varies = np.arange(12) != 3
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(Z.std(axis=0)[varies], 1, rtol=1e-4)
    assert not Z[:, 3].any()


@pytest.mark.parametrize("noise", [0, 1e-17, 1e-12, 1e-9])
def test_the_rounding_of_a_constant_feature_is_not_blown_up(noise):
    encoder = make(n_features=2, n_bits=3)
    encoder.input.scale(np.array([0.1 + noise, 0]), np.array([noise, 2]))
    assert encoder.input.inverse_deviation.tolist() == [1, 0.5]
    X = np.array([[0.1, 1], [0.1, -1]], dtype=np.float32)
    np.testing.assert_allclose(exported(encoder).logits(X), logits_of(encoder, X), atol=1e-6)


# Going on from what was exported


@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_loaded_layers_are_the_same_map(name, options, standard):
    X = make_X()
    first = trained(scaled(make(name, **options), X), as_batch(X, CPU))
    second = make(name, **options, seed=1)
    if standard:
        scaled(second, X + 1)  # other rows, other scaling: the map must not change
    second.load_layers(first.layers())
    second.train()  # what was batch normalization is now in the weights
    size = size_of_terms(first.layers(), X)
    assert agree(logits_of(second, X), logits_of(first, X), size)
    for a, b in zip(second.layers(), first.layers(), strict=True):
        assert a[2] == b[2]
        np.testing.assert_allclose(a[0], b[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(a[1], b[1], rtol=1e-5, atol=1e-5)


def test_loaded_weights_are_kept_to_the_bit_without_scaling():
    first, second = make(seed=0), make(seed=1)
    second.load_layers(first.layers())
    assert torch.equal(second.input.weight, first.input.weight)


# Batch normalization


def test_a_lone_row_is_normalized_as_in_prediction():
    X = make_X()
    encoder = trained(make("mlp", hidden=(8,)), as_batch(X, CPU))
    one = as_batch(X[:1], CPU)
    expected, statistics = encoder(one), encoder.norms[0].running_mean.clone()
    encoder.train()
    assert torch.equal(encoder(one), expected)
    assert torch.equal(encoder.norms[0].running_mean, statistics)
    assert encoder(as_batch(X[:0], CPU)).shape == (0, 6)
    assert not torch.equal(encoder(as_batch(X, CPU)), encoder.eval()(as_batch(X, CPU)))


# Size


def test_sparse_rows_are_never_made_dense():
    n, d = 100_000, 10_000_000  # 4 TB if dense
    X = sp.csr_array(
        (np.ones(n, "f4"), np.arange(n, dtype=np.int32) * 97 % d, np.arange(n + 1)), shape=(n, d)
    )
    encoder = make(n_features=d, n_bits=2, sparse=True)
    encoder(as_batch(X, CPU)).sum().backward()
    assert encoder.input.weight.grad.sum() == 2 * n
    assert encoder.layers()[0][0].shape == (d, 2)


# A module of one's own


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 6), nn.Dropout())

    def forward(self, x):
        return self.layers(x)


def test_a_module_is_used_as_it_is():
    module = Own()
    assert make(module) is module
    face = ModuleEncoder(module, 12, 6)
    X = make_X()
    logits = face.logits(X)
    assert (face.n_features, face.n_bits) == (12, 6)
    assert logits.dtype == np.float32
    assert np.array_equal(logits, face.logits(X.astype(np.float64)))  # eval: nothing drops out
    assert np.array_equal(logits, module.layers[0](torch.from_numpy(X)).detach().numpy())


def test_a_module_takes_rows_that_cannot_be_written():
    X, S = make_X(), make_sparse()
    for array in (X, S.data, S.indices, S.indptr):
        array.flags.writeable = False
    assert ModuleEncoder(Own(), 12, 6).logits(X).shape == (200, 6)
    assert ModuleEncoder(make(sparse=True), 12, 6).logits(S).shape == (200, 6)


def test_a_module_without_parameters():
    assert np.array_equal(ModuleEncoder(nn.Identity(), 2, 2).logits([[1, 2]]), [[1, 2]])


@pytest.mark.parametrize("X", [make_X(), make_sparse()], ids=["dense", "sparse"])
def test_a_module_is_given_unit_rows_if_it_was_trained_on_them(X):
    module = make(sparse=True)
    face = ModuleEncoder(module, 12, 6, row_normalize=True)
    np.testing.assert_allclose(
        face.logits(X), exported(module, row_normalize=True).logits(X), rtol=1e-5, atol=1e-6
    )


def test_unit_rows_keep_rows_of_zeros():
    rows = as_batch(sp.csr_array(np.array([[0, 0], [3, 4], [0, 0]], dtype=np.float32)), CPU)
    assert unit_rows(rows).values.tolist() == pytest.approx([0.6, 0.8])
    assert unit_rows(torch.zeros(2, 3)).tolist() == [[0] * 3] * 2


# Making


def test_made_by_name():
    assert {"linear": LinearEncoder, "mlp": MLPEncoder} == ENCODERS
    for name, kind in ENCODERS.items():
        assert type(make(name)) is kind


def test_the_generator_decides_the_first_weights():
    state = torch.get_rng_state()
    first, twin, other = make("mlp", seed=1), make("mlp", seed=1), make("mlp", seed=2)
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(first.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(first.input.weight, other.input.weight)


def test_first_logits_are_of_like_size():
    X = np.random.default_rng(0).normal(size=(500, 300)).astype(np.float32)
    assert 0.4 < logits_of(make(n_features=300, n_bits=32), X).std() < 0.8
    S = sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True))
    assert 0.05 < logits_of(make(n_features=300, n_bits=32, sparse=True), S).std() < 0.2


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="encoder='linaer' is not known. Did you mean 'linear'"):
        make("linaer")


@pytest.mark.parametrize("hidden", [(), (0,), (4, -1)])
def test_wrong_widths_are_named(hidden):
    with pytest.raises(InputError, match="hidden="):
        make("mlp", hidden=hidden)


def test_an_input_layer_exports_copies():
    layer = InputLayer(3, 2, torch.Generator().manual_seed(0), std=0.1)
    before = layer.weight.clone()
    layer.export()[0][:] = 7
    assert torch.equal(layer.weight, before)
