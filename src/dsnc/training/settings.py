"""All that one can set about training, in one flat object that checks itself."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dsnc.checks import is_whole, one_of, real, whole
from dsnc.errors import InputError
from dsnc.families import Part, plain_choice
from dsnc.gradients import make_gradient
from dsnc.training.losses import LOSSES

SCALINGS = ("auto", "none", "standard", "common", "unit_rows")
SCHEDULES = ("constant", "one_cycle")
CODE_VALUES = ("bits", "signs")
ADAPTIVE = ("none", "previous", "best")
VALIDATION_CODES = ("hard", "sampled")
PRECISIONS = ("auto", "bfloat16", "float32")
TRAINERS = ("auto", "fast", "torch")
# What a checkpoint may differ in from the run that goes on from it.
FREE = {"checkpoint", "callbacks", "verbose", "time_limit", "device"}
_MOST_BITS = 4096  # of a code: a million classes need 20


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What every model that is trained has in common; `dsnc.DSNCClassifier` documents each."""

    n_bits: int = 64  # outputs of the encoder
    encoder: Any = "linear"
    hidden: Sequence[int] = (1024,)  # of the encoder "mlp", and so is the next
    normalize: bool = True
    scaling: str = "auto"
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: str = "none"
    max_epochs: int | str = "auto"
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    schedule: str = "one_cycle"
    weight_decay: float = 0.0
    validation_every: int = 1
    patience: int | None = None
    time_limit: float | None = None
    device: str = "auto"
    precision: str = "auto"
    checkpoint: Any = None
    callbacks: Sequence[Callable[..., Any]] = ()
    verbose: bool = False

    counts: ClassVar[tuple[str, ...]] = ("n_bits", "validation_every")
    weights: ClassVar[tuple[str, ...]] = ("beta", "gamma", "weight_decay")
    names: ClassVar[dict[str, Sequence[str]]] = {
        "scaling": SCALINGS,
        "adaptive": ADAPTIVE,
        "schedule": SCHEDULES,
        "precision": PRECISIONS,
    }
    epochs: ClassVar[int] = 50  # of max_epochs="auto"
    # Of learning_rate="auto", for dense and for sparse rows; measured to be best.
    rates: ClassVar[tuple[float, float]] = (2e-2, 1e-2)
    # Of batch_size="auto": steps of an epoch, and the least and the most rows of a step; the most
    # again for dense and for sparse rows.
    steps: ClassVar[int] = 50
    least_rows: ClassVar[int] = 16
    most_rows: ClassVar[tuple[int, int]] = (1000, 1000)

    def rate(self, *, sparse: bool) -> float:
        """Return the learning rate for rows that are sparse or not."""
        if isinstance(self.learning_rate, str):
            return self.rates[sparse]
        return float(self.learning_rate)

    def rows_of_a_step(self, n_rows: int, *, sparse: bool) -> int:
        """Return the size of a batch where there are so many rows."""
        if isinstance(self.batch_size, str):
            return min(self.most_rows[sparse], max(self.least_rows, -(-n_rows // self.steps)))
        return int(self.batch_size)

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        self._check_numbers()
        if not _all(callable, self.callbacks):
            raise InputError(f"callbacks={self.callbacks!r} must be a sequence of functions.")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | os.PathLike):
            raise InputError(f"checkpoint={self.checkpoint!r} must be the path of a folder.")
        for name, valid in self.names.items():
            one_of(name, getattr(self, name), valid)
        if not _all(is_whole, self.hidden) or not len(self.hidden):
            raise InputError(
                f"hidden={self.hidden!r}: give one or more widths of 1 or more, as in (512,)."
            )

    def _check_numbers(self) -> None:
        for name in self.counts:
            whole(name, getattr(self, name))
        for name in ("max_epochs", "batch_size"):
            if getattr(self, name) != "auto":
                whole(name, getattr(self, name))
        if self.patience is not None:
            whole("patience", self.patience)
        for name in self.weights:
            real(name, getattr(self, name))
        if self.learning_rate != "auto":
            real("learning_rate", self.learning_rate, above=True)
        if self.time_limit is not None:
            real("time_limit", self.time_limit, above=True)


@dataclass(frozen=True, kw_only=True)
class SoftmaxSettings(RunSettings):
    """Settings of a model that ends in a softmax over the classes, or in another loss of them."""

    loss: Any = "softmax"
    label_smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Write the loss in one way, however it was spelled."""
        object.__setattr__(self, "loss", plain_choice(self.loss, LOSSES))

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        super().check()
        real("label_smoothing", self.label_smoothing, most=1.0)
        if not isinstance(self.loss, Part):  # its settings are checked where torch is there
            name = self.loss.get("name") if isinstance(self.loss, Mapping) else self.loss
            one_of("loss", name, ("auto", *LOSSES))


@dataclass(frozen=True, kw_only=True)
class Settings(SoftmaxSettings):
    """Settings of a run of `dsnc.DSNCClassifier`."""

    trainer: str = "auto"
    loss: Any = "auto"
    gradient: Any = "straight_through"
    code_values: str = "signs"
    soft_share: float = 0.25
    validation_codes: str = "hard"

    names: ClassVar[dict[str, Sequence[str]]] = {
        **SoftmaxSettings.names,
        "trainer": TRAINERS,
        "code_values": CODE_VALUES,
        "validation_codes": VALIDATION_CODES,
    }

    def __post_init__(self) -> None:
        """Make the gradient, however it was spelled."""
        super().__post_init__()
        object.__setattr__(self, "gradient", make_gradient(self.gradient))

    def check(self) -> None:
        """Refuse what cannot work, naming parameter, value and fix."""
        super().check()
        check_bits(self.n_bits)
        real("soft_share", self.soft_share, most=1.0)


def check_bits(n_bits: int) -> None:
    """Refuse codes that are too long to be of any use."""
    if n_bits > _MOST_BITS:
        raise InputError(
            f"n_bits={n_bits} is more than {_MOST_BITS}; codes are short. Four times log2 of the "
            "number of classes is a good start: n_bits=40 for a thousand, 80 for a million."
        )


def _all(fits: Callable[[Any], bool], values: Any) -> bool:
    return isinstance(values, Collection) and all(fits(value) for value in values)
