"""What a run leaves on disk: ``record.json`` and ``arrays.npz``, written once and completely."""

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders import DECODERS, Decoder
from dsnc.errors import OutputError
from dsnc.files import whole_folder, why
from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.methods import METHODS, RECIPES

FORMAT = 2
OWN = "own"  # the outcome of a method that has one decoder only
FITTED = "fitted"  # that of a model as `fit` leaves it, a second stage included
_JSON, _ARRAYS, _DECODERS = "record.json", "arrays.npz", "decoders.npz"


@dataclass(frozen=True)
class Record:
    """A run and its raw outcome, from which tables and figures are made.

    Attributes
    ----------
    definition : Definition
        What was run.
    outcomes : dict
        For each decoder (or `OWN`, or `FITTED`), its figures: ``accuracy``, ``top_5``,
        ``calibration_error``, ``operations`` and ``bytes`` by the paper's formulas, and, for a
        decoder alone, ``microseconds`` per row.
    codes : dict
        Statistics of the hard codes by part ("train", "test"): distances, number of codes.
    history : dict
        The history of training, as `dsnc.training.history.History.to_dict` returns it; empty
        without epochs.
    rows : dict
        Number of rows of each part, and of those left out because no training row has their class;
        number of classes, and of those left out because a subset was asked for.
    seconds : dict
        Time by step: "fit", "evaluate".
    versions, machine : dict
        What it was run with.
    error : str
        What went wrong; empty if nothing did.
    arrays : dict
        ``y`` (classes of the test rows), ``top.DECODER`` (their five best classes),
        ``confidence.DECODER`` (probability of the first), ``words`` (their codes).
    """

    definition: Definition
    outcomes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    history: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    folder: Path | None = None

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays, which are read when they are first used."""
        return self._read(_ARRAYS)

    @property
    def test_codes(self) -> PackedCodes | None:
        """The codes of the test rows, if the method has codes."""
        words, n_bits = self.arrays.get("words"), self.definition.n_bits
        return None if words is None or n_bits is None else PackedCodes(words, n_bits)

    @property
    def has_decoders(self) -> bool:
        """Whether the decoders were kept."""
        return self.folder is not None and (self.folder / _DECODERS).exists()

    def decoders(self) -> tuple[dict[str, Decoder], NDArray[np.float32]]:
        """Return the decoders that were kept, by outcome, and logits of rows to time them with."""
        arrays = self._read(_DECODERS)
        logits = arrays.pop("logits")
        parts: dict[tuple[str, str], dict[str, Any]] = {}
        for path, array in arrays.items():
            outcome, kind, name = path.split("/")
            parts.setdefault((outcome, kind), {})[name] = array
        found = {key[0]: DECODERS[key[1]].from_arrays(part) for key, part in parts.items()}
        return found, logits

    def _read(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of a file; none where it is missing or damaged."""
        if self.folder is None:
            return {}
        try:
            # numpy leaves a file open that it cannot read.
            with (self.folder / name).open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return {key: file[key] for key in file.files}
        except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error):
            return {}


def write_record(
    record: Record,
    arrays: Mapping[str, Any],
    runs: Path,
    *,
    decoders: Mapping[str, Decoder] | None = None,
    logits: Any = None,
) -> None:
    """Write a record aside, then put it in place; what was there before is replaced."""
    target = record.definition.folder(runs)
    fields = {
        "format": FORMAT,
        "definition": record.definition.to_dict(),
        **{name: getattr(record, name) for name in _PLAIN},
    }
    text = json.dumps(fields, indent=1, ensure_ascii=False)
    try:
        with whole_folder(target, replace=True) as aside:
            (aside / _JSON).write_text(text, encoding="utf-8")
            if arrays:
                np.savez_compressed(aside / _ARRAYS, **arrays)
            if decoders:
                kept: dict[str, Any] = {
                    f"{outcome}/{decoder.name}/{name}": array
                    for outcome, decoder in decoders.items()
                    for name, array in decoder.arrays().items()
                }
                np.savez(aside / _DECODERS, logits=logits, **kept)
    except OSError as error:
        raise OutputError(f"{target} cannot be written {why(error)}.") from error


_PLAIN = ("outcomes", "codes", "history", "rows", "seconds", "versions", "machine", "error")


def read_record(folder: Path) -> Record | None:
    """Read a record; None where there is none that can be read here (it will be run again)."""
    try:
        fields = json.loads((folder / _JSON).read_text(encoding="utf-8"))
        if fields["format"] != FORMAT:
            return None
        definition = Definition.from_dict(fields["definition"])
        if definition.recipe not in RECIPES or definition.method not in METHODS:
            return None  # of another version: nothing can be said about it
        return Record(definition, **{name: fields[name] for name in _PLAIN}, folder=folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_records(runs: Path, *, trials: bool = False) -> Iterator[Record]:
    """Yield the records under a folder, in the order of their names; reading never writes.

    With `trials`, only the runs among which settings were chosen; without, all others.
    """
    for path in sorted(runs.rglob(_JSON)):
        record = read_record(path.parent)
        hidden = path.parent.name.startswith(".")
        if record is not None and record.definition.trial == trials and not hidden:
            yield record
