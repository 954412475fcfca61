"""What can be trained, which parameters each method has, and what they mean.

The names are written down here so that help and completion need not import anything; a test holds
them to the registries.
"""

from enum import StrEnum
from inspect import getdoc
from typing import Any

import typer

from dsnc.errors import InputError


class Method(StrEnum):
    """What is trained."""

    dsnc = "dsnc"
    mlp = "mlp"
    ecoc = "ecoc"
    one_vs_rest = "one_vs_rest"
    nearest_centroid = "nearest_centroid"


class Encoder(StrEnum):
    """From row to bits."""

    linear = "linear"
    mlp = "mlp"


class ClassWeight(StrEnum):
    """How much a class counts."""

    balanced = "balanced"
    propensity = "propensity"


class Trainer(StrEnum):
    """What trains."""

    auto = "auto"
    fast = "fast"
    torch = "torch"


METHODS = tuple(method.value for method in Method)
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
_OTHERS = {  # what the docstrings say of several parameters together
    "schedule": "How the learning rate moves: one_cycle or constant.",
    "weight_decay": "Weight decay of Adam.",
    "C": "How much the losses count relative to the size of the weights.",
}
# The business of the command line; an object of Python; what has a table of its own.
_LEFT_OUT = {"callbacks", "checkpoint", "verbose", "base", "text"}


def option(parameter: str, **more: Any) -> Any:
    """Return the option of a parameter."""
    name, help_ = OPTIONS[parameter]
    return typer.Option(name, help=help_, **more)


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


def parameters_of(kind: Any) -> dict[str, Any]:
    """Return the parameters that a user may set, and their defaults, in the order of the class."""
    given = kind().get_params(deep=False)
    names = [name for name in kind.__init__.__annotations__ if name in given]
    return {name: given[name] for name in names if name not in _LEFT_OUT}


def help_of(kind: Any) -> dict[str, str]:
    """Return a line about each parameter: ours, or the first sentence of the docstring's."""
    import dsnc

    ours = _OTHERS | {name: help_ for name, (_, help_) in OPTIONS.items()}
    lines = {**first_sentences(dsnc.DSNCClassifier), **first_sentences(kind), **ours}
    return {name: lines.get(name, "") for name in kind().get_params(deep=False)}


def first_sentences(kind: Any) -> dict[str, str]:
    """Return the first sentence about each parameter in a docstring of numpy's form.

    So that help and docstring say the same, whatever is changed.
    """
    section = (getdoc(kind) or "").partition("Parameters\n----------\n")[2]
    texts: dict[str, str] = {}
    names: list[str] = []
    for line in section.partition("\n\n")[0].splitlines():
        if line.startswith(" "):
            texts |= {name: f"{texts.get(name, '')} {line.strip()}" for name in names}
        else:
            names = line.partition(" :")[0].replace(" ", "").split(",")
    sentences = {name: f"{text.strip()} ".split(". ")[0] + "." for name, text in texts.items()}
    # "As there" says it in the other docstring.
    return {name: text for name, text in sentences.items() if not text.startswith("As ")}
