"""How the runs of a learner go, whichever the trainer: seeds, and settings of its shorter runs."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dsnc.training.settings import RunSettings

Some = TypeVar("Some", bound=RunSettings)


def pace_of_a_pass(pace: Some) -> Some:
    """Return the settings of a single pass over some rows, at a constant rate."""
    return replace(
        pace,
        max_epochs=1,
        schedule="constant",
        patience=None,
        time_limit=None,
        callbacks=(),
        verbose=False,
    )


def derived_seed(seed: int, number: int) -> int:
    """Return the seed of the run with this number."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
