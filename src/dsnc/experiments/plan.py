"""How much to run: code sizes, seeds, recipes; and the two presets."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dsnc.errors import InputError, unknown_name
from dsnc.experiments.definition import Definition, Source
from dsnc.experiments.methods import METHODS, RECIPES
from dsnc.experiments.prepare import prepare
from dsnc.experiments.published import ACCURACY


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The range of an experiment.

    Parameters
    ----------
    bits, seeds : tuple of int
    recipes : tuple of str
        "default" is ours, "paper" the authors'.
    methods : tuple of str
        Keys of `METHODS`.
    settings : dict
        Parameters of all estimators that have them, such as ``max_epochs``.
    n_classes : int, optional
        Take a random subset of so many classes.
    """

    bits: tuple[int, ...] = (12, 24, 36, 60, 100, 200)
    seeds: tuple[int, ...] = (0, 1, 2)
    recipes: tuple[str, ...] = RECIPES
    methods: tuple[str, ...] = tuple(METHODS)
    settings: Mapping[str, Any] = field(default_factory=dict)
    n_classes: int | None = None

    def check(self) -> None:
        """Refuse what no method can do."""
        for name in ("bits", "seeds", "recipes", "methods"):
            if not getattr(self, name):
                raise InputError(f"{name} is empty; give one or more.")
        if min(self.bits) < 1:
            raise InputError(f"bits={min(self.bits)} must be 1 or more.")
        for method in self.methods:
            if method not in METHODS:
                raise unknown_name("methods", method, METHODS)
        for recipe in self.recipes:
            if recipe not in RECIPES:
                raise unknown_name("recipes", recipe, RECIPES)

    def source(self, data: str, beside: str | None = None) -> Source:
        """Return the data as this plan takes them."""
        if beside is not None and beside not in ACCURACY:
            raise unknown_name("beside", beside, ACCURACY)
        return Source(path=data, n_classes=self.n_classes, beside=beside)

    def definitions(
        self, source: Source, methods: Iterable[str] | None = None, *, keep_decoders: bool = False
    ) -> Iterator[Definition]:
        """Yield the runs of the chosen methods; `keep_decoders` is for those of the first seed."""
        self.check()
        prepared = prepare(source)
        for method in self.methods if methods is None else methods:
            if method not in self.methods:
                continue
            sizes: Iterable[int | None] = self.bits if METHODS[method].width else (None,)
            for recipe in _recipes(method, self.recipes):
                for n_bits in sizes:
                    for seed in self.seeds if method != "nearest_centroid" else self.seeds[:1]:
                        yield Definition(
                            source=source,
                            data=prepared.name,
                            fingerprint=prepared.fingerprint,
                            method=method,
                            recipe=recipe,
                            n_bits=n_bits,
                            settings=dict(self.settings),
                            seed=seed,
                            keep_decoders=keep_decoders and seed == self.seeds[0],
                        )


PRESETS: dict[str, Plan] = {
    "quick": Plan(
        bits=(12, 24, 60),
        seeds=(0,),
        recipes=("default",),
        settings={"max_epochs": 8},
        n_classes=200,
    ),
    "paper": Plan(),
}
"""Name to plan: "quick" to see it work in minutes, "paper" for the whole tables."""


def _recipes(method: str, recipes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the recipes that differ for a method; of equal ones the first."""
    known = METHODS[method].recipes
    kept: list[str] = []
    for recipe in recipes:
        if all(dict(known[recipe]) != dict(known[other]) for other in kept):
            kept.append(recipe)
    return tuple(kept)
