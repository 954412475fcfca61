"""The settings of a training run: from a TOML file, from options, and back to a file.

Four flat tables: ``[train]`` says what is read and written, ``[table]`` how a table is read,
``[model]`` holds parameters of the estimator, ``[text]`` those of `dsnc.features.TextFeatures`.
Options beat the file, the file beats the defaults. What is not set (None) has no line; of n-grams,
an empty list means none.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from dsnc.cli.methods import METHODS, OPTIONS, first_sentences, help_of, kind_of, parameters_of
from dsnc.cli.table_options import TABLE_OPTIONS
from dsnc.errors import InputError, unknown_name

TRAIN_KEYS = {
    "data": "What to learn from: a file, a folder, or a name from the catalog.",
    "output": "The folder to write the model to.",
    "validation": "Rows that choose the best epoch; by default, a share of the data.",
    "test": "Rows to measure the model on at the end.",
    "descriptions": "Descriptions or attributes of classes, even without rows: label and text.",
    "reader": "Format of the data, if it is not recognized.",
    "method": f"One of {', '.join(METHODS)}.",
}
_TABLES = ("train", "table", "model", "text")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
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
        if self.method not in METHODS:
            raise unknown_name(f"{where}method", self.method, METHODS)
        for key, value in self.train.items():
            if key not in TRAIN_KEYS:
                raise unknown_name(f"{where}[train] key", key, TRAIN_KEYS)
            if not isinstance(value, str):
                raise InputError(f"{where}[train] {key} = {value!r} is not text; put it in quotes.")
        model, text = {**model_defaults(self.method), **sets_defaults(self.method)}, text_defaults()
        for table, valid in (("table", TABLE_OPTIONS), ("model", model), ("text", text)):
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
        parameters = self.estimator_parameters() | others
        if not sets:
            only = sets_defaults(self.method)
            parameters = {name: value for name, value in parameters.items() if name not in only}
        if self.text and "text" in kind._get_param_names():
            parameters["text"] = self.text_settings()
        return kind(**parameters)

    def estimator_parameters(self) -> dict[str, Any]:
        """Return what the estimator is made with."""
        parameters = dict(self.model)
        if isinstance(parameters.get("time_limit"), str):
            parameters["time_limit"] = seconds_of(parameters["time_limit"])
        if isinstance(parameters.get("hidden"), list):
            parameters["hidden"] = tuple(parameters["hidden"])
        elif type(parameters.get("hidden")) is int:  # one layer
            parameters["hidden"] = (parameters["hidden"],)
        return parameters

    def text_settings(self) -> dict[str, Any]:
        """Return what text features are made with; an empty list stands for None."""
        return {
            key: (tuple(value) or None) if isinstance(value, list) else value
            for key, value in self.text.items()
        }


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
        if name not in _TABLES:
            raise unknown_name(f"{path}: table", name, _TABLES)
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} is a value; write a table [{name}].")
    config = Config(**{name: dict(table) for name, table in tables.items()})
    config.check(f"{path}: ")
    return config


def set_parameters(config: Config, given: Mapping[str, Any]) -> None:
    """Put options of the command line in, under the names that the method has for them."""
    valid = model_defaults(config.method) | sets_defaults(config.method)
    for name, value in given.items():
        if name == "n_bits" and "n_units" in valid:
            name = "n_units"
        if name not in valid:
            raise InputError(
                f"{OPTIONS[name][0]} does not apply to method {config.method!r}, which has the "
                f"parameters {', '.join(valid)}."
            )
        config.model[name] = _option_value(name, value)


def _option_value(parameter: str, value: Any) -> Any:
    """Return the value of an option as the estimator takes it."""
    if parameter == "time_limit":
        return seconds_of(value)
    if parameter == "threshold":
        return value_of(value)
    if parameter not in ("learning_rate", "batch_size") or value == "auto":
        return str(value) if isinstance(value, StrEnum) else value
    kind, what = (int, "a whole number") if parameter == "batch_size" else (float, "a number")
    try:
        return kind(value)
    except ValueError:
        option = OPTIONS[parameter][0]
        raise InputError(f"{option} {value!r} is neither {what} nor auto.") from None


def assignment(text: str) -> tuple[str, Any]:
    """Read the NAME=VALUE of an option ``--set``."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text!r} has no value; write --set NAME=VALUE.")
    return name.strip(), value_of(value.strip())


def apply_settings(config: Config, options: Iterable[str] | None) -> None:
    """Do what ``--set NAME=VALUE`` asks for; ``text.NAME`` is a setting of the text features."""
    for option in options or ():
        name, value = assignment(option)
        table, valid = config.model, model_defaults(config.method) | sets_defaults(config.method)
        if name.startswith("text."):
            name, table, valid = name.removeprefix("text."), config.text, text_defaults()
        if name not in valid:
            raise unknown_name("--set name", name, valid)
        table[name] = value
    config.check("")


def print_config(config: Config) -> str:
    """Return the complete settings as TOML that `read_config` reads."""
    from dsnc.features import TextFeatures

    kind = kind_of(config.method)
    of_sets = sets_defaults(config.method)
    model = {**parameters_of(kind), **dict.fromkeys(of_sets), **config.model}
    text = {**text_defaults(), **config.text}
    train = {**dict.fromkeys(TRAIN_KEYS), "method": config.method, **config.train}
    lines = [
        "# Settings of a run: dsnc train --config FILE. Options on the command line override them."
    ]
    lines += ["", "[train]", *_lines(train, TRAIN_KEYS)]
    table_help = {name: text for name, (_, text) in TABLE_OPTIONS.items()}
    table = {**dict.fromkeys(TABLE_OPTIONS), **config.table}
    lines += ["", "[table]", *_lines(table, table_help)]
    help_ = help_of(kind)
    if of_sets:
        sentences = help_of(kind_of(config.method, sets=True))
        help_ |= {name: f"For label sets: {sentences[name]}" for name in of_sets}
    lines += ["", "[model]", *_lines(model, help_)]
    lines += ["", "[text]", *_lines(text, first_sentences(TextFeatures))]
    return "\n".join(lines) + "\n"


def model_defaults(method: str) -> dict[str, Any]:
    """Return the parameters of a method, and their defaults."""
    return parameters_of(kind_of(method))


def sets_defaults(method: str) -> dict[str, Any]:
    """Return the parameters that only the estimator of label sets has, and their defaults."""
    if method != "dsnc":
        return {}
    known = model_defaults(method)
    sets = parameters_of(kind_of(method, sets=True))
    return {name: value for name, value in sets.items() if name not in known}


def text_defaults() -> dict[str, Any]:
    """Return the settings of text features, and their defaults."""
    from dsnc.features import TextFeatures

    settings = parameters_of(TextFeatures)
    settings.pop("n_jobs")  # the estimator's own goes for both
    return settings


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


def _lines(values: Mapping[str, Any], help_: Mapping[str, str]) -> Iterable[str]:
    for name, value in values.items():
        if help_.get(name):
            yield f"# {help_[name]}"
        if name in ("words", "characters") and value is None:
            value = []
        yield f"# {name} is not set" if value is None else f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_key(str(key))} = {_toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    raise InputError(f"{value!r} cannot be written to a file of settings.")


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _toml(name)


def value_of(text: str) -> Any:
    """Read a value as TOML has it; what is none is a text, and nothing is None."""
    if not text:
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
