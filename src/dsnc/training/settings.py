"""All that one can set about training, in one flat object that checks itself."""

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dsnc.errors import InputError, unknown_name

SCALINGS = ("auto", "none", "standard", "common", "unit_rows")
SCHEDULES = ("constant", "one_cycle")
CODE_VALUES = ("bits", "signs")
ADAPTIVE = ("none", "previous", "best")
VALIDATION_CODES = ("hard", "sampled")
PRECISIONS = ("bfloat16", "float32")


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every model that is trained has in common; `dsnc.DSNCClassifier` documents each."""

    n_bits: int = 64  # outputs of the encoder
    encoder: Any = "linear"
    scaling: str = "auto"
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: str = "none"
    max_epochs: int = 50
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    schedule: str = "one_cycle"
    weight_decay: float = 0.0
    validation_every: int = 1
    patience: int | None = None
    time_limit: float | None = None
    device: str = "auto"
    precision: str = "float32"
    checkpoint: Any = None
    callbacks: Sequence[Callable[..., Any]] = ()
    verbose: bool = False

    counts: ClassVar[tuple[str, ...]] = ("n_bits", "max_epochs", "validation_every")
    weights: ClassVar[tuple[str, ...]] = ("beta", "gamma", "weight_decay")
    names: ClassVar[dict[str, Sequence[str]]] = {
        "scaling": SCALINGS,
        "adaptive": ADAPTIVE,
        "schedule": SCHEDULES,
        "precision": PRECISIONS,
    }
    # Of learning_rate="auto", for dense and for sparse rows; measured to be best.
    rates: ClassVar[tuple[float, float]] = (2e-2, 1e-2)
    # Of batch_size="auto": steps of an epoch, and the least and the most rows of a step.
    steps: ClassVar[int] = 50
    batch_sizes: ClassVar[tuple[int, int]] = (16, 1000)

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        self._check_numbers()
        if not _all(callable, self.callbacks):
            raise InputError(f"callbacks={self.callbacks!r} must be a sequence of functions.")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | os.PathLike):
            raise InputError(f"checkpoint={self.checkpoint!r} must be the path of a folder.")
        for name, valid in self.names.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in valid:
                raise unknown_name(name, value, valid)

    def _check_numbers(self) -> None:
        for name in self.counts:
            at_least_one(name, getattr(self, name))
        if self.batch_size != "auto":
            at_least_one("batch_size", self.batch_size)
        if self.patience is not None:
            at_least_one("patience", self.patience)
        for name in self.weights:
            check_number(name, getattr(self, name), lowest=0.0)
        if self.learning_rate != "auto":
            check_number("learning_rate", self.learning_rate, lowest=0.0, strict=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, lowest=0.0, strict=True)


@dataclass(frozen=True, kw_only=True)
class SoftmaxSettings(RunSettings):
    """Settings of a model that ends in a softmax over the classes."""

    label_smoothing: float = 0.0

    def _check_numbers(self) -> None:
        super()._check_numbers()
        check_number("label_smoothing", self.label_smoothing, lowest=0.0, highest=1.0)


@dataclass(frozen=True, kw_only=True)
class Settings(SoftmaxSettings):
    """Settings of a run of `dsnc.DSNCClassifier`."""

    hidden: Sequence[int] = (1024,)
    normalize: bool = True
    gradient: Any = "straight_through"
    n_draws: int = 4
    code_values: str = "signs"
    soft_share: float = 0.25
    soft_vectors: bool = True
    validation_codes: str = "hard"

    counts: ClassVar[tuple[str, ...]] = (*RunSettings.counts, "n_draws")
    names: ClassVar[dict[str, Sequence[str]]] = {
        **RunSettings.names,
        "code_values": CODE_VALUES,
        "validation_codes": VALIDATION_CODES,
    }

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        super().check()
        check_number("soft_share", self.soft_share, lowest=0.0, highest=1.0)
        if not isinstance(self.soft_vectors, bool | np.bool_):
            raise InputError(f"soft_vectors={self.soft_vectors!r} must be True or False.")
        if not _all(_is_count, self.hidden) or not len(self.hidden):
            raise InputError(f"hidden={self.hidden!r}: give one or more widths of 1 or more.")


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__") and bool(value >= 1)


def _all(fits: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, Collection) and all(fits(value) for value in values)


def at_least_one(name: str, value: Any) -> None:
    """Refuse what is no whole number of 1 or more."""
    if not _is_count(value):
        raise InputError(f"{name}={value!r} must be a whole number, 1 or more.")


def check_number(
    name: str, value: Any, *, lowest: float, highest: float = math.inf, strict: bool = False
) -> None:
    """Refuse what is no number within the bounds; `strict` excludes 0."""
    try:
        fits = math.isfinite(value) and lowest <= value <= highest and not (strict and value == 0)
    except TypeError:
        fits = False
    if not fits:
        bounds = f"above {lowest:g}" if strict else f"{lowest:g} or more"
        upper = f" and at most {highest:g}" if highest < math.inf else ""
        raise InputError(f"{name}={value!r} must be a number {bounds}{upper}.")
