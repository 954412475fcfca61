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
    n_bits : int or None
        Code size, or number of hidden units; None for methods that have neither.
    settings : dict
        Parameters of the estimator, over those of the recipe.
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
    n_bits: int | None = None
    settings: dict[str, Any] = field(default_factory=dict)
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
        return f"{self.data}: {self.method}{bits}, {self.recipe} recipe, seed {self.seed}"

    def folder(self, runs: Path) -> Path:
        """Return where its record is, or will be."""
        bits = "" if self.n_bits is None else f"-{self.n_bits}"
        name = f"{self.method}{bits}-{self.recipe}-s{self.seed}-{self.digest}"
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
