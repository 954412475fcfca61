"""What can be trained, which parameters each method has, and which of them are options."""

from inspect import signature
from typing import Any, Literal

import typer

from dsnc.errors import InputError

Encoder = Literal["linear", "mlp"]
ClassWeight = Literal["balanced", "propensity"]
Trainer = Literal["auto", "fast", "torch"]
OPTIONS = {  # parameter: (option, its help)
    "n_bits": (
        "--bits",
        "Length of the codes; four times log2 of the number of classes is a good start.",
    ),
    "n_units": ("--bits", "Width of the hidden layer."),
    "encoder": ("--encoder", "linear for features that are good already, mlp for others."),
    "decoder": (
        "--decoder",
        "From code to class; auto: the best on validation rows. With settings: {name=..., ...}.",
    ),
    "reranker": (
        "--reranker",
        "Whether features decide among the candidates; auto: if validation rows gain clearly.",
    ),
    "trainer": (
        "--trainer",
        "fast: on the CPU, without torch; auto: fast if it supports the settings, else torch.",
    ),
    "max_epochs": (
        "--epochs",
        "Maximum number of passes over the rows; by default chosen from the data.",
    ),
    "learning_rate": ("--learning-rate", "A number, or auto."),
    "batch_size": ("--batch-size", "Rows per step, or auto."),
    "random_state": ("--seed", "Random seed; the same number gives the same model."),
    "device": ("--device", "auto, cpu, cuda, cuda:1, ..."),
    "beta": ("--beta", "Weight of the term that draws the codes of a class together."),
    "gamma": ("--gamma", "Weight of the term that drives the codes of classes apart."),
    "label_smoothing": ("--label-smoothing", "Share of the target spread over all classes."),
    "class_weight": (
        "--class-weight",
        "balanced: rare classes count as much as frequent ones; propensity: for label sets.",
    ),
    "threshold": (
        "--threshold",
        "Least probability of a label in a set, or the F1 to fit it for: micro, macro, samples.",
    ),
    "n_jobs": ("--jobs", "Threads; -1 uses all cores."),
    "time_limit": ("--time-limit", "Stop after this time with the best so far: 600, 10m, 2h."),
}
# The business of the command line; an object of Python; what has a table of its own.
_LEFT_OUT = {"callbacks", "checkpoint", "verbose", "base", "text"}


def option(parameter: str, **more: Any) -> Any:
    """Return the option of a parameter."""
    name, help_ = OPTIONS[parameter]
    return typer.Option(name, help=help_, **more)


def method_names() -> list[str]:
    """Return what can be trained: the classifier, and the baselines."""
    from dsnc.baselines import BASELINES

    return ["dsnc", *BASELINES]


def kind_of(method: str, *, sets: bool = False) -> Any:
    """Return the estimator of a method: for one label a row, or for label sets."""
    import dsnc
    from dsnc.baselines import BASELINES

    if method == "dsnc":
        return dsnc.DSNCMultiLabelClassifier if sets else dsnc.DSNCClassifier
    if sets:
        raise InputError(
            f"--method {method} learns one label a row, but the data have label sets; leave it out."
        )
    return BASELINES[method]


def parameters_of(kind: Any) -> set[str]:
    """Return the names of the parameters that a user may set."""
    return set(signature(kind).parameters) - _LEFT_OUT
