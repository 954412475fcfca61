"""What a linear machine for each class would be worth: the yardstick where classes are few."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.classifier.inputs import row_weights, rows_that_count, seed_of
from dsnc.classifier.texts import as_numbers
from dsnc.decoders.scoring import CLEARLY, accuracy, lower_bound
from dsnc.rows import unit_rows
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.classifier.estimator import DSNCClassifier
    from dsnc.decoders import HeldOut
    from dsnc.rerank import ClassVectors
    from dsnc.training.examples import Examples

MOST_CLASSES = 1000  # from there on it is not what one would take
_COST = 1.0  # of errors, as scikit-learn has it; much more would take more passes
_SECONDS = 5.0  # of training, on one core
# Of a row in the problem of a class, and of each of its numbers, as measured.
_DENSE_SECONDS, _SPARSE_SECONDS, _OVERHEAD = 8e-9, 50e-9, 20
_MOST_PAIRS = 1 << 25  # of rows and classes, for the sake of memory
_JUDGES = 1 << 13  # held-out rows that are asked
_SCORES = 1 << 22  # at a time


class Comparison(NamedTuple):
    """What both are worth on the same held-out rows."""

    accuracy: float  # of the other
    model_accuracy: float
    rows: int
    verdict: str  # what the model is: "better", "worse" or "alike"


def compare_with_one_vs_rest(
    model: "DSNCClassifier", X: Any, y: Any, *, has_validation: bool = False
) -> Comparison | None:
    """Train a support vector machine for each class, without torch, where that takes seconds.

    Parameters
    ----------
    model : DSNCClassifier
        Just fitted, so that it knows the rows held out.
    X, y : rows and labels
        That it was fitted to.
    has_validation : bool
        Whether `fit` was given other rows to validate.

    Returns
    -------
    Comparison or None
        None where it would take long, or no rows were held out.
    """
    from dsnc.fast.rows import Feed, Scaling, scaling_of
    from dsnc.training.scaling import is_mostly_zeros

    n_classes = len(model.classes_)
    if n_classes >= MOST_CLASSES or len(y) * n_classes > _MOST_PAIRS:
        return None
    known = rows_and_judges(model, X, y, has_validation=has_validation)
    if known is None:
        return None
    examples, judges = known
    scaling = scaling_of(model.scaling, examples, mostly_zeros=is_mostly_zeros(examples.X))
    feed, unit = Feed(examples, scaling), scaling.unit_rows
    if _seconds(examples.X, feed.per_row, examples.n_rows * n_classes) > _SECONDS:
        return None
    if unit:  # beforehand: vectors for such rows may be more than a machine
        feed = Feed(examples._replace(X=unit_rows(examples.X.astype(np.float32))), Scaling())
    vectors = _trained(feed, n_classes, seed_of(model.random_state), model.n_jobs)
    return judged(model, judges, _best(vectors, *source_of(judges.encoded), unit=unit))


def judged(model: "DSNCClassifier", judges: "HeldOut", answers: Any) -> Comparison:
    """Compare a model with another that gives those answers."""
    mine, other = judges.right(model.predictor_.stages), judges.targets.contains(answers)
    worth = accuracy(other, judges.weight), accuracy(mine, judges.weight)
    return Comparison(*worth, len(mine), _verdict(mine, other, judges.weight))


def rows_and_judges(
    model: "DSNCClassifier", X: Any, y: Any, *, has_validation: bool
) -> "tuple[Examples, HeldOut] | None":
    """Return the rows that `fit` has learned from, and some that it held out, if they are known."""
    from dsnc.training.examples import Examples

    held_out = model._known_evidence().rows
    is_known = has_validation or isinstance(model.random_state, int)
    if held_out is None or held_out.encoded.source is None or not is_known:
        return None
    X, y = model._check_rows_and_labels(as_numbers(X, model.predictor_.features), y, reset=False)
    weight = row_weights(X, y, None, model.class_weight)
    targets = Targets(model._labels.numbers(y, "y"), len(model.classes_))
    examples = Examples(X, targets, weight, rows_that_count(weight))
    if not has_validation:
        examples = model._divided(examples, seed_of(model.random_state))[0]
    return examples, held_out.take(_JUDGES)


def _seconds(X: Any, per_row: int, pairs: int) -> float:
    """Return what training takes on one core, about."""
    each = _SPARSE_SECONDS if sp.issparse(X) and per_row < X.shape[1] else _DENSE_SECONDS
    return pairs * (per_row + _OVERHEAD) * each


def _trained(feed: Any, n_classes: int, seed: int, n_jobs: int | None) -> "ClassVectors":
    """Return a vector for each class, from all rows."""
    from dsnc.fast.class_vectors import Recipe, train_class_vectors
    from dsnc.fast.learner import threads_to_train

    everything = np.tile(np.arange(n_classes, dtype=np.int32), (feed.n_rows, 1))
    n_weights = n_classes * feed.n_features
    recipe = Recipe(_COST, n_weights, seed)
    n_threads = threads_to_train(n_jobs)
    return train_class_vectors(feed, everything, n_classes, recipe, n_threads=n_threads)


def source_of(encoded: Any) -> tuple[Any, Any]:
    """Return X and the numbers of the rows that were encoded."""
    X, which = encoded.source
    return X, np.arange(which.start, which.stop) if isinstance(which, slice) else which


def _best(
    vectors: "ClassVectors", X: Any, rows: NDArray[np.int64], *, unit: bool
) -> NDArray[np.int64]:
    """Return the class of each row whose machine is most in favor."""
    matrix, best = vectors.matrix().T.tocsr(), np.empty(len(rows), dtype=np.int64)
    step = max(1, _SCORES // max(vectors.n_classes, 1 if sp.issparse(X) else X.shape[1]))
    for start in range(0, len(rows), step):
        block = X[rows[start : start + step]].astype(np.float32)
        scores = (unit_rows(block) if unit else block) @ matrix
        scores = scores.toarray() if sp.issparse(scores) else scores
        best[start : start + step] = (scores + vectors.bias).argmax(axis=1)
    return best


def _verdict(mine: NDArray[np.bool_], other: NDArray[np.bool_], weight: Any) -> str:
    """Say whether one is better by more than chance."""
    if lower_bound(mine, other, weight, deviations=CLEARLY) > 0:
        return "better"
    return "worse" if lower_bound(other, mine, weight, deviations=CLEARLY) > 0 else "alike"
