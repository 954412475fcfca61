"""The contestants of the paper's tables, by name, and the two ways to train them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dsnc.baselines import BASELINES
from dsnc.classifier import PAPER, DSNCClassifier
from dsnc.errors import unknown_name
from dsnc.experiments.definition import Definition

TABLE_BITS = 24  # up to here all codes are decoded beforehand: constant time
PROBES = 16  # look-ups of a table that re-scores what it finds
_PAPER_MLP = {
    name: PAPER[name]
    for name in (
        "scaling",
        "schedule",
        "learning_rate",
        "batch_size",
        "max_epochs",
        "validation_every",
        "patience",
    )
} | {"weight_decay": 0.0}
_REGULARIZED = {"beta": 1e-3, "gamma": 1e-3, "adaptive": True}  # as the authors did
# With a validation after each epoch, doubling at every gain makes the terms thousands of times
# larger within a run and costs accuracy; a constant weight keeps the gain of compact codes.
_STEADY = {"beta": 1e-2, "gamma": 1e-2, "adaptive": False}


@dataclass(frozen=True)
class Method:
    """A contestant: an estimator, and how each recipe sets it."""

    make: type[Any]
    recipes: Mapping[str, Mapping[str, Any]]
    width: str | None = "n_bits"  # the parameter that takes the code size
    codes: bool = False  # whether its codes are looked at, and its decoders exchanged

    def estimator(self, definition: Definition) -> Any:
        """Return the estimator of a definition, not fitted."""
        if definition.recipe not in self.recipes:
            raise unknown_name("recipe", definition.recipe, self.recipes)
        settings = {**self.recipes[definition.recipe], **definition.settings}
        if self.width:
            settings[self.width] = definition.n_bits
        names = self.make._get_param_names()
        if "random_state" in names:
            settings["random_state"] = definition.seed
        # Epochs, say, are set for all methods at once; some have none.
        return self.make(**{name: value for name, value in settings.items() if name in names})

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


_DEFAULT: Mapping[str, Any] = MappingProxyType({})

METHODS: dict[str, Method] = {
    "dsnc": Method(DSNCClassifier, {"default": _DEFAULT, "paper": PAPER}, codes=True),
    "dsnc_reg": Method(
        DSNCClassifier,
        {"default": _STEADY, "paper": {**PAPER, **_REGULARIZED}},
        codes=True,
    ),
    "mlp": Method(BASELINES["mlp"], {"default": _DEFAULT, "paper": _PAPER_MLP}, "n_units"),
    "mlp_reg": Method(
        BASELINES["mlp"],
        {"default": _STEADY, "paper": {**_PAPER_MLP, **_REGULARIZED}},
        "n_units",
    ),
    "ecoc": Method(BASELINES["ecoc"], {"default": _DEFAULT, "paper": _DEFAULT}),
    "one_vs_rest": Method(BASELINES["one_vs_rest"], {"default": _DEFAULT, "paper": _DEFAULT}, None),
    "nearest_centroid": Method(
        BASELINES["nearest_centroid"], {"default": _DEFAULT, "paper": _DEFAULT}, None
    ),
}
"""Name to method: stable for ever, as in definitions and on the command line."""

RECIPES = ("default", "paper")
