"""A fitted classifier to a model file and back."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.classifier.card import make_card
from dsnc.classifier.provenance import figures, plain_data, plain_history, restore
from dsnc.classifier.texts import plain_settings, settings_of
from dsnc.decoders import Decoder, decoder_names
from dsnc.errors import RENAMED, DsncError, InputError, ModelFileError, unknown_name
from dsnc.labels import Labels, object_array
from dsnc.persistence import read_model, write_model
from dsnc.persistence.layout import DTYPES
from dsnc.predictor import Predictor
from dsnc.selection.report import plain_report, report_of
from dsnc.versions import versions

if TYPE_CHECKING:
    from dsnc.classifier.base import PredictorClassifier

KINDS: dict[str, type["PredictorClassifier"]] = {}
"""Name in a model file to estimator. A room that has models enters them here when it is imported;
`dsnc.load` imports all of them."""

_ENCODER = "layers"
_OF_THE_RUN = {"callbacks", "checkpoint", "device", "verbose"}  # not of the model
_LABEL_KINDS: dict[str, Any] = {
    "text": str,
    "object": object,
    **{dtype.name: dtype for dtype in DTYPES.values()},
}


def save(model: "PredictorClassifier", path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Write a fitted classifier as a folder, with a card for people."""
    if os.environ.get("WORLD_SIZE", "1") != "1" and os.environ.get("RANK", "0") != "0":
        return  # one of several processes writes
    header = {
        "kind": model.kind,
        "parameters": _plain_parameters(model),
        "classes": _plain_labels(model.classes_.tolist()),
        "encoder": _ENCODER,
        "decoder": model.predictor_.decoder.name,
        "features": {
            "label_kind": _label_kind(model.classes_),
            "names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        },
        "metrics": {**figures(model), **_report(model)},
        "history": plain_history(model.history_),
        "data": plain_data(model.data_),
        "versions": versions("numpy", "scikit-learn", "torch"),
    }
    arrays = model.predictor_.arrays()
    usual = _plain_parameters(type(model)())
    card = make_card(model, header, usual, name=Path(path).resolve().name, arrays=arrays)
    write_model(path, header, arrays, card=card, overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` of one of our estimators wrote; runs nothing, needs no torch.

    Parameters
    ----------
    path : path
        The folder.

    Returns
    -------
    model : DSNCClassifier or another estimator
        Of the kind that was saved.
    """
    header, arrays = read_model(path)
    if header["kind"] not in KINDS:
        known = ", ".join(map(repr, sorted(KINDS)))
        raise ModelFileError.at(path, f"is of kind {header['kind']!r}", expected=known)
    kind = KINDS[header["kind"]]
    try:
        model = kind(**_parameters(header["parameters"], kind))
        model._check_parameters()
        if header["encoder"] != _ENCODER:
            raise unknown_name("encoder", header["encoder"], [_ENCODER])
        model.predictor_ = Predictor.from_arrays(arrays, decoder=header["decoder"])
        model.n_features_in_ = model.predictor_.n_features
        width = getattr(model, kind.width) if kind.width else model.predictor_.n_bits
        if width != model.predictor_.n_bits:
            raise InputError(f"{kind.width}={width} for codes of {model.predictor_.n_bits} bits.")
        model._labels = Labels(_labels(header["classes"], header["features"]["label_kind"]))
        if len(model._labels) != model.predictor_.n_classes:
            raise InputError(
                f"{len(model._labels)} classes for {model.predictor_.n_classes} scores."
            )
        if names := _names(header["features"]["names"], model.n_features_in_):
            model.feature_names_in_ = object_array(names)
        if "decoder" in header["metrics"]:  # files of the first versions have none
            model.decoder_report_ = report_of(header["metrics"]["decoder"])
        restore(model, header)
        model._restore()
    except KeyError as error:
        raise ModelFileError.at(path, f"its model.json has no {error}") from error
    except (
        DsncError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:
        raise ModelFileError.at(path, f"its parts do not fit together: {error}") from error
    return model


def _report(model: "PredictorClassifier") -> dict[str, Any]:
    """Return how the decoder was chosen, of models that have a choice."""
    report = getattr(model, "decoder_report_", None)
    return {} if report is None else {"decoder": plain_report(report)}


def _plain_parameters(model: "PredictorClassifier") -> dict[str, Any]:
    """Return the parameters as JSON has them; objects are named."""
    plain: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name in _OF_THE_RUN:
            continue
        value = model._plain_parameter(name, value)
        if name == "class_weight" and isinstance(value, dict):
            value = [[_item(label), float(weight)] for label, weight in value.items()]
        elif isinstance(value, Decoder):
            value = _named_decoder(value)
        elif name == "gradient" and hasattr(value, "settings"):
            value = _named_gradient(value)
        elif name == "text":
            value = plain_settings(value)
        elif name == "random_state" and not isinstance(value, int | np.integer):
            value = None
        if isinstance(value, dict):  # settings of a part
            value = {key: _item(setting) for key, setting in value.items()}
        several = isinstance(value, tuple | list | np.ndarray)
        plain[name] = [_item(v) for v in value] if several else _item(value)
    return plain


def _named_decoder(decoder: Decoder) -> Any:
    """Return what would make such a decoder; its arrays are in the file in any case."""
    if decoder.name not in decoder_names():
        return "auto"
    return {"name": decoder.name, **decoder.chosen_settings()}


def _named_gradient(gradient: Any) -> dict[str, Any]:
    from dsnc.gradients import GRADIENTS

    kinds = {kind: name for name, kind in GRADIENTS.items()}
    name = kinds.get(type(gradient), type(gradient).__name__)
    return {"name": name, **gradient.settings()}


def _parameters(plain: dict[str, Any], kind: type) -> dict[str, Any]:
    valid = set(kind._get_param_names()) - _OF_THE_RUN  # type: ignore[attr-defined]
    plain = _with_present_names(plain)
    for name in plain:
        if name not in valid:
            raise unknown_name("parameters", name, valid)
    parameters = dict(plain)
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = dict(parameters["class_weight"])
    if "text" in parameters:
        parameters["text"] = settings_of(parameters["text"])
    if isinstance(parameters.get("hidden"), list):
        parameters["hidden"] = tuple(parameters["hidden"])
    return parameters


def _with_present_names(plain: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of a file of an earlier version as they are called now."""
    parameters = {RENAMED.get(name, name): value for name, value in plain.items()}
    gradient = parameters.get("gradient")
    if isinstance(gradient, dict):
        parameters["gradient"] = {RENAMED.get(name, name): v for name, v in gradient.items()}
    if isinstance(parameters.get("adaptive"), bool):
        parameters["adaptive"] = "previous" if parameters["adaptive"] else "none"
    return parameters


def _label_kind(classes: NDArray[Any]) -> str:
    if classes.dtype.kind == "U":
        return "text"
    return classes.dtype.name if classes.dtype.name in _LABEL_KINDS else "object"


def _plain_labels(labels: list[Any]) -> list[Any]:
    labels = [_item(label) for label in labels]
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise InputError(
                f"classes_ holds {label!r}; a model file takes labels of text and numbers."
            )
    return labels


def _labels(labels: list[Any], kind: str) -> NDArray[Any]:
    if kind not in _LABEL_KINDS:
        raise unknown_name("label_kind", kind, _LABEL_KINDS)
    labels = _plain_labels(labels)
    if len(set(labels)) != len(labels):
        raise InputError("the classes are not each there once.")
    if kind == "object":
        return object_array(labels)
    array: NDArray[Any] = np.array(labels, dtype=_LABEL_KINDS[kind])
    if array.ndim != 1 or array.tolist() != labels:
        raise InputError(f"the classes are not of kind {kind!r}.")
    return array


def _names(names: Any, n_features: int) -> list[str]:
    """Return the names of the features as they were, if there are any."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("features: names is not a list of texts.")
    if names and len(names) != n_features:
        raise InputError(f"features: {len(names)} names for {n_features} features.")
    return names


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
