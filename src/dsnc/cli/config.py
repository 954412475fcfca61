"""The settings of a training run: from a TOML file, and from options, which beat it.

Four flat tables: ``[train]`` says what is read and written, ``[table]`` how a table is read,
``[model]`` holds parameters of the estimator, ``[text]`` those of `dsnc.features.TextFeatures`.
Values are for the estimator to check. Of n-grams, an empty list means none.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsnc.cli.methods import OPTIONS, kind_of, method_names, parameters_of
from dsnc.cli.table_options import TABLE_OPTIONS
from dsnc.errors import InputError, unknown_name

TRAIN_KEYS = {
    "data": "What to learn from: a file, a folder, or a name from the catalog.",
    "output": "The folder to write the model to.",
    "validation": "Rows that choose the best epoch; by default, a share of the data.",
    "test": "Rows to measure the model on at the end.",
    "descriptions": "Descriptions or attributes of classes, even without rows: label and text.",
    "reader": "Format of the data, if it is not recognized.",
    "method": "What to train: dsnc (default), or a baseline.",
}
_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


@dataclass
class Config:
    """What a run is asked to do, before defaults are filled in."""

    train: dict[str, Any] = field(default_factory=dict)
    table: dict[str, Any] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    text: dict[str, Any] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """Return what is trained."""
        return str(self.train.get("method", "dsnc"))

    def check(self, where: str) -> None:
        """Refuse keys that mean nothing, naming the nearest that does."""
        if self.method not in (names := method_names()):
            raise unknown_name(f"{where}method", self.method, names)
        for key, value in self.train.items():
            if not isinstance(value, str):
                raise InputError(f"{where}[train] {key} = {value!r} is not text; put it in quotes.")
        model = model_parameters(self.method) | parameters_of_sets(self.method)
        known: dict[str, Collection[str]] = {
            "train": TRAIN_KEYS,
            "table": TABLE_OPTIONS,
            "model": model,
            "text": _of_texts(),
        }
        for table, valid in known.items():
            for key in getattr(self, table):
                if key not in valid:
                    raise unknown_name(f"{where}[{table}] key", key, valid)

    @property
    def reading(self) -> dict[str, Any]:
        """Return how the data are read."""
        return {"reader": self.train.get("reader"), **self.table}

    def make_model(self, *, sets: bool = False, **others: Any) -> Any:
        """Make the estimator, maybe for label sets; `others` are parameters that are not settings.

        What only label sets need is left out where each row has one label.
        """
        kind = kind_of(self.method, sets=sets)
        parameters = self.model | others
        if isinstance(limit := parameters.get("time_limit"), str):
            parameters["time_limit"] = seconds_of(limit)
        if not sets:
            only = parameters_of_sets(self.method)
            parameters = {name: value for name, value in parameters.items() if name not in only}
        if self.text and "text" in kind._get_param_names():
            parameters["text"] = {
                key: (tuple(value) or None) if isinstance(value, list) else value
                for key, value in self.text.items()
            }
        return kind(**parameters)


def read_config(path: Path | None) -> Config:
    """Read a file of settings; without one, nothing is set."""
    if path is None:
        return Config()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"--config {path}: cannot be read ({reason}).") from error
    except ValueError as error:  # no TOML, no UTF-8
        raise InputError(f"--config {path}: is not TOML ({error}).") from error
    for name, table in tables.items():
        if name not in vars(Config()):
            raise unknown_name(f"{path}: table", name, vars(Config()))
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} is a value; write a table [{name}].")
    config = Config(**tables)
    config.check(f"{path}: ")
    return config


def config_text(config: Config) -> str:
    """Return what is set as TOML that `read_config` reads."""
    lines = []
    for name, table in vars(config).items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def _toml(value: Any) -> str:
    """Return a value as TOML, which is JSON but for tables."""
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def set_options(config: Config, given: Mapping[str, Any]) -> None:
    """Put options of the command line in, under the names that the method has for them."""
    valid = model_parameters(config.method) | parameters_of_sets(config.method)
    for name, value in given.items():
        if name == "n_bits" and "n_units" in valid:
            name = "n_units"
        if name not in valid:
            raise InputError(f"{OPTIONS[name][0]} does not apply to method {config.method!r}.")
        config.model[name] = value_of(value) if isinstance(value, str) else value


def set_parameters(config: Config, options: Iterable[str] | None) -> None:
    """Do what ``--set NAME=VALUE`` asks for; ``text.NAME`` is a setting of the text features."""
    for option in options or ():
        name, value = assignment(option)
        is_of_texts = name.startswith("text.")
        table = config.text if is_of_texts else config.model
        table[name.removeprefix("text.")] = value
    config.check("--set: ")


def assignment(text: str) -> tuple[str, Any]:
    """Read the NAME=VALUE of an option ``--set``."""
    name, _, value = map(str.strip, text.partition("="))
    if not value:
        raise InputError(f"--set {text!r} has no value; write --set NAME=VALUE.")
    return name, value_of(value)


def value_of(text: str) -> Any:
    """Read a value as TOML has it, or a number such as ``.5``; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def model_parameters(method: str) -> set[str]:
    """Return the names of the parameters of a method."""
    return parameters_of(kind_of(method))


def parameters_of_sets(method: str) -> set[str]:
    """Return the names of the parameters that only the estimator of label sets has."""
    if method != "dsnc":
        return set()
    return parameters_of(kind_of(method, sets=True)) - model_parameters(method)


def _of_texts() -> set[str]:
    from dsnc.features import TextFeatures

    return parameters_of(TextFeatures) - {"n_jobs"}  # the estimator's own goes for both


def seconds_of(text: str) -> float:
    """Read a time such as 600, 90s, 10m, 1.5h.

    Examples
    --------
    >>> seconds_of("10m")
    600.0
    """
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text)
    if not found or found[2] not in _UNITS:
        raise InputError(f"time limit {text!r} is not a time; write seconds, or 90s, 10m, 1.5h.")
    return float(found[1]) * _UNITS[found[2]]
