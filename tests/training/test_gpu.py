"""The same small runs on a CUDA device: ``pytest -m gpu``."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dsnc.encoders.torch import SparseRows, embedding_bag
from dsnc.targets import Targets
from dsnc.training import stepper
from dsnc.training.batches import make_source
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.losses import LOSSES, MANY
from dsnc.training.losses.making import make_loss
from dsnc.training.losses.sigmoid import SigmoidLoss
from dsnc.training.losses.softmax import SoftmaxLoss
from dsnc.training.settings import Settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
K = 20


def make_dense(n=1000):
    y = (np.arange(n) % K).astype(np.int32)
    X = 5 * np.eye(K, 30)[y] + np.random.default_rng(0).normal(size=(n, 30))
    return Examples(X.astype(np.float32), Targets(y, K))


def make_sparse(n=1000):
    dense = make_dense(n)
    X = np.where(np.abs(dense.X) > 1, dense.X, 0)
    X[::50] = 0  # empty rows
    return dense._replace(X=sp.csr_array(X))


def make_label_sets(n=1000):
    rng = np.random.default_rng(0)
    Y = np.eye(K, dtype=bool)[np.arange(n) % K] | (rng.random((n, K)) < 0.05)
    Y[::50] = False
    X = (5 * Y @ np.eye(K, 30) + rng.normal(size=(n, 30))).astype(np.float32)
    return Examples(X, Targets(sp.csr_array(Y), K))


def learn(examples, device, **settings):
    few = {"n_bits": 32, "max_epochs": 12, "learning_rate": 0.02, "device": device}
    settings = few | settings
    learner = Learner(Settings(**settings), examples, K, 0)
    rows = np.random.default_rng(1).permutation(len(examples.targets))
    training, held_out = (examples._replace(rows=part) for part in np.split(rows, [800]))
    return learner.export(), learner.fit(training, held_out), learner.export()


def arrays(trained):
    return [*(a for layer in trained.encoder.layers for a in layer[:2]), trained.decoder.weight]


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"precision": "float32"},
        {"beta": 1e-3, "gamma": 1e-3},
        {"encoder": "mlp", "hidden": (32,)},
        {"gradient": "disarm"},
        {"loss": "sampled_softmax"},
        {"loss": "sigmoid"},
        {"loss": "sampled_sigmoid"},
    ],
)
def test_the_device_learns_as_well_as_the_host(make, settings):
    examples = make()
    host = {name: value for name, value in settings.items() if name != "precision"}
    before, history, after = learn(examples, "cuda", **settings)
    same_start, on_host, _ = learn(examples, "cpu", **host)
    assert history.best_accuracy > 0.9
    assert history.best_accuracy == pytest.approx(on_host.best_accuracy, abs=0.05)
    for a, b in zip(arrays(before), arrays(same_start), strict=True):
        assert np.array_equal(a, b)  # the first weights do not depend on the device
    assert all(np.isfinite(a).all() for a in arrays(after))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"precision": "float32", "encoder": "mlp", "hidden": (32,)},
        {"beta": 1e-3, "gamma": 1e-3},
        {"loss": "softmax"},
        {"loss": "sampled_softmax"},
        {"loss": "sampled_sigmoid"},
    ],
)
def test_sets_are_learned_as_well_as_on_the_host(settings):
    examples = make_label_sets()
    host = {name: value for name, value in settings.items() if name != "precision"}
    _, history, after = learn(examples, "cuda", **settings)
    _, on_host, _ = learn(examples, "cpu", **host)
    sizes = np.diff(examples.targets.classes.indptr)
    best = np.mean([np.minimum(sizes, k) / k for k in (1, 3, 5)])  # P@1, 3, 5 at most
    assert history.best_accuracy > 0.9 * best
    assert history.best_accuracy == pytest.approx(on_host.best_accuracy, abs=0.05)
    again = learn(examples, "cuda", **settings)[2]
    for a, b in zip(arrays(after), arrays(again), strict=True):
        assert np.array_equal(a, b)  # the same seed gives the same bits


PLAIN, RECORDED = {"beta": 1e-3, "gamma": 1e-3}, {}


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize("settings", [PLAIN, RECORDED, {"loss": "sampled_softmax"}])
def test_the_same_seed_gives_the_same_bits(make, settings):
    first, second = (learn(make(), "cuda", **settings)[2] for _ in range(2))
    for a, b in zip(arrays(first), arrays(second), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize(
    "settings", [PLAIN, RECORDED, {"loss": "sampled_softmax", "encoder": "mlp", "hidden": (32,)}]
)
def test_killed_and_resumed_is_uninterrupted(make, settings, tmp_path):
    whole = learn(make(), "cuda", **settings)[2]
    stop = lambda progress: progress.epoch.epoch == 3 and progress.stop()  # noqa: E731
    learn(make(), "cuda", checkpoint=tmp_path, callbacks=[stop], **settings)
    resumed = learn(make(), "cuda", checkpoint=tmp_path, **settings)[2]
    for a, b in zip(arrays(whole), arrays(resumed), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("make", [make_dense, make_sparse])
@pytest.mark.parametrize("settings", [{}, {"encoder": "mlp", "hidden": (32,)}])
def test_recorded_steps_are_plain_ones(make, settings, monkeypatch):
    settings = {"max_epochs": 6, **settings}  # 50 steps of 16 rows each
    recorded = learn(make(), "cuda", **settings)
    monkeypatch.setattr(stepper, "WORTH_IT", 1 << 60)
    plain = learn(make(), "cuda", **settings)
    there, here = (run[1].column("loss") for run in (recorded, plain))
    assert there[0] == pytest.approx(here[0], rel=1e-3)
    assert there == pytest.approx(here, rel=0.05)  # a bit that falls otherwise changes what follows
    assert recorded[1].best_accuracy == pytest.approx(plain[1].best_accuracy, abs=0.02)


def test_padded_rows_are_the_same_rows():
    X, rows = make_sparse().X, torch.tensor([50, 3, 3, 0, 999], device="cuda")
    source = make_source(X, torch.device("cuda"), unit_rows=True)
    plain, padded = source.take(rows), source.take(rows, 200)
    assert len(padded.values) == len(padded.indices) == 200
    weight = torch.randn(X.shape[1], 4, device="cuda")
    torch.testing.assert_close(embedding_bag(padded, weight), embedding_bag(plain, weight))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("shape", [(200, 50, 16), (1, 40, 3), (77, 3001, 100), (700, 900, 256)])
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", [SoftmaxLoss, SigmoidLoss])
def test_the_loss_is_that_of_the_host(kind, precision, shape, smoothing):
    n_rows, n_classes, n_bits = shape
    generator = torch.Generator().manual_seed(0)
    shapes = [(n_rows, n_bits), (n_classes, n_bits), (n_classes,)]
    leaves = [torch.randn(*s, generator=generator) / n_bits**0.25 for s in shapes]
    y = torch.randint(n_classes, (n_rows,), generator=generator)
    weight = torch.rand(n_rows, generator=generator)

    def results(device, precision):
        there = [leaf.to(device).requires_grad_() for leaf in leaves]
        loss = kind(smoothing, precision)
        total, each = loss(*there, y.to(device), weight.to(device))
        gradients = torch.autograd.grad(3 * total, there)
        return [part.detach().cpu() for part in (total, each, *gradients)]

    tolerance = 1e-4 if precision == torch.float32 else 0.02
    for a, b in zip(results("cuda", precision), results("cpu", torch.float32), strict=True):
        assert (a - b).norm() < tolerance * b.norm()


@pytest.mark.parametrize(("n_bits", "name"), [(256, "softmax"), (257, "sampled_softmax")])
def test_auto_takes_all_classes_in_bfloat16_where_kernels_do_that(n_bits, name):
    loss = make_loss("auto", torch.empty(MANY, n_bits, device="cuda"), 0.1, "auto")
    assert type(loss) is LOSSES[name]
    assert loss.precision == (torch.bfloat16 if name == "softmax" else torch.float32)


def host(rows):
    return SparseRows(*(part.cpu() for part in rows)) if isinstance(rows, tuple) else rows.cpu()


@pytest.mark.parametrize("unit_rows", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8, np.int32, bool])
@pytest.mark.parametrize("make", [make_dense, make_sparse])
def test_rows_are_those_of_the_host(make, dtype, unit_rows, tmp_path):
    X = make().X
    if sp.issparse(X):
        if dtype == np.float16:
            pytest.skip("scipy has no sparse float16")
        X = abs(X).astype(dtype)
    else:  # a memory map that cannot be written
        np.save(tmp_path / "X.npy", np.abs(X).astype(dtype))
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    rows = torch.tensor([50, 3, 3, 0, 999])
    there, here = (make_source(X, torch.device(d), unit_rows=unit_rows) for d in ("cuda", "cpu"))
    for a, b in zip(host(there.take(rows)), host(here.take(rows)), strict=True):
        torch.testing.assert_close(a, b, check_dtype=False)
