"""What is known of how a model was made: figures, history and data, as model files hold them.

What is the same for the same data, settings and seed goes into ``model.json``. Names of files go
into the card.
"""

import math
from dataclasses import MISSING, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from dsnc.errors import InputError, shorten

if TYPE_CHECKING:
    from dsnc.classifier.base import PredictorClassifier
    from dsnc.training.history import History

_NAME = "name"  # of a file: not in model.json
_SECONDS = "seconds"  # of an epoch: neither
_FIGURES = {  # of training, and what JSON makes of them
    "epochs": (int,),
    "best_epoch": (int, type(None)),
    "validation_accuracy": (int, float, type(None)),
    "best_epoch_accuracy": (int, float, type(None)),
    "stopped": (str,),
    "trainer": (str,),
    "test": (dict,),
    "calibration_error": (int, float),
    "confidence_auroc": (int, float),
}
_CONFIDENCE = ("calibration_error", "confidence_auroc")
_OPTIONAL = {"trainer", "test", *_CONFIDENCE}


def figures(model: "PredictorClassifier") -> dict[str, Any]:
    """Return what was measured, as JSON has it.

    ``validation_accuracy`` and ``test`` are of the decoder that predicts; ``best_epoch_accuracy``
    is of the one that was trained with the codes.
    """
    history, measured = model.history_, model.figures_
    plain: dict[str, Any] = {
        "validation_accuracy": measured.get("validation_accuracy"),
        "best_epoch": history.best_epoch,
        "best_epoch_accuracy": history.best_accuracy,
        "epochs": int(model.n_iter_),
        "stopped": history.stopped,
    }
    if hasattr(model, "trainer_"):
        plain["trainer"] = model.trainer_
    plain |= {name: measured[name] for name in _CONFIDENCE if name in measured}
    return plain | ({"test": measured["test"]} if measured.get("test") else {})


def plain_number(name: str, value: Any) -> float:
    """Return a figure as JSON has it."""
    if not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{name}={shorten(value)} is not a finite number.")
    return int(value) if isinstance(value, Integral) else float(value)


def restore(model: "PredictorClassifier", header: dict[str, Any]) -> None:
    """Set what `figures` and `plain_history` gave, checking everything: a file may be hostile."""
    from dsnc.training.history import History

    metrics = header["metrics"]
    for name in _FIGURES.keys() - (_OPTIONAL - metrics.keys()):
        if type(metrics[name]) not in _FIGURES[name]:
            raise InputError(f"metrics: {name} is of type {type(metrics[name]).__name__}.")
        if type(metrics[name]) is int:
            plain_number(f"metrics: {name}", metrics[name])
    test = metrics.get("test", {})
    for name, value in test.items():
        if type(value) not in (int, float):
            raise InputError(f"metrics: test: {shorten(name)} is of type {type(value).__name__}.")
        plain_number(f"metrics: test: {shorten(name)}", value)
    if not isinstance(header["data"].get("changes", []), list):
        raise InputError("data: changes is not a list.")
    accuracy = metrics["validation_accuracy"]
    measured = {} if accuracy is None else {"validation_accuracy": accuracy}
    measured |= {name: metrics[name] for name in _CONFIDENCE if name in metrics}
    model._measured = model.predictor_.stages, measured | ({"test": test} if test else {})
    model.n_iter_ = metrics["epochs"]
    if "trainer" in metrics:
        model.trainer_ = metrics["trainer"]
    model.data_ = dict(header["data"])
    model.history_ = History(
        epochs=_epochs(header.get("history", [])),
        best_accuracy=metrics["best_epoch_accuracy"],
        best_epoch=metrics["best_epoch"],
        stopped=metrics["stopped"],
    )


def plain_history(history: "History") -> list[dict[str, Any]]:
    """Return the epochs as JSON has them: without times, and null for what is not a number."""
    return [
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in record.items()
            if name != _SECONDS
        }
        for record in history.records()
    ]


def _epochs(plain: list[Any]) -> list[Any]:
    """Return the epochs of what `plain_history` gave; nobody knows how long they took."""
    from dsnc.training.history import Epoch

    known = {field.name: field.default for field in fields(Epoch) if field.name != _SECONDS}
    needed = {name for name, default in known.items() if default is MISSING}
    epochs = []
    for number, record in enumerate(plain, 1):
        if not isinstance(record, dict) or not needed <= set(record) <= set(known):
            raise InputError(f"history: epoch {number} does not have the keys {', '.join(known)}.")
        for name, value in record.items():
            if type(value) not in (int, float, type(None)):
                raise InputError(
                    f"history: epoch {number}: {name} is of type {type(value).__name__}."
                )
        values: dict[str, Any] = {
            name: math.nan if value is None and name in needed else value
            for name, value in record.items()
        }
        epochs.append(Epoch(**values, seconds=math.nan))
    return epochs


def plain_data(data: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of the data, without the names of files."""
    return {
        key: plain_data(value) if isinstance(value, dict) else value
        for key, value in data.items()
        if key != _NAME
    }
