"""What the page about a model shows: facts, labels, codes and a map, in few bytes.

The same goes through the service (`dsnc serve`) and into a file (`dsnc inspect --html`).
"""

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from dsnc.codes import PackedCodes
from dsnc.errors import InputError
from dsnc.inspection.layout import class_map
from dsnc.inspection.meaning import class_codes, class_weights, extremes
from dsnc.model import SetModel, takes_text

_TYPICAL = 4  # classes of each side of a bit
_EXACT = 1 << 53  # JavaScript has no larger whole numbers
_MOST_BITS = 1024  # whose sides are told

Plain = dict[str, Any]


class Atlas:
    """All that a page shows of a model, computed once when it is asked for.

    The name stands above, and the version says which state of the model it is.
    """

    def __init__(self, model: Any, name: str, version: str) -> None:
        self.model, self.name, self.version = model, name, version

    @cached_property
    def codes(self) -> PackedCodes | None:
        """The codes of the classes; None where there are none, and `no_codes` says why."""
        try:
            return class_codes(self.model)
        except InputError:
            return None

    @property
    def no_codes(self) -> str:
        """Why there are no codes of classes; empty where there are."""
        if self.codes is not None:
            return ""
        kind, decoder = self.model.kind, self.model.predictor_.decoder.name
        if not hasattr(self.model, "encode"):
            return f"A model of kind {kind!r} has no codes."
        return (
            f"The decoder {decoder!r} has no codes of classes: it compares rows with the codes of "
            "training rows."
        )

    @cached_property
    def facts(self) -> Plain:
        """What the page is told first, as JSON."""
        model = self.model
        is_text, has_sets = takes_text(model), isinstance(model, SetModel)
        return {
            "model": self.name,
            "version": self.version,
            "kind": model.kind,
            "what": "labels" if has_sets else "classes",
            "classes": len(model.classes_),
            "bits": 0 if self.codes is None else self.codes.n_bits,
            "takes": "texts" if is_text else "numbers",
            "columns": [] if model.records.takes_lines else model.records.names,
            "features": int(model.n_features_in_),
            "sets": has_sets,
            "explains": hasattr(model, "explain"),
            "knows_unknown": not has_sets and getattr(model, "_novelty", None) is not None,
            "no_codes": self.no_codes or None,
            "about": self._about(),
            "bit_facts": self._bit_facts(),
            "trials": [],
            "pairs": [],
        }

    def labels(self) -> list[Any]:
        """Return the labels as JSON and JavaScript can hold them."""
        return [_plain(label) for label in self.model.classes_.tolist()]

    def code_bytes(self) -> bytes:
        """Return the codes, each in words of 32 bits, little end first."""
        if self.codes is None:
            return b""
        width = -(-self.codes.n_bits // 32)
        words = self.codes.words.astype("<u8", copy=False).view("<u4")
        return words.reshape(len(self.codes), -1)[:, :width].tobytes()

    def map_bytes(self) -> bytes:
        """Return the places on the map: x and y of each class, 16 bits each, little end first.

        Of 100,000 classes this takes some seconds.
        """
        return b"" if self.codes is None else class_map(self.codes).astype("<u2").tobytes()

    def _about(self) -> list[tuple[str, str]]:
        predictor = self.model.predictor_
        second = getattr(predictor, "reranker", None)
        lines = [
            ("kind", self.model.kind),
            ("input", "texts" if takes_text(self.model) else "numbers"),
            ("columns", ", ".join(self.model.records.names) if takes_text(self.model) else ""),
            ("features", f"{self.model.n_features_in_:,}"),
            ("decoder", predictor.decoder.name),
            ("second stage", "" if second is None else str(second)),
        ]
        return [(name, value) for name, value in lines if value]

    def _bit_facts(self) -> list[Plain]:
        """Return the share of classes that have each bit, and numbers of typical ones."""
        if self.codes is None or self.codes.n_bits > _MOST_BITS:
            return []
        facts = []
        for column in np.asarray(class_weights(self.model)).T:
            up, down = extremes(np.ascontiguousarray(column), _TYPICAL)
            facts.append({"share": float((column > 0).mean()), "set": up, "unset": down})
        return facts


def numbered(model: Any, labels: Iterable[Any]) -> list[int]:
    """Return the numbers of some labels."""
    numbers = {label: i for i, label in enumerate(model.classes_.tolist())}
    return [numbers[label] for label in labels]


def _plain(label: Any) -> Any:
    if isinstance(label, int) and not isinstance(label, bool) and abs(label) > _EXACT:
        return str(label)
    if isinstance(label, float) and not math.isfinite(label):
        return str(label)
    return label
