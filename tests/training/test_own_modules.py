"""A torch module of one's own as the encoder."""

import numpy as np
import pytest
import torch
from torch import nn

from dsnc.encoders.torch import ModuleEncoder
from dsnc.errors import InputError
from dsnc.training.batches import make_source
from dsnc.training.learner import Learner
from made_examples import (
    CPU,
    D,
    K,
    accuracy,
    learn,
    make_dense,
    make_settings,
    make_sparse,
    predictor_of,
)


class Own(nn.Module):
    def __init__(self, n_features=D, n_bits=12):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(
            nn.BatchNorm1d(n_features), nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, n_bits)
        )

    def forward(self, x):
        return self.layers(x)


class OwnSparse(nn.Module):
    accepts_sparse = True

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.bag = nn.EmbeddingBag(400, 12, mode="sum")

    def forward(self, rows):
        return self.bag(rows.indices, rows.offsets, per_sample_weights=rows.values)


@pytest.fixture
def restored_generator():
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


@pytest.mark.usefixtures("restored_generator")
def test_a_module_of_ones_own_is_trained():
    examples = make_dense()
    own = Own()
    learner, _ = learn(examples, encoder=own)
    assert learner.objective.encoder is own
    assert isinstance(learner.export().encoder, ModuleEncoder)
    assert accuracy(learner, examples) > 0.95
    again = Learner(make_settings(encoder=Own()), examples, K, 0)
    again.load(learner.export().encoder, predictor_of(learner).decoder)
    assert accuracy(again, examples) == accuracy(learner, examples)


@pytest.mark.usefixtures("restored_generator")
def test_a_module_that_takes_sparse_rows_sees_the_same_in_training_and_prediction():
    examples = make_sparse()
    learner, _ = learn(examples, encoder=OwnSparse(), max_epochs=15)
    assert accuracy(learner, examples) > 0.9
    seen = make_source(examples.X, CPU, unit_rows=learner.unit_rows).take(torch.arange(300))
    with torch.no_grad():
        in_training = learner.objective.encoder(seen).numpy()
    np.testing.assert_allclose(
        learner.export().encoder.logits(examples.X), in_training, rtol=1e-4, atol=1e-5
    )


@pytest.mark.usefixtures("restored_generator")
def test_a_module_that_takes_no_sparse_rows_is_told_so():
    with pytest.raises(InputError, match="accepts_sparse = True"):
        Learner(make_settings(encoder=Own(400)), make_sparse(), K, 0)
