"""`DSNCMultiLabelClassifier`: rows with sets of labels."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from dsnc.classifier.estimator import DSNCClassifier
from dsnc.classifier.set_learner import SetLearner
from dsnc.decoders import Evidence
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError
from dsnc.model import CodeSetModel
from dsnc.selection import SelectionSettings
from dsnc.targets import Targets

_FIXED = (
    "classes can only be added where each row has one label; to give a model of label sets more "
    "labels, call fit again."
)


@dataclass(kw_only=True, eq=False, repr=False)
class DSNCMultiLabelClassifier(SetLearner, DSNCClassifier):  # type: ignore[misc]
    """Classifier for rows that have several of very many labels, one, or none.

    It learns, decodes and saves like `DSNCClassifier` and has the same parameters. These are new,
    or mean something else:

    Parameters
    ----------
    threshold : "micro", "macro", "samples" or float, default "micro"
        The F1 that the threshold of `predict` is chosen for on held-out rows; or the threshold
        itself, the least probability (0 to 1) of a label in a set.
    per_label_threshold : bool, default False
        Whether each label gets a threshold of its own. Labels that fewer than 10 held-out rows have
        use the common one.
    loss : str, default "auto"
        The loss over the labels. "auto" decides each label by itself, by sigmoids, below 8,192
        labels, and is "sampled_softmax" from there on, which learns that many labels better.
        "sigmoid" and "softmax" compute all labels, "sampled_sigmoid" and "sampled_softmax" a few of
        them.
    class_weight : "propensity", "balanced", dict or None, default None
        How much each label counts where a row has it. "propensity" divides by the chance that a
        rare label is noted at all, which ranks rare labels higher; "balanced" divides by how
        frequent a label is.
    decoder : str, dict or dsnc.decoders.Decoder, default "auto"
        "auto", "shortlist", "soft" or "linear". The others know only one class for each code.

    Attributes
    ----------
    classes_ : array
        The labels, in the order of the columns that `predict` returns.
    label_counts_ : int array of shape (n_labels,)
        The number of training rows that have each label.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]] * 10
    >>> Y = [["warm"], ["wet"], ["warm", "wet"], []] * 10
    >>> DSNCMultiLabelClassifier(n_bits=8).fit(X, Y).predict(X[:4]).toarray()
    array([[1, 0],
           [0, 1],
           [1, 1],
           [0, 0]])
    """

    kind: ClassVar[str] = CodeSetModel.kind

    def add_classes(self, X: Any, y: Any) -> Self:
        """Not available: label sets get no more labels after `fit`. Raises an InputError."""
        raise InputError(_FIXED)

    def add_described_classes(
        self, labels: Any, descriptions: Any = None, *, attributes: Any = None
    ) -> Self:
        """Not available: label sets get no more labels after `fit`. Raises an InputError."""
        raise InputError(_FIXED)

    def remove_classes(self, labels: Any) -> Self:
        """Forget labels, as `DSNCClassifier.remove_classes` does. They cannot come back."""
        with self._all_or_nothing():
            known = self._labels
            super().remove_classes(labels)
            counts = self.label_counts_[known.find(self._labels.names)]
            self.data_["label_counts"] = counts.tolist()
        return self

    def _rows_of_new_classes(self, y: Any) -> Any:
        return []  # refused later, with their names

    def _remembering(self, trained: Any, run: Any) -> None:
        """Remember nothing: see `add_classes`."""

    def _selection(self, decoder: Any) -> SelectionSettings:
        return replace(super()._selection(decoder), sets=self._set_settings())

    def _known_rule(self) -> SetRule:
        """Return the rule of the model so far, or one that no rows have chosen."""
        if hasattr(self, "predictor_"):
            return self._rule
        return SetRule() if isinstance(self.threshold, str) else SetRule(threshold=[self.threshold])

    def _known_evidence(self) -> Evidence:
        """Return what training left; a decoder has a code once for each of its classes."""
        known = super()._known_evidence()
        if known.codes is None or known.targets is None or not known.targets.is_single:
            return known
        distinct = known.codes.unique()
        order = np.argsort(distinct.inverse, kind="stable")
        counts = np.bincount(distinct.inverse, minlength=len(distinct.codes))
        sets = Targets.from_lists(known.targets.y[order], counts, known.targets.n_classes)
        return replace(known, codes=distinct.codes, targets=sets)
