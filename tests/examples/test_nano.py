"""`examples/nano.py` and the real thing say the same: each is the other's oracle."""

import runpy
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from dsnc.codes import CodeTable, Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, NearestDecoder, TableDecoder
from dsnc.gradients import Reinforce, StraightThrough
from dsnc.training.regularizer import PartnerSampler, distance_sum

N_BITS, N_CLASSES, N = 6, 5, 12


@pytest.fixture(scope="module")
def nano(repository):
    return SimpleNamespace(**runpy.run_path(str(repository / "examples" / "nano.py")))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def model(nano, rng):
    encoder, classes = rng.normal(size=(4, N_BITS)), rng.normal(size=(N_CLASSES, N_BITS))
    return nano.Model(encoder, rng.normal(size=N_BITS), classes, rng.normal(size=N_CLASSES))


@pytest.fixture
def logits(nano, model, rng):
    return nano.encode(model, rng.normal(size=(N, 4)))


@pytest.fixture
def y(rng):
    return np.sort(rng.integers(N_CLASSES, size=N))


@pytest.mark.parametrize("name", ["straight_through", "reinforce"])
def test_gradients_of_a_drawn_code(nano, model, logits, y, name, rng):
    uniform = rng.random((1, *logits.shape))
    code = (uniform[0] < nano.sigmoid(logits)).astype(float)
    by_logit, error = getattr(nano, name)(model, logits, y, code)

    leaf = torch.tensor(logits, requires_grad=True)
    weight, bias = (torch.tensor(part, requires_grad=True) for part in model[2:])

    def loss_of_code(code):
        scores = code @ weight.T + bias
        each = torch.nn.functional.cross_entropy(scores[0], torch.tensor(y), reduction="none")
        return each.sum(), each.detach()[None]

    one = {"n_draws": 1}
    gradient = Reinforce(baseline="none", **one) if name == "reinforce" else StraightThrough(**one)
    gradient(leaf, loss_of_code, lambda shape: torch.tensor(uniform).reshape(shape))[0].backward()
    np.testing.assert_allclose(by_logit, leaf.grad, atol=1e-12)
    np.testing.assert_allclose(error.T @ code, weight.grad, atol=1e-12)
    np.testing.assert_allclose(error.sum(axis=0), bias.grad, atol=1e-12)


def test_reinforce_is_right_on_average(nano, model, logits, y):
    """All codes, each by its probability, against differences of the expected loss."""

    def probability(logits, code):
        phi = nano.sigmoid(logits)
        return np.where(code, phi, 1 - phi).prod(axis=1)

    def expected(logits, what):
        every = (np.tile(code, (N, 1)) for code in product([0.0, 1.0], repeat=N_BITS))
        return sum(what(code) * probability(logits, code).reshape(N, *[1] * axes) for code in every)

    axes = 0
    step, differences = 1e-5, np.empty((N, N_BITS))
    for j in range(N_BITS):
        shift = step * (np.arange(N_BITS) == j)
        losses = [
            expected(moved, lambda code: nano.softmax_loss(model, code, y)[0])
            for moved in (logits + shift, logits - shift)
        ]
        differences[:, j] = (losses[0] - losses[1]) / (2 * step)
    axes = 1
    found = expected(logits, lambda code: nano.reinforce(model, logits, y, code)[0])
    np.testing.assert_allclose(found, differences, atol=1e-8)


def test_the_regularizer_is_what_pairs_of_a_sampler_estimate(nano, logits, y):
    phi = torch.tensor(nano.sigmoid(logits))
    sampler, rows = PartnerSampler(torch.tensor(y), N_CLASSES), torch.arange(N)
    generator, sums, n = torch.Generator().manual_seed(0), np.zeros((2, 1000)), 1000
    for i in range(n):
        pairs = sampler.draw(rows, generator)
        for j, (other, weight) in enumerate((pairs[:2], pairs[2:])):
            sums[j, i] = distance_sum(phi, phi[other], weight / N)
    for found, exact in zip(sums, nano.regularizer(phi.numpy(), y), strict=True):
        assert abs(found.mean() - exact) < 5 * found.std() / np.sqrt(n)


def test_decoders(nano, model, logits, y, rng):
    known = rng.random((N, N_BITS)) < 0.5
    code = nano.most_probable(logits)
    # Bits are -1 and +1 here: halves of the vectors, and the other halves are biases.
    bias = model.class_bias + model.classes.sum(axis=1) / 2
    linear = LinearDecoder(model.classes / 2, bias)
    packed = PackedCodes.from_bits(code)
    assert (linear.predict(Encoded(None, packed)) == nano.decode_linear(model, code)).all()
    nearest = NearestDecoder(PackedCodes.from_bits(known), y, N_CLASSES)
    found = nano.decode_nearest(known, y, code)
    assert (nearest.predict(Encoded(None, packed)) == found).all()
    table = nano.make_table(model)
    decoder = TableDecoder.from_linear(linear, probes=1)
    assert (decoder.table.labels == table).all()
    assert (decoder.predict(Encoded(None, packed)) == nano.decode_table(table, code)).all()
    assert isinstance(decoder.table, CodeTable)


def test_it_learns(nano, capsys):
    right = nano.main()
    assert right["linear"] == right["table"] > 0.7 and right["nearest"] > 0.6
    assert "classes in 12 bits" in capsys.readouterr().out
