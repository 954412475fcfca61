"""What is to be run: data, method, code size, settings, seed. Its digest names its record."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

_DIGITS = 10  # of the digest, in a folder's name


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where rows come from: what `dsnc.data.load_dataset` takes, or some of its classes."""

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
        How to load the data. Not part of the digest: a folder may move.
    data, fingerprint : str
        The name of the data, and a digest of its content and split.
    method, recipe : str
        Keys of `METHODS` and `RECIPES`.
    weighting : str
        What is done to the features; see `dsnc.paper.experiments.prepare`.
    n_bits : int or None
        Code size, or number of hidden units; None for methods that have neither.
    settings : dict
        All parameters of the estimator that are not its defaults, those of the recipe included.
    selected : dict
        Further ones, chosen on validation rows; ``factor`` stands for beta and gamma.
    trial : bool
        Whether this is one of the runs among which they are chosen: it never sees test rows.
    seed : int
        Its ``random_state``.
    keep_decoders : bool
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
        """Digest of all that changes the outcome; the same on every machine."""
        fields = asdict(self)
        for name in ("source", "keep_decoders"):
            del fields[name]
        text = json.dumps(fields, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]

    @property
    def title(self) -> str:
        """A line for people."""
        bits = "" if self.n_bits is None else f", {self.n_bits} bits"
        what = f"{self.data}: {self.method}{bits}, {self.recipe} recipe, seed {self.seed}"
        tried = ", ".join(f"{name} {value:g}" for name, value in self.selected.items())
        return f"{what}, trying {tried}" if self.trial else what

    def folder(self, runs: Path) -> Path:
        """Return where its record is, or will be."""
        bits = "" if self.n_bits is None else f"-{self.n_bits}"
        kind = "-trial" if self.trial else ""
        name = f"{self.method}{bits}-{self.recipe}-s{self.seed}{kind}-{self.digest}"
        return runs / file_name(self.data) / name

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; `from_dict` is the way back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Make a definition from what `to_dict` gave."""
        return cls(**{**values, "source": Source(**values["source"])})


def file_name(name: str) -> str:
    """Return the name of a data set as a folder may have it."""
    return re.sub(r"[^\w.+-]+", "_", name).strip(".") or "data"
