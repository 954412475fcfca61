"""Settings by name: ``DSNCClassifier(**PAPER, n_bits=36)``."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "trainer": "torch",
        "gradient": {"name": "straight_through", "n_draws": 1, "slope_growth": 1.0001},
        "code_values": "bits",
        "loss": "softmax",
        "precision": "float32",
        "soft_share": 0.0,
        "decoder": "linear",
        "reranker": None,
        "scaling": "none",
        "schedule": "constant",
        "learning_rate": 1e-2,
        "batch_size": 1000,
        "max_epochs": 50,
        "validation_every": 10,
        "validation_codes": "hard",
        "patience": 20,
    }
)
"""The paper's model without regularization: one sampled code of 0 and 1, the linear decoder, Adam
at a constant rate. What the paper does not say is taken from the authors' script: how often to
validate, when to stop, how many epochs. docs/paper.md compares paper, script and recipes."""

PAPER_REGULARIZED: Mapping[str, Any] = MappingProxyType(
    {**PAPER, "beta": 1e-3, "gamma": 1e-3, "adaptive": "previous"}
)
"""`PAPER` with the intra- and inter-class terms, scaled by the adaptive factor. The authors start
at 1e-6 on the sum over a batch of 1,000, which is 1e-3 on the mean."""
