"""How much to run: code sizes, seeds, recipes; and the two presets."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dsnc.data import list_draws
from dsnc.errors import InputError, unknown_name
from dsnc.paper.experiments.definition import Definition, Source
from dsnc.paper.experiments.methods import METHODS, RECIPES
from dsnc.paper.experiments.prepare import WEIGHTINGS, prepare
from dsnc.paper.experiments.published import ACCURACY, paper_set
from dsnc.tuning import FACTOR

_SIZES = (12, 24, 36, 60, 100, 200)  # of most of the paper's data sets
_WEIGHTING = "weighting"  # among the settings, though no estimator's own


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The range of an experiment.

    Parameters
    ----------
    bits : tuple of int, optional
        Code sizes. By default, those of the paper: up to 400 for DMOZ-12K, up to 200 for all
        others.
    seeds : tuple of int, default (0, 1, 2)
        Values of ``random_state``.
    recipes : tuple of str, default ("default", "paper")
        "default" is ours, "paper" is the authors'.
    methods : tuple of str
        Keys of `METHODS`; all of them by default.
    settings : dict, default {}
        Parameters such as ``max_epochs``, for all estimators that have them; also ``factor`` and
        ``weighting``. They override the recipe, and what is set here is not selected.
    select : bool, default True
        Whether to choose learning rate and factor for each cell on validation rows, as the paper
        does, where the recipe has a grid for them.
    n_classes : int, optional
        Take a random subset of this many classes.
    """

    bits: tuple[int, ...] | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    recipes: tuple[str, ...] = tuple(RECIPES)
    methods: tuple[str, ...] = tuple(METHODS)
    settings: Mapping[str, Any] = field(default_factory=dict)
    select: bool = True
    n_classes: int | None = None

    def check(self) -> None:
        """Raise an error for what no method can do."""
        for name in ("bits", "seeds", "recipes", "methods"):
            if getattr(self, name) == ():
                raise InputError(f"{name} is empty; give one or more.")
        if self.bits is not None and min(self.bits) < 1:
            raise InputError(f"bits={min(self.bits)} must be 1 or more.")
        registries: dict[str, Mapping[str, Any]] = {"methods": METHODS, "recipes": RECIPES}
        for name, registry in registries.items():
            for value in getattr(self, name):
                if value not in registry:
                    raise unknown_name(name, value, registry)
        self._check_settings()

    def _check_settings(self) -> None:
        of_methods = {name for method in METHODS.values() for name in method.parameters}
        valid = sorted({*of_methods, FACTOR, _WEIGHTING} - {"n_bits", "n_units", "random_state"})
        for name, value in self.settings.items():
            if name not in valid:
                raise unknown_name("settings", name, valid)
            if name == _WEIGHTING and value not in WEIGHTINGS:
                raise unknown_name(_WEIGHTING, value, WEIGHTINGS)

    def sources(self, data: str, beside: str | None = None) -> list[Source]:
        """Return the data of this plan: one source, or one for each draw."""
        if beside is not None and beside not in ACCURACY:
            raise unknown_name("beside", beside, ACCURACY)
        draws: list[str | None] = [*list_draws(data)] or [None]
        return [
            Source(path=data, n_classes=self.n_classes, draw=draw, beside=beside) for draw in draws
        ]

    def definitions(
        self, source: Source, methods: Iterable[str] | None = None, *, keep_decoders: bool = False
    ) -> Iterator[Definition]:
        """Yield the runs of the chosen methods; `keep_decoders` applies to the first seed."""
        self.check()
        for recipe in self.recipes:
            weighting = self.settings.get(_WEIGHTING, RECIPES[recipe].weighting)
            prepared = prepare(source, weighting)
            sizes = self.bits or tuple(ACCURACY.get(paper_set(source, prepared.name), _SIZES))
            for method in self.methods if methods is None else methods:
                if method not in self.methods:
                    continue
                settings = METHODS[method].settings(recipe, self.settings)
                seeds = self.seeds if method != "nearest_centroid" else self.seeds[:1]
                for n_bits in sizes if METHODS[method].width else (None,):
                    for seed in seeds:
                        yield Definition(
                            source=source,
                            data=prepared.name,
                            fingerprint=prepared.fingerprint,
                            method=method,
                            recipe=recipe,
                            weighting=weighting,
                            n_bits=n_bits,
                            settings=settings,
                            seed=seed,
                            keep_decoders=keep_decoders and seed == self.seeds[0],
                        )


PRESETS: dict[str, Plan] = {
    "quick": Plan(bits=(24,), seeds=(0,), recipes=("paper",), n_classes=200),
    "paper": Plan(),
}
"""Name to plan: "paper" makes the whole tables, "quick" one of their rows, on fewer classes."""
