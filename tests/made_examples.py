"""Rows to learn from, and learners of them, made up: for tests of training."""

import numpy as np
import scipy.sparse as sp
import torch

from dsnc.decoders import LinearDecoder
from dsnc.predictor import Predictor
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings

CPU = torch.device("cpu")
K, D = 10, 12


def make_dense(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % K).astype(np.int32)
    X = 6 * np.eye(K, D)[y] + rng.normal(size=(n, D))
    X = X * np.exp(rng.normal(size=D)) + 50 * rng.normal(size=D)  # units differ
    return Examples(X.astype(np.float32), Targets(y, K))


def make_sparse(n=300, d=400, seed=0):
    """Each class has words of its own; some rows are empty."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % K).astype(np.int32)
    columns = rng.integers(0, 20, size=(n, 6)) + 20 * y[:, None]
    columns[:, :2] = rng.integers(0, d, size=(n, 2))
    X = sp.csr_array((np.ones(6 * n, "f4"), (np.repeat(np.arange(n), 6), columns.ravel())), (n, d))
    X = X.tolil()
    X[::50] = 0
    return Examples(X.tocsr(), Targets(y, K))


def make_settings(**settings):
    few = {"n_bits": 12, "max_epochs": 8, "learning_rate": 0.02, "device": "cpu"}
    return Settings(**few | settings)


def learn(examples, validation=None, *, seed=0, **settings):
    learner = Learner(make_settings(**settings), examples, K, seed)
    return learner, learner.fit(examples, validation)


def predictor_of(learner):
    trained = learner.export()
    return Predictor(trained.encoder, LinearDecoder(trained.decoder.weight, trained.decoder.bias))


def accuracy(learner, examples):
    return (predictor_of(learner).predict(examples.X) == examples.targets.y).mean()
