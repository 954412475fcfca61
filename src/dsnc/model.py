"""A fitted model: a `Predictor` and the labels of its class numbers; without scikit-learn.

Estimators are fitted models that can also learn. Importing scikit-learn takes longer than reading
a model and predicting, so that the command line predicts with what `read_fitted` gives.
"""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders.memory import Memory
from dsnc.decoders.novelty import Novelty, signs_of_novelty
from dsnc.errors import DsncError, InputError, ModelFileError, unknown_name
from dsnc.features import FittedTextFeatures, TextRows, are_none, are_texts, unframed
from dsnc.labels import Labels, object_array
from dsnc.persistence import read_model
from dsnc.persistence.layout import DTYPES
from dsnc.predictor import Predictor
from dsnc.rows import as_rows
from dsnc.threads import n_threads

if TYPE_CHECKING:
    from dsnc.data import Dataset
    from dsnc.data.columns import Columns
    from dsnc.explanation import Explanation

REMEMBERED, USUAL = "memory.", "novelty."  # names of arrays of these begin so
ENCODER = "layers"  # the only kind that a model file can hold
LABEL_KINDS: dict[str, Any] = {
    "text": str,
    "object": object,
    **{dtype.name: dtype for dtype in DTYPES.values()},
}
_PLAIN = (np.dtype(np.float32), np.dtype(np.float64))


class FittedModel:
    """Predicts labels: what every classifier does once it is fitted."""

    kind: ClassVar[str]  # in model files, for ever the same
    predictor_: Predictor
    n_features_in_: int
    n_jobs: int | None
    data_: dict[str, Any]
    _labels: Labels
    _memory: Memory | None = None
    _novelty: Novelty | None = None

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns of `predict_proba`."""
        return self._labels.names

    def predict(
        self, X: Any, *, reject_below: float | None = None, rejected: Any = None
    ) -> NDArray[Any]:
        """Return the label of each row.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            Strings, if it was fitted to strings. Series and DataFrames of pandas and polars, too.
        reject_below : float, optional
            Give no label to rows whose best class is less probable than this.
        rejected : object
            What such rows get instead. The labels keep their type if it is of it.
        """
        X = self._check_rows(X)
        if reject_below is None:
            return self._labels.of(self.predictor_.predict(X, n_jobs=self._n_jobs()))
        if not 0 <= reject_below <= 1:
            raise InputError(f"reject_below={reject_below!r} is not a probability, 0 to 1.")
        numbers, probabilities = self.predictor_.top_k_proba(X, 1, n_jobs=self._n_jobs())
        labels = self._labels.of(numbers[:, 0])
        return _refused(labels, probabilities[:, 0] < reject_below, rejected)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probability of each class for each row, in the order of `classes_`."""
        X = self._check_rows(X)
        return self.predictor_.proba(X)

    def predict_top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` most probable labels of each row, best first, and their probabilities."""
        X = self._check_rows(X)
        numbers, probabilities = self.predictor_.top_k_proba(X, k, n_jobs=self._n_jobs())
        return self._labels.of(numbers), probabilities

    def _n_jobs(self) -> int | None:
        """Return the number of threads that predict; not all estimators have the parameter."""
        n_jobs: int | None = getattr(self, "n_jobs", None)
        return n_jobs

    def _check_rows(self, X: Any) -> Any:
        """Return rows of numbers, or texts, as the predictor takes them."""
        if not hasattr(self, "feature_names_in_") and is_clean(X, self.n_features_in_):
            return X  # scikit-learn's checks take longer than predicting a row
        X = unframed(X)
        if are_texts(X):
            return X  # the predictor knows what to do with them
        if self.predictor_.features is not None and are_none(X):
            X = np.empty((0, self.n_features_in_))  # refused as no rows of numbers are
        return self._check_numbers(X)

    def _check_numbers(self, X: Any) -> Any:
        """Return rows that are not clean as an array or matrix, or refuse them."""
        from sklearn.utils import check_array

        X = check_array(X, accept_sparse="csr", dtype="numeric", input_name="X")
        return as_rows(X, self.n_features_in_)


class CodeModel(FittedModel):
    """A fitted model whose rows have binary codes."""

    kind: ClassVar[str] = "dsnc"
    _names: Sequence[str] = ()  # of features, where it is no estimator that knows them

    def predict(
        self,
        X: Any,
        *,
        reject_below: float | None = None,
        rejected: Any = None,
        unknown: Any = None,
        unknown_share: float = 0.05,
    ) -> NDArray[Any]:
        """Return the label of each row.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            Strings, if it was fitted to strings. Series and DataFrames of pandas and polars, too.
        reject_below : float, optional
            Give no label to rows whose best class is less probable than this.
        rejected : object
            What such rows get instead. The labels keep their type if it is of it.
        unknown : object, optional
            What rows get that seem to belong to none of the classes, see `novelty`: any label but
            None, which asks for nothing.
        unknown_share : float
            The share of rows of known classes that may be taken for unknown. It fixes the
            threshold, on rows that were held out of training.
        """
        if unknown is None:
            return super().predict(X, reject_below=reject_below, rejected=rejected)
        X = self._check_rows(X)
        labels = super().predict(X, reject_below=reject_below, rejected=rejected)
        return _refused(labels, self.is_unknown(X, unknown_share), unknown)

    def is_unknown(self, X: Any, share: float = 0.05) -> NDArray[np.bool_]:
        """Tell which rows seem to belong to none of the classes.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
        share : float
            The share of rows of known classes that may be taken for unknown.
        """
        return self.novelty(X) > self._known_rows().threshold(share)

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """Return how strange each row is: whether it belongs to any of the classes at all.

        0 is usual for a row of a known class, larger is stranger. Doubt about the answer and the
        distance from the codes that are remembered of its class are measured by what is usual on
        rows held out of training. A text without any known n-gram is infinitely strange.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
        """
        X, is_empty = self._check_rows(X), None
        if are_texts(X):
            X = TextRows.of(X, self.predictor_.features).numbers()
            is_empty = np.diff(X.indptr) == 0
        numbers, probabilities = self.predictor_.top_k_proba(X, 1, n_jobs=self._n_jobs())
        answers = probabilities[:, 0], numbers[:, 0], self.predictor_.logits(X)
        signs = signs_of_novelty(*answers, self.predictor_.decoder, self._memory)
        strange = self._known_rows().measure(signs)
        return strange if is_empty is None else np.where(is_empty, np.inf, strange)

    def _known_rows(self) -> Novelty:
        """Return what is usual for rows of known classes."""
        if self._novelty is None:
            raise InputError(
                "nothing is known of how strange rows may be: fit held out too few rows to tell "
                "(validation, validation_fraction), or the model is of an earlier version."
            )
        return self._novelty

    def encode(self, X: Any) -> PackedCodes:
        """Return the binary code of each row."""
        X = self._check_rows(X)
        return self.predictor_.encode(X)

    def explain(self, X: Any) -> "list[Explanation]":
        """Tell why each row gets its label: what spoke for it against the second best.

        The terms of an explanation add up to the difference of the two final scores. With a linear
        encoder they are features, n-grams where rows are texts; behind other encoders the first
        stage is told by its bits. Biases, doubt and rounding are terms of their own.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            A few rows, 1,000 at most.

        Returns
        -------
        list of dsnc.explanation.Explanation
            ``print`` shows one, ``as_dict()`` is for JSON, and
            `dsnc.explanation.explanation_page` makes a page of some.
        """
        from dsnc.explanation import explain

        X = self._check_rows(X)
        names, first = feature_names(self), first_index(self) or 0
        return explain(self.predictor_, X, self._labels, names=names, first_index=first)


def read_fitted(path: str | os.PathLike[str]) -> CodeModel | None:
    """Read what predicts of a model file; None if it is of another kind, which `dsnc.load` knows.

    What is read is checked as `dsnc.load` does; parameters and figures of training are not read.
    """
    header, arrays = read_model(path)
    if header["kind"] != CodeModel.kind:
        return None
    model = CodeModel()
    with fitting_parts(path):
        model._names = restore(model, header, arrays)
        model.n_jobs = header["parameters"].get("n_jobs")
        n_threads(model.n_jobs)
    return model


def takes_text(model: Any) -> bool:
    """Tell whether a model was trained on texts."""
    return model.predictor_.features is not None


def facts_of(dataset: "Dataset") -> dict[str, Any]:
    """Return what a model should remember of the data that it learns from, for `data_`.

    `fit` sees rows, and neither names of columns nor numbers of features.
    """
    facts: dict[str, Any] = {}
    if dataset.first_index is not None:
        facts["first_index"] = dataset.first_index
    if dataset.columns is not None:
        facts["columns"] = dataset.columns.plain()
    return facts


def columns_of(model: Any) -> "Columns | None":
    """Return the columns of the table that a model learned from, if it was one."""
    from dsnc.data.columns import Columns

    found = getattr(model, "data_", {}).get("columns")
    return None if found is None else Columns.from_plain(found)


def feature_names(model: Any) -> list[str]:
    """Return the names of the columns of X, as a DataFrame or a table had them, or none."""
    given = getattr(model, "feature_names_in_", getattr(model, "_names", ()))
    if len(given):
        return [str(name) for name in given]
    try:
        columns = columns_of(model)
    except InputError:  # a file may say anything
        return []
    if columns is None or columns.width != model.n_features_in_:
        return []
    values = columns.categories.items()
    return [*columns.numbers, *(f"{name}={value}" for name, some in values for value in some)]


def first_index(model: Any) -> int | None:
    """Return the number that svmlight files gave to the first feature; None if it is not known."""
    found = getattr(model, "data_", {}).get("first_index")
    return found if type(found) is int and found in (0, 1) else None  # a file may say anything


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

    Parameters
    ----------
    model : FittedModel
    header, arrays
        Of `read_model`.
    text : type
        What turns texts into rows.
    """
    if header["encoder"] != ENCODER:
        raise unknown_name("encoder", header["encoder"], [ENCODER])
    remembered = {name: arrays[name] for name in arrays if name.startswith(REMEMBERED)}
    usual = {name: arrays[name] for name in arrays if name.startswith(USUAL)}
    others = remembered | usual
    arrays = {name: array for name, array in arrays.items() if name not in others}
    predictor = Predictor.from_arrays(arrays, decoder=header["decoder"], text=text)
    if remembered:
        own = {name.removeprefix(REMEMBERED): array for name, array in remembered.items()}
        model._memory = Memory.from_arrays(own, predictor.n_bits, predictor.n_classes)
    if usual:
        own = {name.removeprefix(USUAL): array for name, array in usual.items()}
        model._novelty = Novelty.from_arrays(own)
    model.predictor_ = predictor
    model.n_features_in_ = model.predictor_.n_features
    names = _labels(header["classes"], header["features"]["label_kind"])
    model._labels = Labels(names, _removed(header["features"].get("removed", []), names))
    if len(model._labels) != model.predictor_.n_classes:
        raise InputError(f"{len(model._labels)} classes for {model.predictor_.n_classes} scores.")
    model.data_ = dict(header["data"])
    return _names(header["features"]["names"], model.n_features_in_)


def _refused(labels: NDArray[Any], which: NDArray[np.bool_], instead: Any) -> NDArray[Any]:
    """Give some rows another label, which need not be of the type of the others."""
    kind = np.min_scalar_type(instead)
    to_text = labels.dtype.kind == "U" != kind.kind  # numpy would cast a number to text
    if to_text or not np.can_cast(kind, labels.dtype):
        labels = labels.astype(object)
    labels[which] = instead
    return labels


def is_clean(X: Any, n_features: int) -> bool:
    """Tell quickly whether rows are plain finite numbers of the right width.

    False only means that scikit-learn's checks have to look. A finite sum has finite terms.
    """
    kind = type(X)
    if kind is np.ndarray or kind is np.memmap:
        values = X
    elif kind in (sp.csr_matrix, sp.csr_array):
        values = X.data
    else:
        return False
    if X.ndim != 2 or X.shape[1] != n_features or not X.shape[0]:
        return False
    return values.dtype in _PLAIN and math.isfinite(np.add.reduce(values, axis=None))


def plain_labels(labels: list[Any]) -> list[Any]:
    """Return labels as JSON has them, or refuse those that it cannot hold."""
    labels = [plain(label) for label in labels]
    for label in labels:
        if not isinstance(label, str | int | float | bool):
            raise InputError(
                f"classes_ holds {label!r}; a model file takes labels of text and numbers."
            )
    return labels


def plain(value: Any) -> Any:
    """Return a number of numpy as one of Python, anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _labels(labels: list[Any], kind: str) -> NDArray[Any]:
    if kind not in LABEL_KINDS:
        raise unknown_name("label_kind", kind, LABEL_KINDS)
    labels = plain_labels(labels)
    if len(set(labels)) != len(labels):
        raise InputError("the classes are not each there once.")
    if kind == "object":
        return object_array(labels)
    array: NDArray[Any] = np.array(labels, dtype=LABEL_KINDS[kind])
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
