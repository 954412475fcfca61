"""Saves fitted classifiers to model files, and loads them."""

import math
import os
from collections import ChainMap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import real
from dsnc.classifier.card import make_card
from dsnc.classifier.texts import plain_settings, settings_of
from dsnc.decoders import Decoder, decoder_names
from dsnc.errors import InputError, ModelFileError, unknown_name
from dsnc.families import Part, named_settings
from dsnc.features import TextFeatures
from dsnc.files import Replace
from dsnc.gradients import GRADIENTS
from dsnc.labels import object_array
from dsnc.model import (
    FAR,
    LABEL_KINDS,
    REMEMBERED,
    USUAL,
    SetModel,
    fitting_parts,
    plain,
    plain_labels,
    read_labels,
    restore,
)
from dsnc.model.provenance import figures, plain_data, plain_history
from dsnc.model.provenance import restore as restore_provenance
from dsnc.persistence import read_model, write_model
from dsnc.selection.report import plain_report, report_of
from dsnc.training.losses import LOSSES
from dsnc.versions import versions

if TYPE_CHECKING:
    from dsnc.classifier.base import PredictorClassifier

KINDS: ChainMap[str, type["PredictorClassifier"]] = ChainMap()
"""Name in a model file to estimator. A module that has models enters them here, or its own registry
into ``KINDS.maps``, when it is imported; `dsnc.load` imports all of them."""

_FAMILIES = {"gradient": GRADIENTS, "loss": LOSSES}  # parameters whose values are parts
_OF_THE_RUN = {"callbacks", "checkpoint", "device", "verbose"}  # not of the model


def save(model: "PredictorClassifier", path: str | os.PathLike[str], *, overwrite: Replace) -> str:
    """Write a fitted classifier and a card for people; return the SHA-256 of its header."""
    if os.environ.get("WORLD_SIZE", "1") != "1" and os.environ.get("RANK", "0") != "0":
        return ""  # one of several processes writes
    header: dict[str, Any] = {
        "kind": model.kind,
        "parameters": _plain_parameters(model),
        "classes": plain_labels(model.classes_.tolist()),
        "encoder": getattr(model.predictor_.encoder, "kind", None),
        "decoder": model.predictor_.decoder.name,
        "features": {
            "label_kind": _label_kind(model.classes_),
            "names": [str(name) for name in getattr(model, "feature_names_in_", [])],
            **({"dense_labels": model._is_dense} if isinstance(model, SetModel) else {}),
            **_removed(model),
        },
        "metrics": {**figures(model), **_report(model)},
        "history": plain_history(model.history_),
        "data": plain_data(model.data_),
        "versions": versions("numpy", "scikit-learn", "torch"),
    }
    read_labels(header["classes"], header["features"]["label_kind"])  # or nobody can, later
    arrays = model.predictor_.arrays()
    if model._memory is not None:
        arrays |= {f"{REMEMBERED}{key}": array for key, array in model._memory.arrays().items()}
    if model._novelty is not None:
        arrays |= {f"{USUAL}{key}": array for key, array in model._novelty.arrays().items()}
    if model._far_means is not None:
        arrays[FAR] = model._far_means
    usual = _plain_parameters(type(model)())
    card = make_card(model, header, usual, name=Path(path).resolve().name)
    return write_model(path, header, arrays, card=card, overwrite=overwrite)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved by `save`. Runs no code from the files and needs no torch.

    Parameters
    ----------
    path : path
        The folder of the model.

    Returns
    -------
    model : DSNCClassifier or another estimator
        An estimator of the class that was saved, ready to predict.

    Raises
    ------
    ModelFileError
        The files are damaged, forged, or not a model.
    """
    header, arrays = read_model(path)
    if header["kind"] not in KINDS:
        known = ", ".join(map(repr, sorted(KINDS)))
        raise ModelFileError.at(path, f"is of kind {header['kind']!r}", expected=known)
    kind = KINDS[header["kind"]]
    with fitting_parts(path):
        model = kind(**_parameters(header["parameters"], kind))
        model._check_parameters()
        if names := restore(model, header, arrays, TextFeatures):
            model.feature_names_in_ = object_array(names)
        width = getattr(model, kind.width) if kind.width else model.predictor_.n_bits
        if width != model.predictor_.n_bits:
            raise InputError(
                f"{kind.width}={width}, but the codes have {model.predictor_.n_bits} bits."
            )
        if "decoder" in header["metrics"]:  # of models that have a choice
            model.decoder_report_ = report_of(header["metrics"]["decoder"])
        restore_provenance(model, header)
        model._restore()
    return model


def _removed(model: "PredictorClassifier") -> dict[str, Any]:
    """Return the labels that are no classes any more, if there are any."""
    removed = model._labels.removed
    labels = plain_labels(list(removed.values()))
    pairs = [list(pair) for pair in zip(removed, labels, strict=True)]
    return {"removed": pairs} if pairs else {}


def _report(model: "PredictorClassifier") -> dict[str, Any]:
    """Return how the decoder was chosen, of models that have a choice."""
    report = getattr(model, "decoder_report_", None)
    return {} if report is None else {"decoder": plain_report(report)}


def _plain_parameters(model: "PredictorClassifier") -> dict[str, Any]:
    """Return the parameters as JSON has them; objects are named."""
    found: dict[str, Any] = {}
    for name, value in model.get_params(deep=False).items():
        if name in _OF_THE_RUN:
            continue
        value = model._plain_parameter(name, value)
        if name == "class_weight" and isinstance(value, dict):
            value = [[plain(label), float(weight)] for label, weight in value.items()]
        elif isinstance(value, Decoder):
            value = _named_decoder(value)
        elif isinstance(value, Part):
            value = named_settings(value, _FAMILIES[name])
        elif name == "text":
            value = plain_settings(value)
        elif name == "random_state" and not isinstance(value, int | np.integer):
            value = None
        if isinstance(value, dict):  # settings of a part
            value = {key: plain(setting) for key, setting in value.items()}
        several = isinstance(value, tuple | list | np.ndarray)
        found[name] = [plain(v) for v in value] if several else plain(value)
    return found


def _named_decoder(decoder: Decoder) -> Any:
    """Return what would make such a decoder; its arrays are in the file in any case."""
    if decoder.name not in decoder_names():
        return "auto"
    return {"name": decoder.name, **decoder.chosen_settings()}


def _parameters(plain: dict[str, Any], kind: type) -> dict[str, Any]:
    valid = set(kind._get_param_names()) - _OF_THE_RUN  # type: ignore[attr-defined]
    for name in plain:
        if name not in valid:
            raise unknown_name("parameters", name, valid)
    parameters = dict(plain)
    if isinstance(parameters.get("class_weight"), list | dict):
        pairs = dict(parameters["class_weight"]).items()
        parameters["class_weight"] = {
            label: real(f"class_weight[{label!r}]", weight, -math.inf) for label, weight in pairs
        }
    if "text" in parameters:
        parameters["text"] = settings_of(parameters["text"])
    if isinstance(parameters.get("hidden"), list):
        parameters["hidden"] = tuple(parameters["hidden"])
    return parameters


def _label_kind(classes: NDArray[Any]) -> str:
    if classes.dtype.kind == "U":
        return "text"
    return classes.dtype.name if classes.dtype.name in LABEL_KINDS else "object"
