"""All that one can set about training, in one flat object that checks itself."""

import math
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dsnc.errors import InputError, unknown_name

SCALINGS = ("auto", "none", "standard", "unit_rows")
SCHEDULES = ("constant", "one_cycle")
CODE_VALUES = ("bits", "signs")
PRECISIONS = ("bfloat16", "float32")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run; `dsnc.DSNCClassifier` documents each of them."""

    n_bits: int = 64
    encoder: Any = "linear"
    hidden: Sequence[int] = (1024,)
    normalize: bool = True
    gradient: Any = "straight_through"
    n_samples: int = 4
    code_values: str = "signs"
    scaling: str = "auto"
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: bool = True
    label_smoothing: float = 0.0
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

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        self._check_numbers()
        if not _all(_is_count, self.hidden) or not len(self.hidden):
            raise InputError(f"hidden={self.hidden!r}: give one or more widths of 1 or more.")
        if not _all(callable, self.callbacks):
            raise InputError(f"callbacks={self.callbacks!r} must be a sequence of functions.")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | os.PathLike):
            raise InputError(f"checkpoint={self.checkpoint!r} must be the path of a folder.")
        for name, valid in (
            ("scaling", SCALINGS),
            ("schedule", SCHEDULES),
            ("code_values", CODE_VALUES),
            ("precision", PRECISIONS),
        ):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in valid:
                raise unknown_name(name, value, valid)

    def _check_numbers(self) -> None:
        for name in ("n_bits", "n_samples", "max_epochs", "validation_every"):
            _at_least_one(name, getattr(self, name))
        if self.batch_size != "auto":
            _at_least_one("batch_size", self.batch_size)
        if self.patience is not None:
            _at_least_one("patience", self.patience)
        for name in ("beta", "gamma", "weight_decay"):
            _number(name, getattr(self, name), lowest=0.0)
        _number("label_smoothing", self.label_smoothing, lowest=0.0, highest=1.0)
        if self.learning_rate != "auto":
            _number("learning_rate", self.learning_rate, lowest=0.0, strict=True)
        if self.time_limit is not None:
            _number("time_limit", self.time_limit, lowest=0.0, strict=True)


def _is_count(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__") and bool(value >= 1)


def _all(fits: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, Collection) and all(fits(value) for value in values)


def _at_least_one(name: str, value: Any) -> None:
    if not _is_count(value):
        raise InputError(f"{name}={value!r} must be a whole number, 1 or more.")


def _number(
    name: str, value: Any, *, lowest: float, highest: float = math.inf, strict: bool = False
) -> None:
    try:
        fits = math.isfinite(value) and lowest <= value <= highest and not (strict and value == 0)
    except TypeError:
        fits = False
    if not fits:
        bounds = f"above {lowest:g}" if strict else f"{lowest:g} or more"
        upper = f" and at most {highest:g}" if highest < math.inf else ""
        raise InputError(f"{name}={value!r} must be a number {bounds}{upper}.")
