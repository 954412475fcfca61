"""How good predicted label sets are, and in which forms label sets are accepted.

Nothing here has the size of rows x labels.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.checks import one_of
from dsnc.errors import InputError
from dsnc.metrics.answers import require_equal
from dsnc.targets import Targets


def f1_of_sets(Y: Any, predicted: Any, average: str = "micro") -> float:
    """Return the F1 of predicted sets: ``2 hits / (true + predicted)``, 0 if both are empty.

    The values are those of scikit-learn's ``f1_score`` with ``zero_division=0``.

    Parameters
    ----------
    Y, predicted : sparse or dense indicators of shape (n, n_labels), or Targets
        The labels of each row, and those that were predicted.
    average : "micro", "macro" or "samples", default "micro"
        "micro" counts all labels of all rows together. "macro" is the mean over labels, including
        those that no row has and nobody predicted, which add 0. "samples" is the mean over rows.

    Examples
    --------
    >>> f1_of_sets([[1, 0, 1], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.8
    """
    one_of("average", average, ("micro", "macro", "samples"))
    truth, answers = label_sets("Y", Y), label_sets("predicted", predicted)
    require_equal("predicted", len(answers), "Y", len(truth))
    if truth.n_classes != answers.n_classes:
        raise InputError(
            f"predicted has {answers.n_classes} labels and Y has {truth.n_classes}; give the same "
            "number of both."
        )
    both = [targets.classes.astype(np.bool_) for targets in (truth, answers)]
    hits, *sizes = [
        _counts(members, average) for members in (both[0].multiply(both[1]).tocsr(), *both)
    ]
    return float(ratio(2 * hits, sum(sizes)).mean())


def label_sets(name: str, values: Any) -> Targets:
    """Return sets of labels, also where each row has one label.

    Lists of label numbers are refused: those of equal length cannot be told from an indicator, and
    they do not say how many labels there are.
    """
    if isinstance(values, Targets):
        if not len(values):
            raise InputError(f"{name} has 0 rows; give at least one.")
        if values.is_single:
            return Targets.from_lists(values.y, np.ones(len(values), np.int64), values.n_classes)
        return values
    array = values if sp.issparse(values) else as_array(values)
    if array.ndim != 2 or not all(array.shape) or array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} has shape {array.shape} and type {array.dtype}; expected an indicator (n, "
            "n_labels), not empty, with 1 where a row has a label. scikit-learn's "
            "MultiLabelBinarizer(sparse_output=True) makes one from lists of labels."
        )
    sets = sp.csr_array(array)
    wrong = (sets.data != 0) & (sets.data != 1)
    if wrong.any():
        i = int(wrong.argmax())
        row = int(np.searchsorted(sets.indptr, i, side="right")) - 1
        raise InputError(
            f"{name}[{row}, {sets.indices[i]}] is {sets.data[i]}; give 1 where a row has the label "
            "and 0 elsewhere."
        )
    return Targets(sets, sets.shape[1])


def as_array(values: Any) -> NDArray[Any]:
    """Return an array; lists of several lengths give one of objects, for the caller to refuse."""
    try:
        return np.asarray(values)
    except ValueError:
        return np.empty(len(values), dtype=object)


def ratio(part: NDArray[Any], total: Any) -> NDArray[np.float64]:
    """Divide counts, where nothing out of nothing is 0."""
    return np.asarray(part / np.where(total, total, 1))


def _counts(members: Any, average: str) -> NDArray[Any]:
    """Count the members of sets: of all together, of each label, or of each row."""
    if average == "macro":
        return np.bincount(members.indices, minlength=members.shape[1])
    return np.array([members.nnz]) if average == "micro" else np.diff(members.indptr)
