"""What estimators of label sets share: they learn sets and predict sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from dsnc.classifier.inputs import row_weights, rows_that_count
from dsnc.classifier.label_sets import GivenSets
from dsnc.classifier.learned import LearnedClassifier
from dsnc.errors import InputError, shorten
from dsnc.labels import Labels
from dsnc.metrics import precision_at_k, propensities
from dsnc.model import SetModel
from dsnc.selection.gather import held_out_rows
from dsnc.selection.sets import SetSettings, fit_rule
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.settings import RunSettings


@dataclass(kw_only=True, eq=False, repr=False)
class SetLearner(SetModel, LearnedClassifier):
    """Adds label sets to a classifier that is trained in epochs."""

    threshold: Any = "micro"
    per_label_threshold: bool = False

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        classes: Any = None,
    ) -> Self:
        """Learn from rows and their label sets. If this fails, the model stays as it was.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d), or list of n str
            The rows.
        y : CSR or array of shape (n, n_labels), or n lists or sets of labels
            The labels of each row: an indicator, 1 where a row has a label, or the labels
            themselves. A row may have none.
        sample_weight : array of shape (n,), optional
            Weight of each row, 0 or more. By default, all rows count the same.
        validation : (X, y), optional
            Rows to validate on, instead of rows held out of X. They choose the epoch, the decoder
            and the threshold.
        classes : sequence, optional
            The labels of the columns of an indicator (by default 0, 1, ...), or all labels that
            lists may contain.
        """
        if isinstance(validation, tuple | list) and len(validation) == 2:
            validation = validation[0], GivenSets.of(validation[1], classes)
        return super().fit(X, GivenSets.of(y, classes), sample_weight, validation=validation)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one pass over more rows. The model may be new, fitted or loaded.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. If X holds strings, the first call decides which n-grams are known.
        classes : sequence, optional
            All labels that will ever occur; required in the first call, unless y is an indicator.
        """
        given = GivenSets.of(y, classes)
        if classes is None and given.sets is not None and not hasattr(self, "predictor_"):
            classes = np.arange(given.sets.n_classes)
        return super().partial_fit(X, given, classes, sample_weight)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return P@1: the share of rows whose most probable label is right.

        `dsnc.metrics` has other figures: precision, recall and nDCG at any k, and the F1 of sets.
        """
        X = self._check_rows(X)
        targets = GivenSets.of(y).known(self._labels)
        best = self.predictor_.top_k(X, 1, n_jobs=self._n_jobs())[0]
        if sample_weight is None:
            return float(precision_at_k(targets, best, 1))
        return float(np.average(targets.contains(best[:, 0]), weights=sample_weight))

    @property
    def label_counts_(self) -> NDArray[np.int64]:
        """The number of training rows that have each label."""
        counts: NDArray[np.int64] = np.asarray(self.data_["label_counts"], dtype=np.int64)
        return counts

    def _settings(self) -> "RunSettings":
        self._set_settings().check()
        return super()._settings()

    def _set_settings(self) -> SetSettings:
        return SetSettings(self.threshold, self.per_label_threshold)

    def _check_rows_and_labels(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Any]:
        given = GivenSets.of(y)
        X = validate_data(self, X, accept_sparse="csr", dtype="numeric", reset=reset)
        X = self._near_zero(X, reset=reset)
        if len(given) != X.shape[0]:
            raise InputError(
                f"X has {X.shape[0]} rows and y has {len(given)}; give one set of labels for each "
                "row."
            )
        if reset:
            self._is_dense = given.is_dense
        return X, given

    def _learned_targets(self, y: GivenSets) -> tuple[Labels, Targets]:
        return y.learned()

    def _without_unknown(self, X: Any, y: GivenSets, labels: Labels) -> tuple[Any, Any]:
        return X, y.without_unknown(labels)

    def _known_targets(self, y: GivenSets, labels: Labels) -> Targets:
        return GivenSets.of(y).known(labels)

    def _examples(
        self, X: Any, y: Any, targets: Targets, labels: Labels, sample_weight: Any
    ) -> "Examples":
        from dsnc.training.examples import Examples

        weight = row_weights(X, None, sample_weight, None)
        gains = gains_of(self.class_weight, targets, labels)
        return Examples(X, targets, weight, rows_that_count(weight), gains)

    def _finish(self, run: Any, labels: Labels, *rest: Any) -> None:
        super()._finish(run, labels, *rest)
        targets = run.examples.used()[0]
        self.data_["label_counts"] = targets.counts().tolist()
        if self.predictor_.rule is None:
            rows = run.held_out and held_out_rows(self.predictor_, run.held_out)
            rule = fit_rule(self.predictor_.stages, rows, self._set_settings(), targets.most)
            self.predictor_ = self.predictor_.with_decoder(self.predictor_.decoder, rule=rule)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that rows may have several labels."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def gains_of(class_weight: Any, targets: Targets, labels: Labels) -> NDArray[np.float32] | None:
    """Return how much having each label counts; None if all count the same.

    They are 1 on average over all labels of all rows.
    """
    if class_weight is None:
        return None
    counts = targets.counts().astype(np.float64)
    if isinstance(class_weight, Mapping):
        gains = np.ones(len(counts))
        numbers = labels.numbers(list(class_weight), "class_weight")
        gains[numbers] = list(class_weight.values())
        if not (np.isfinite(gains) & (gains >= 0)).all():
            raise InputError(f"class_weight={shorten(class_weight)} has a weight below 0 or NaN.")
    elif class_weight == "propensity":
        gains = 1 / propensities(targets)
    elif class_weight == "balanced":
        gains = 1 / np.maximum(counts, 1)
    else:
        raise InputError(
            f"class_weight={shorten(class_weight)} is not valid; use 'propensity', 'balanced', "
            "None, or a dict of label to weight."
        )
    total = float((gains * counts).sum())
    if not total:
        raise InputError("class_weight is 0 for all labels; nothing can be learned.")
    return np.asarray(gains * (counts.sum() / total), dtype=np.float32)
