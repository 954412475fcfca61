"""What can be trained, which parameters each method has, and what they mean.

The names are written down here so that help and completion need not import anything; a test holds
them to the registries.
"""

import re
from enum import StrEnum
from inspect import getdoc
from typing import Any


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


METHODS = tuple(method.value for method in Method)
OPTIONS = {  # parameter: (option, its help)
    "n_bits": ("--bits", "Length of the codes: four times log2 of the classes is a good start."),
    "n_units": ("--bits", "Width of the hidden layer."),
    "encoder": ("--encoder", "linear for features that are good already, mlp for others."),
    "decoder": (
        "--decoder",
        "From code to class; auto: the best on validation rows. With settings: {name=..., ...}.",
    ),
    "max_epochs": ("--epochs", "At most so many passes over the rows."),
    "learning_rate": ("--learning-rate", "A number, or auto."),
    "batch_size": ("--batch-size", "Rows of a step, or auto."),
    "random_state": ("--seed", "The same number gives the same model."),
    "device": ("--device", "auto, cpu, cuda, cuda:1, ..."),
    "beta": ("--beta", "Weight of the term that draws the codes of a class together."),
    "gamma": ("--gamma", "Weight of the term that drives the codes of classes apart."),
    "label_smoothing": ("--label-smoothing", "Share of the target spread over all classes."),
    "class_weight": ("--class-weight", "balanced: rare classes count as much as frequent ones."),
    "n_jobs": ("--jobs", "Threads that predict; -1 takes all cores."),
    "time_limit": ("--time-limit", "Stop after this time with the best so far: 600, 10m, 2h."),
}
_OTHERS = {  # what the docstrings say of several parameters together
    "schedule": "How the learning rate moves: one_cycle or constant.",
    "weight_decay": "Of Adam.",
    "C": "How much the losses count against the size of the weights.",
}
_OF_THE_RUN = {"callbacks", "checkpoint", "verbose"}  # the command line's own business
_NOT_HERE = {"base"}  # an object of Python


def option_help(parameter: str) -> str:
    """Return the help of a parameter's option."""
    return OPTIONS[parameter][1]


def kind_of(method: str) -> Any:
    """Return the estimator of a method."""
    import dsnc
    from dsnc.baselines import BASELINES

    return dsnc.DSNCClassifier if method == "dsnc" else BASELINES[method]


def parameters_of(kind: Any) -> dict[str, Any]:
    """Return the parameters that a user may set, and their defaults."""
    left_out = _OF_THE_RUN | _NOT_HERE | {"text"}
    given = kind().get_params(deep=False)
    ordered = [name for name in kind.__init__.__annotations__ if name in given]
    return {name: given[name] for name in ordered if name not in left_out}


def help_of(kind: Any) -> dict[str, str]:
    """Return a line about each parameter: ours, or the first sentence of the docstring's."""
    import dsnc

    described = {**_described(dsnc.DSNCClassifier), **_described(kind), **_OTHERS}
    return {name: OPTIONS[name][1] if name in OPTIONS else described.get(name, "")
            for name in kind().get_params(deep=False)}  # fmt: skip


def _described(kind: Any) -> dict[str, str]:
    """Read the section of parameters of a docstring in numpy's form."""
    section = (getdoc(kind) or "").partition("Parameters\n----------\n")[2]
    section = re.split(r"\n\n\w+\n-+\n", section)[0]
    lines: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        names, _, text = entry.partition("\n")
        sentence = re.split(r"(?<=\.)\s", " ".join(text.split()))[0]
        if not sentence.startswith("As "):  # "As there": said in the other docstring
            lines |= {name.strip(): sentence for name in names.partition(" :")[0].split(",")}
    return lines
