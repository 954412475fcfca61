"""What to run: data, method, code size, settings, seed. Its digest names its record."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

_DIGITS = 10  # of the digest, in a folder's name


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where rows come from: anything that `dsnc.data.load_dataset` accepts, or some of its classes.

    Attributes
    ----------
    path : str
        A file, a folder, or a name of the catalog.
    n_classes : int or None
        Take a random subset of this many classes.
    draw : str or None
        Which draw, for a name of the catalog that has several.
    beside : str or None
        The paper's data set whose figures are shown beside ours.
    """

    path: str
    n_classes: int | None = None  # a random subset of so many
    draw: str | None = None  # of several that the catalog has by one name
    beside: str | None = None  # the paper's data set whose figures are shown beside ours


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One run.

    Parameters
    ----------
    source : Source
        How to load the data. Not part of the digest, since a folder may move.
    data, fingerprint : str
        The name of the data, and a digest of its content and split.
    method, recipe : str
        Keys of `METHODS` and `RECIPES`. The recipe is "default" by default.
    weighting : str, default "tfidf"
        How features are weighted; see `dsnc.paper.experiments.prepare`.
    n_bits : int or None
        Code size, or number of hidden units; None for methods that have neither.
    settings : dict
        All parameters of the estimator that differ from its defaults, including those of the
        recipe.
    selected : dict
        Further parameters, chosen on validation rows; ``factor`` stands for beta and gamma.
    trial : bool, default False
        Whether this is one of the runs that choose such parameters: it never sees test rows.
    seed : int
        The ``random_state`` of the estimator.
    keep_decoders : bool, default False
        Whether the record keeps the decoders, to be timed later. Not part of the digest.
    """

    source: Source
    data: str
    fingerprint: str
    method: str
    recipe: str = "default"
    weighting: str = "tfidf"
    n_bits: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    selected: dict[str, Any] = field(default_factory=dict)
    trial: bool = False
    seed: int = 0
    keep_decoders: bool = False

    @property
    def digest(self) -> str:
        """Digest of everything that changes the outcome; the same on every machine."""
        fields = asdict(self)
        for name in ("source", "keep_decoders"):
            del fields[name]
        text = json.dumps(fields, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

    @property
    def title(self) -> str:
        """A line that describes the run."""
        bits = "" if self.n_bits is None else f", {self.n_bits} bits"
        what = f"{self.data}: {self.method}{bits}, {self.recipe} recipe, seed {self.seed}"
        tried = ", ".join(f"{name} {value:g}" for name, value in self.selected.items())
        return f"{what}, trying {tried}" if self.trial else what

    def folder(self, runs: Path) -> Path:
        """Return the folder of its record, which need not exist."""
        bits = "" if self.n_bits is None else f"-{self.n_bits}"
        kind = "-trial" if self.trial else ""
        name = f"{self.method}{bits}-{self.recipe}-s{self.seed}{kind}-{self.digest}"
        return runs / file_name(self.data) / name

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; `from_dict` reverses this."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a definition from the result of `to_dict`."""
        return cls(**{**values, "source": Source(**values["source"])})


def file_name(name: str) -> str:
    """Return the name of a data set as a folder may have it."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".") or "data"
