"""From a model file to what predicts, all of it checked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays
from dsnc.decoders.memory import Memory
from dsnc.decoders.novelty import Novelty
from dsnc.errors import DsncError, InputError, ModelFileError, unknown_name
from dsnc.features import FittedTextFeatures
from dsnc.labels import Labels, typed_array
from dsnc.model.coded import CodeModel
from dsnc.model.fitted import FittedModel
from dsnc.model.sets import CodeSetModel, SetModel
from dsnc.persistence import read_model
from dsnc.persistence.layout import DTYPES
from dsnc.predictor import Predictor
from dsnc.threads import n_threads

REMEMBERED, USUAL = "memory.", "novelty."  # names of arrays of these begin so
FAR = "far_means"  # the array of what is subtracted from rows
LABEL_KINDS: dict[str, Any] = {
    "text": str,
    "object": object,
    **{dtype.name: dtype for dtype in DTYPES.values()},
}
_KINDS: tuple[type[CodeModel], ...] = (CodeModel, CodeSetModel)


def read_fitted(path: str | os.PathLike[str], *, verify: bool = True) -> CodeModel | None:
    """Read what predicts of a model file; None if it is of another kind, which `dsnc.load` knows.

    What is read is checked as `dsnc.load` does, its checksum only with `verify`; parameters and
    figures of training are not read.
    """
    header, arrays = read_model(path, verify=verify)
    kinds = {kind.kind: kind for kind in _KINDS}
    if header["kind"] not in kinds:
        return None
    model = kinds[header["kind"]]()
    with fitting_parts(path):
        model._names = restore(model, header, arrays)
        model.n_jobs = header["parameters"].get("n_jobs")
        n_threads(model.n_jobs)
    return model


@contextmanager
def fitting_parts(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong with the parts of a model file into an error that names it."""
    try:
        yield
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


def restore(
    model: FittedModel,
    header: dict[str, Any],
    arrays: dict[str, Any],
    text: type[FittedTextFeatures] = FittedTextFeatures,
) -> list[str]:
    """Give a model what it predicts with, all of it checked; return the names of its features.

    `header` and `arrays` are those of `read_model`, and `text` turns texts into rows.
    """
    remembered = {name: arrays[name] for name in arrays if name.startswith(REMEMBERED)}
    usual = {name: arrays[name] for name in arrays if name.startswith(USUAL)}
    others = remembered | usual | {FAR: None}
    means = arrays.get(FAR)
    arrays = {name: array for name, array in arrays.items() if name not in others}
    kinds = {part: header[part] for part in ("encoder", "decoder")}
    predictor = Predictor.from_arrays(arrays, **kinds, text=text)
    if remembered:
        own = {name.removeprefix(REMEMBERED): array for name, array in remembered.items()}
        model._memory = Memory.from_arrays(
            own, predictor.n_bits, predictor.n_classes, predictor.n_features
        )
    if usual:
        own = {name.removeprefix(USUAL): array for name, array in usual.items()}
        model._novelty = Novelty.from_arrays(own)
    model.predictor_ = predictor
    model.n_features_in_ = model.predictor_.n_features
    if means is not None:
        check_arrays("rows", {FAR: means}, {FAR: "float64 1"})
        if len(means) != model.n_features_in_ or not np.isfinite(means).all():
            raise InputError(f"{FAR} is not a finite number for each of the features.")
        model._far_means = means
    if len(header["classes"]) != predictor.n_classes:
        raise InputError(f"{len(header['classes'])} classes for {predictor.n_classes} scores.")
    names = read_labels(header["classes"], header["features"]["label_kind"])
    model._labels = Labels(names, _removed(header["features"].get("removed", []), names))
    if isinstance(model, SetModel) != (model.predictor_.rule is not None):
        raise InputError(
            "a rule for sets must be there if rows have sets of labels, and only then."
        )
    if isinstance(model, SetModel):
        model._is_dense = header["features"].get("dense_labels") is True
    model.data_ = dict(header["data"])
    return _names(header["features"]["names"], model.n_features_in_)


def plain_labels(labels: list[Any]) -> list[Any]:
    """Return labels as JSON has them, or refuse those that it cannot hold."""
    if set(map(type, labels)) <= {str, int}:  # as most are: to look at each takes longer
        return list(labels)
    labels = [plain(label) for label in labels]
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise InputError(
                f"classes_ holds {label!r}; labels in a model file must be text or numbers."
            )
    return labels


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def read_labels(labels: list[Any], kind: str) -> NDArray[Any]:
    """Return the labels of a model file, which are checked."""
    if kind not in LABEL_KINDS:
        raise unknown_name("label_kind", kind, LABEL_KINDS)
    labels = plain_labels(labels)
    if len(set(labels)) != len(labels):
        raise InputError("a class occurs more than once.")
    is_text = kind == "text" and all(isinstance(label, str) for label in labels)
    if kind == "object" or is_text:
        return typed_array(labels, "U" if is_text else "O")
    array: NDArray[Any] = np.array([] if kind == "text" else labels, dtype=LABEL_KINDS[kind])
    if array.ndim != 1 or array.tolist() != labels:
        raise InputError(f"the classes are not of kind {kind!r}.")
    return array


def _removed(pairs: Any, names: NDArray[Any]) -> dict[int, Any]:
    """Return the labels that are no classes any more, by their places among all."""
    is_pairs = isinstance(pairs, list) and all(isinstance(p, list) and len(p) == 2 for p in pairs)
    if not is_pairs or not all(type(place) is int for place, _ in pairs):
        raise InputError("features: removed is not a list of places and labels.")
    labels = plain_labels([label for _, label in pairs])
    known = set(names.tolist())
    if len(set(labels)) != len(labels) or known & set(labels):
        raise InputError("features: removed names a class twice.")
    removed = dict(zip((place for place, _ in pairs), labels, strict=True))
    if len(removed) != len(pairs):
        raise InputError("features: removed names a place twice.")
    return removed


def _names(names: Any, n_features: int) -> list[str]:
    """Return the names of the features as they were, if there are any."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError("features: names is not a list of texts.")
    if names and len(names) != n_features:
        raise InputError(f"features: {len(names)} names for {n_features} features.")
    return names
