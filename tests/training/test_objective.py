import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn

from dsnc.encoders.torch import as_batch, make_encoder
from dsnc.gradients import GRADIENTS, Reinforce, StraightThrough, make_gradient
from dsnc.training.batches import Batch, Batches, make_source
from dsnc.training.losses import base
from dsnc.training.objective import Objective
from dsnc.training.regularizer import Partners, PartnerSampler
from dsnc.training.settings import Settings

CPU = torch.device("cpu")
SURE = 60.0  # a logit whose bit is not in doubt


def make(encoder=None, gradient=None, *, signs=True, n_classes=4, seed=0, **options):
    generator = torch.Generator().manual_seed(seed)
    settings = Settings(
        gradient=gradient or StraightThrough(),
        code_values="signs" if signs else "bits",
        **{"n_bits": 3, "soft_share": 0.0, **options},
    )
    objective = Objective(settings, encoder or nn.Identity(), n_classes, generator)
    with torch.no_grad():
        objective.bias.normal_(generator=generator)
    return objective


def make_batch(rows, y, weight=None):
    n = len(y)
    weight = torch.full((n,), 1 / n) if weight is None else weight
    return Batch(rows, torch.tensor(y), weight, (0, n, n), torch.Generator().manual_seed(0))


def negative_log_likelihood(objective, inputs, y, smoothing=0.0):
    scores = inputs.double() @ objective.weight.detach().double().T + objective.bias.detach()
    logs = scores - scores.exp().sum(dim=1, keepdim=True).log()
    hit = logs[torch.arange(len(y)), torch.tensor(y)]
    return -((1 - smoothing) * hit + smoothing * logs.mean(dim=1))


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name != "relaxed"])
@pytest.mark.parametrize("signs", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_loss_of_a_sure_code_is_its_likelihood(name, signs, smoothing):
    bits = torch.tensor([[0, 1, 1], [1, 0, 0.0]])
    objective = make(gradient=make_gradient(name), signs=signs, label_smoothing=smoothing)
    weight = torch.tensor([0.25, 0.75])
    terms = objective(make_batch((2 * bits - 1) * SURE, [2, 3], weight))
    inputs = 2 * bits - 1 if signs else bits
    by_hand = (negative_log_likelihood(objective, inputs, [2, 3], smoothing) * weight).sum()
    assert terms.loss.item() == pytest.approx(by_hand.item(), rel=1e-5)
    assert not terms.loss.requires_grad and terms.total.requires_grad
    assert terms.intra == terms.inter == 0


def test_the_loss_of_a_doubtful_code_is_a_mean_over_codes():
    objective = make(gradient=StraightThrough(n_draws=20_000))
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    codes = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    phi = torch.sigmoid(logits)
    probability = (codes * phi + (1 - codes) * (1 - phi)).prod(dim=1)
    expected = (probability * negative_log_likelihood(objective, 2 * codes - 1, [1] * 8)).sum()
    assert objective(make_batch(logits, [1])).loss.item() == pytest.approx(
        expected.item(), rel=0.01
    )


@pytest.mark.parametrize("signs", [True, False])
def test_a_share_of_the_loss_is_taken_on_the_probabilities(signs):
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    phi = torch.sigmoid(logits)
    hard = make(signs=signs)(make_batch(logits, [1]))
    objective = make(signs=signs, soft_share=0.3)
    mixed = objective(make_batch(logits, [1]))
    soft = negative_log_likelihood(objective, 2 * phi - 1 if signs else phi, [1]).sum()
    expected = 0.7 * hard.total + 0.3 * soft
    assert mixed.total.item() == pytest.approx(expected.item(), rel=1e-5)
    assert mixed.loss == hard.loss  # what is reported is the codes' loss


@pytest.mark.parametrize("loss", ["softmax", "sampled_softmax"])
@pytest.mark.parametrize("name", ["straight_through", "relaxed"])
def test_hard_and_soft_bits_may_go_through_the_layer_together(monkeypatch, name, loss):
    options = {"loss": loss, "soft_share": 0.3, "n_classes": 100}
    objective = make(gradient=make_gradient({"name": name, "n_draws": 3}), **options)
    logits = torch.randn(7, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def results():
        terms = objective(make_batch(logits, [3, 99, 3, 0, 50, 20, 21]))
        parameters = (logits, objective.weight, objective.bias)
        return [terms.total, terms.loss, *torch.autograd.grad(terms.total, parameters)]

    together = results()
    monkeypatch.setattr(type(objective.gradient), "uses_only_mean", False)
    for a, b in zip(together, results(), strict=True):
        torch.testing.assert_close(a, b)


def make_regularized(beta, gamma, factor=1.0):
    """Two rows, two partners each, weights that no two terms share."""
    objective = make(beta=beta, gamma=gamma)
    objective.factor.factor = factor
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(6, 3, generator=generator).requires_grad_()
    batch = make_batch(logits[:2], [0, 1])
    batch.partner_rows = logits[2:]
    nowhere = torch.zeros(2, dtype=torch.int64)
    batch.partners = Partners(nowhere, torch.tensor([0.3, 0.5]), nowhere, torch.tensor([0.0, 2.0]))
    phi = torch.sigmoid(logits)
    near = (phi[:2] - phi[2:4]).square().sum(dim=1)
    far = (phi[:2] - phi[4:]).square().sum(dim=1)
    return objective, batch, logits, 0.3 * near[0] + 0.5 * near[1], 2 * far[1]


def test_the_terms_are_weighted_distances_of_probabilities():
    objective, batch, _, intra, inter = make_regularized(0.7, 0.2)
    terms = objective(batch)
    assert terms.intra.item() == pytest.approx(intra.item())
    assert terms.inter.item() == pytest.approx(inter.item())


@pytest.mark.parametrize(("beta", "gamma", "factor"), [(0.7, 0, 1), (0, 0.2, 1), (0.7, 0.2, 8)])
def test_intra_is_added_and_inter_subtracted(beta, gamma, factor):
    objective, batch, logits, intra, inter = make_regularized(beta, gamma, factor)
    assert objective.is_regularized
    terms = objective(batch)
    wanted = factor * (beta * intra - gamma * inter)
    assert (terms.total - terms.loss).item() == pytest.approx(wanted.item(), rel=1e-4)
    # the gradient too: the whole, less that of the likelihood alone
    (whole,) = torch.autograd.grad(terms.total, [logits], retain_graph=True)
    batch.noise.manual_seed(0)
    objective.settings = Settings(beta=0.0, gamma=0.0, soft_share=0.0)
    (alone,) = torch.autograd.grad(objective(batch).total, [logits])
    (regular,) = torch.autograd.grad(wanted, [logits])
    torch.testing.assert_close(whole, alone + regular, rtol=1e-4, atol=1e-7)


def test_without_beta_and_gamma_nothing_is_regularized():
    assert not make().is_regularized
    assert make(beta=1e-9).is_regularized and make(gamma=1e-9).is_regularized


@pytest.mark.parametrize("sparse", [False, True])
def test_partners_are_encoded_as_rows_are(sparse):
    X = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    X[np.abs(X) < 0.7] = 0
    X[4] = 0
    given = sp.csr_array(X) if sparse else X
    y = torch.arange(9) % 2
    encoder = make_encoder("linear", 5, 3, torch.Generator().manual_seed(0), sparse=sparse)
    objective = make(encoder, beta=1.0, gamma=1.0)
    sampler = PartnerSampler(y, 2)
    source = make_source(given, CPU, unit_rows=False)
    options = {"batch_size": 9, "seed": 0, "partners": sampler}
    (batch,) = Batches(source, y, torch.ones(9), **options).epoch(0)
    terms = objective(batch)
    with torch.no_grad():
        phi = torch.sigmoid(encoder(batch.rows))
        same, other = torch.sigmoid(encoder(batch.partner_rows)).chunk(2)
    for term, partner, weight in (
        (terms.intra, same, batch.partners.same_weight),
        (terms.inter, other, batch.partners.other_weight),
    ):
        by_hand = ((phi - partner).square().sum(dim=1) * weight).sum()
        assert term.item() == pytest.approx(by_hand.item(), rel=1e-5)
        assert term > 0


# The decoder


@pytest.mark.parametrize("signs", [True, False])
def test_the_decoder_is_exported_for_signs(signs):
    objective = make(signs=signs)
    bits = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)))
    weight, bias = objective.decoder_for_signs()
    assert weight.dtype == bias.dtype == np.float32
    scores = objective.decoder_input(bits) @ objective.weight.T + objective.bias
    exported = (2 * bits.numpy() - 1) @ weight.T + bias
    np.testing.assert_allclose(exported, scores.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("from_signs", [True, False])
@pytest.mark.parametrize("to_signs", [True, False])
def test_a_loaded_decoder_gives_the_same_scores(from_signs, to_signs):
    first, second = make(signs=from_signs), make(signs=to_signs, seed=1)
    second.load_decoder(*first.decoder_for_signs())
    for a, b in zip(first.decoder_for_signs(), second.decoder_for_signs(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_loaded_decoder_is_kept_to_the_bit():
    first, second = make(), make(seed=1)
    second.load_decoder(*first.decoder_for_signs())
    assert torch.equal(first.weight, second.weight) and torch.equal(first.bias, second.bias)


@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize("signs", [True, False])
def test_the_answer_is_that_of_the_most_probable_code(monkeypatch, signs, block):
    monkeypatch.setattr(base, "_CPU_BLOCK", block)
    objective = make(signs=signs)
    logits = torch.randn(50, 3, generator=torch.Generator().manual_seed(1))
    logits[0] = 0  # a bit of zero, as in PackedCodes
    weight, bias = objective.decoder_for_signs()
    scores = np.where(logits.numpy() > 0, 1, -1) @ weight.T + bias
    answers = objective.best(logits, 1)[:, 0]
    assert answers.tolist() == scores.argmax(axis=1).tolist()
    assert len(set(answers.tolist())) > 1
    assert objective.best(logits[:0], 1)[:, 0].tolist() == []


def test_the_first_decoder_is_small_and_the_generators():
    settings = Settings(n_bits=16)
    first, twin = (
        Objective(settings, nn.Identity(), 50, torch.Generator().manual_seed(5)) for _ in range(2)
    )
    assert torch.equal(first.weight, twin.weight)
    assert first.weight.abs().max() <= 1 / math.sqrt(16)
    assert not first.bias.any()


# State


@pytest.mark.parametrize(
    "gradient", [StraightThrough(slope_growth=1.5), Reinforce(baseline="running")]
)
def test_the_state_is_more_than_weights(gradient):
    first = make(gradient=make_gradient(gradient), beta=1.0, adaptive="previous")
    first.start_epoch(3)
    first(make_batch(torch.ones(2, 3), [0, 1]))
    for accuracy in (0.1, 0.2, 0.3):
        first.after_validation(accuracy)
    second = make(gradient=make_gradient(gradient), beta=1.0, seed=1)
    second.load_state_dict(first.state_dict())
    assert (second.factor.factor, second.factor.reference) == (4.0, 0.3)
    assert second.gradient.state_dict() == first.gradient.state_dict() != {}
    batches = [make_batch(torch.ones(2, 3), [0, 1]) for _ in range(2)]
    assert torch.equal(first(batches[0]).total, second(batches[1]).total)


def test_the_factor_adapts_only_if_asked():
    fixed, adaptive = make(), make(adaptive="previous")
    for accuracy in (0.1, 0.2):
        fixed.after_validation(accuracy)
        adaptive.after_validation(accuracy)
    assert (fixed.factor.factor, adaptive.factor.factor) == (1, 2)


def correct(objective, epoch, logits):
    objective.start_epoch(epoch)
    return objective.best(logits, 1)[:, 0] == 0


def test_validation_decodes_the_most_probable_code_or_one_that_is_drawn():
    hard, sampled = make(nn.Identity()), make(nn.Identity(), validation_codes="sampled")
    weight = np.array([[0, 0, 0], [-9, 0, 0], [0, -9, 0], [0, 0, -9]], dtype=np.float32)
    for objective in (hard, sampled):  # class 0 is right where all bits are 1
        objective.load_decoder(weight, np.zeros(4, dtype=np.float32))
    sure = torch.full((64, 3), 30.0)
    assert correct(hard, 0, sure).all() and correct(sampled, 0, sure).all()
    # P(bit = 1) = 0.9: the most probable code is always right, a drawn one in 73 % of the rows.
    likely = torch.full((20_000, 3), float(np.log(9)))
    assert correct(hard, 0, likely).all()
    drawn = correct(sampled, 3, likely)
    assert abs(drawn.double().mean() - 0.9**3) < 4 * np.sqrt(0.73 * 0.27 / 20_000)
    assert torch.equal(drawn, correct(sampled, 3, likely))  # the same epoch, the same codes
    assert not torch.equal(drawn, correct(sampled, 4, likely))


def test_the_gradient_hears_of_epochs():
    objective = make(gradient=StraightThrough(slope_growth=2.0))
    objective.start_epoch(3)
    assert objective.gradient.state_dict() == {"slope": 8.0}


@pytest.mark.parametrize("name", GRADIENTS)
def test_every_gradient_trains_encoder_and_decoder(name):
    encoder = make_encoder("linear", 5, 3, torch.Generator().manual_seed(0))
    objective = make(encoder, make_gradient(name))
    X = np.random.default_rng(0).normal(size=(8, 5))
    objective(make_batch(as_batch(X, CPU), [0, 1, 2, 3] * 2)).total.backward()
    for parameter in objective.parameters():
        assert parameter.grad.isfinite().all() and parameter.grad.any()
