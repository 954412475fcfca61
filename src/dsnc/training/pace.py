"""How the runs of a learner go, whichever the trainer: seeds, and settings of its shorter runs."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dsnc.training.settings import RunSettings

Some = TypeVar("Some", bound=RunSettings)
SOFT_SEED = 1 << 30  # of vectors for soft bits, beside those of training
_SOFT_SHARE = 5  # they begin where training ended: a fifth of its epochs will do


def soft_pace(pace: Some, time_left: float | None) -> Some:
    """Return the settings of training vectors for soft bits after a run of this pace."""
    return replace(
        pace,
        max_epochs=-(-int(pace.max_epochs) // _SOFT_SHARE),
        schedule="one_cycle",
        validation_every=1,
        patience=None,
        time_limit=time_left,
        callbacks=(),
    )


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
