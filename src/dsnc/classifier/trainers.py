"""Which trainer a run takes: the fast one where it can do what is asked, otherwise torch."""

import functools
import logging
import os
from dataclasses import replace

import numpy as np

from dsnc.errors import InputError
from dsnc.families import Part
from dsnc.gradients import StraightThrough
from dsnc.training.settings import Settings

_LOG = logging.getLogger(__name__)

# Settings that only torch knows, and those whose numbers are Adam's: with trainer="fast" given,
# these are its own.
_OF_TORCH = (
    "encoder",
    "beta",
    "gamma",
    "loss",
    "code_values",
    "weight_decay",
    "validation_codes",
    "precision",
)
FEW = ("sampled_softmax", "sampled_sigmoid")  # losses that the fast trainer has
_OF_ADAM = ("learning_rate", "batch_size")


def choose_trainer(settings: Settings) -> tuple[str, str]:
    """Return "fast" or "torch", and why the other was not taken ("" where the user said so)."""
    if settings.trainer == "torch":
        return "torch", ""
    reason = _needs_torch(settings)
    if settings.trainer == "fast":
        if reason:
            raise InputError(
                f"trainer='fast' does not support {reason}; leave that out, or use trainer='torch'."
            )
        return "fast", ""
    reason = reason or _changed(settings, _OF_ADAM)
    return ("torch", reason) if reason else ("fast", "")


@functools.cache  # once
def tell_why_torch(reason: str) -> None:
    """Tell which setting has left the default trainer: another one, with other numbers."""
    _LOG.warning(
        "trainer: torch, because of %s. The default trainer, 'fast', has another optimizer and "
        "another loss: compare only models of the same trainer. trainer='torch' is not told.",
        reason,
    )


def _needs_torch(settings: Settings) -> str:
    if settings.device not in ("auto", "cpu"):
        return f"device={settings.device!r}"
    if os.environ.get("WORLD_SIZE", "1") != "1":
        return "several processes (WORLD_SIZE is set)"
    if settings.precision == "float32":  # which is what the fast trainer has
        settings = replace(settings, precision="auto")
    if settings.loss in FEW:
        settings = replace(settings, loss="auto")
    gradient = settings.gradient
    if type(gradient) is not StraightThrough or gradient.slope_growth != 1:
        return f"gradient={gradient!r}"
    return _changed(settings, _OF_TORCH)


def _changed(settings: Settings, names: tuple[str, ...]) -> str:
    """Return the first of some settings that is not at its default, as a user would write it."""
    usual = Settings()
    for name in names:
        value, default = getattr(settings, name), getattr(usual, name)
        if isinstance(value, Part | dict):
            return f"{name}={value!r}"
        if not isinstance(value, str | int | float | np.number):
            return f"{name}={type(value).__name__}"  # an object of the user's
        if value != default:
            return f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}"
    return ""
