"""The contestants of the paper's tables, by name, and the two ways to train them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from dsnc.baselines import BASELINES
from dsnc.classifier import PAPER, PAPER_REGULARIZED, DSNCClassifier
from dsnc.paper.experiments.definition import Definition
from dsnc.tuning import FACTOR, spread

TABLE_BITS = 24  # up to here all codes are decoded beforehand: constant time
PROBES = 16  # look-ups of a table that re-scores what it finds
# With a validation after each epoch, doubling at every gain makes the terms thousands of times
# larger within a run and costs accuracy; a constant weight keeps the gain of compact codes.
_STEADY = {"beta": 1e-2, "gamma": 1e-2}
_NO_DECAY = {"weight_decay": 0.0}
_PAPER_LINEAR = {"scaling": PAPER["scaling"]}
# The paper says "linear classifiers", its related work "random codes"; the loss is its own.
_PAPER_ECOC = {**_PAPER_LINEAR, "codebook": "random", "loss": "logistic"}


@dataclass(frozen=True)
class Recipe:
    """A way to train all methods.

    Parameters
    ----------
    weighting : str
        What is done to the features before any method sees them; see `prepare`.
    grid : mapping
        Parameter to the values among which validation rows choose, for the methods that have it.
    """

    weighting: str
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


RECIPES: dict[str, Recipe] = {
    "default": Recipe("tfidf"),
    "paper": Recipe(
        "none",
        {
            "learning_rate": (3e-3, 1e-2, 3e-2, 1e-1),
            FACTOR: (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),  # 0: the terms are better left out
        },
    ),
}
"""Name to recipe: "default" is ours, "paper" the authors'."""


@dataclass(frozen=True)
class Method:
    """A contestant: an estimator, and how each recipe sets it.

    Parameters
    ----------
    title : str
        What people call it.
    make : type
        The estimator.
    recipes : mapping
        Name of a recipe to the parameters that it sets, where it sets any.
    width : str or None
        The parameter that takes the code size.
    codes : bool
        Whether its codes are looked at, and its decoders exchanged.
    chosen : tuple of str
        What validation rows choose, where the recipe has a grid for it.
    """

    title: str
    make: type[Any]
    recipes: Mapping[str, Mapping[str, Any]]
    width: str | None = "n_bits"
    codes: bool = False
    chosen: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """The names of the estimator's parameters."""
        names: list[str] = self.make._get_param_names()
        return names

    def settings(self, recipe: str, own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters under a recipe; those of `own` that the estimator has go first.

        Epochs, say, are set for all methods at once; some have none.
        """
        own = {name: value for name, value in own.items() if name != FACTOR or name in self.chosen}
        settings = {**self.recipes.get(recipe, {}), **spread(own)}
        return {name: value for name, value in settings.items() if name in self.parameters}

    def candidates(self, recipe: str, own: Mapping[str, Any]) -> Iterator[dict[str, float]]:
        """Yield what validation rows choose among; what is set in `own` is not up for choice."""
        fixed = {*own, *([FACTOR] if {"beta", "gamma"} & own.keys() else ())}
        grid = RECIPES[recipe].grid
        names = [name for name in self.chosen if name in grid and name not in fixed]
        if names:
            for values in product(*(grid[name] for name in names)):
                yield dict(zip(names, values, strict=True))

    def estimator(self, definition: Definition) -> Any:
        """Return the estimator of a definition, not fitted."""
        settings = {**definition.settings, **spread(definition.selected)}
        if self.width:
            settings[self.width] = definition.n_bits
        if "random_state" in self.parameters:
            settings["random_state"] = definition.seed
        return self.make(**settings)

    def decoders(self, n_bits: int) -> dict[str, Any]:
        """Return the decoders that are compared: name to choice."""
        if not self.codes:
            return {}
        choices: dict[str, Any] = {
            name: name for name in ("linear", "nearest", "soft", "shortlist")
        }
        if n_bits <= TABLE_BITS:
            choices["table"] = {"name": "table", "probes": PROBES}
        return choices


_RATE, _RATE_AND_FACTOR = ("learning_rate",), ("learning_rate", FACTOR)

METHODS: dict[str, Method] = {
    "dsnc": Method("DSNC", DSNCClassifier, {"paper": PAPER}, codes=True, chosen=_RATE),
    "dsnc_reg": Method(
        "DSNC+Reg",
        DSNCClassifier,
        {"default": _STEADY, "paper": PAPER_REGULARIZED},
        codes=True,
        chosen=_RATE_AND_FACTOR,
    ),
    "mlp": Method(
        "MLP", BASELINES["mlp"], {"paper": {**PAPER, **_NO_DECAY}}, "n_units", chosen=_RATE
    ),
    "mlp_reg": Method(
        "MLP+Reg",
        BASELINES["mlp"],
        {"default": _STEADY, "paper": {**PAPER_REGULARIZED, **_NO_DECAY}},
        "n_units",
        chosen=_RATE_AND_FACTOR,
    ),
    "ecoc": Method("ECOC", BASELINES["ecoc"], {"paper": _PAPER_ECOC}),
    "one_vs_rest": Method(
        "one-vs-rest", BASELINES["one_vs_rest"], {"paper": _PAPER_LINEAR}, width=None
    ),
    "nearest_centroid": Method("nearest centroid", BASELINES["nearest_centroid"], {}, width=None),
}
"""Name to method: stable for ever, as in definitions and on the command line."""
