"""`DSNCMultiLabelClassifier`: rows with sets of labels."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dsnc.classifier.estimator import DSNCClassifier
from dsnc.classifier.label_sets import GivenSets
from dsnc.classifier.set_learner import SetLearner
from dsnc.classifier.texts import as_numbers
from dsnc.decoders import Evidence
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError
from dsnc.features import TextRows, are_texts
from dsnc.model import CodeSetModel
from dsnc.selection import SelectionSettings
from dsnc.selection.second_stage import parse_reranker
from dsnc.targets import Targets

_FROM_ROWS = (
    "descriptions and attributes add classes where each row has one label; add labels of sets from "
    "rows, by add_classes."
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
        """Learn new labels from rows and their label sets, without forgetting the others.

        New labels get vectors of their own, trained on the rows that have them, against the other
        rows and against what the model remembers (`memory`). All other labels keep theirs: of these
        nothing is learned from the rows, although the sets should name them. The encoder stays as
        it is, except that n-grams which come with new texts get a meaning. New labels come last in
        `classes_`, in sorted order; removed ones return to their old place. With one threshold for
        all labels, it holds for new ones as well; else they get the median of the others.

        If this fails, the model stays as it was.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of n str
            The rows. A few of each new label are enough; more are better.
        y : n lists or sets of labels, or CSR or array of shape (n, n_labels)
            The labels of each row, known and new. An indicator has a column for each known label,
            which must be 0, 1, ..., and further ones for new labels.

        Examples
        --------
        >>> X = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]] * 10
        >>> Y = [["warm"], ["wet"], ["warm", "wet"], []] * 10
        >>> model = DSNCMultiLabelClassifier(n_bits=8).fit(X, Y)
        >>> windy = [[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
        >>> model.add_classes(windy, [["windy"], ["warm", "windy"], ["wet"]]).classes_
        array(['warm', 'wet', 'windy'], dtype=object)
        """
        from dsnc.selection.new_labels import Given, with_new_labels

        check_is_fitted(self, "predictor_")
        with self._all_or_nothing():
            X, given = self._without_records(X), GivenSets.of(y)
            if are_texts(X) and len(X) == len(given):
                self._learn_words(TextRows.listed(X), np.arange(len(X)))  # each row for itself
            X = as_numbers(X, self.predictor_.features)
            X, given = self._check_rows_and_labels(X, given.named(self._labels), reset=False)
            labels, before = self._labels.adding(given.flat, "y")
            n_new = int(np.count_nonzero(before < 0))
            if not n_new:
                raise InputError("y has no label that is new; partial_fit learns known ones.")
            self._warn_if_forgetful()
            sets, how = given.known(labels), self._learning()
            looks = parse_reranker(self.reranker).wanted is not False
            known = self.predictor_, self._memory
            frequency = min(1.0, self.label_counts_.mean() / max(1, self.data_["rows"]))
            arrival = Given(X, sets, before, frequency)
            found = with_new_labels(*known, arrival, how, looks=looks)
            counts = np.where(before < 0, sets.counts(), self.label_counts_[before])
            self._take(labels, *found, {"classes added": n_new, "rows": len(given)})
            self.data_["label_counts"] = counts.tolist()
        return self

    def add_described_classes(
        self, labels: Any, descriptions: Any = None, *, attributes: Any = None
    ) -> Self:
        """Not available: new labels need rows, see `add_classes`. Raises an InputError."""
        raise InputError(_FROM_ROWS)

    def remove_classes(self, labels: Any) -> Self:
        """Forget labels, as `DSNCClassifier.remove_classes` does."""
        with self._all_or_nothing():
            known = self._labels
            super().remove_classes(labels)
            counts = self.label_counts_[known.find(self._labels.names)]
            self.data_["label_counts"] = counts.tolist()
        return self

    def _rows_of_new_classes(self, y: Any) -> Any:
        return []  # refused later, with their names

    def _remembering(self, trained: Any, run: Any) -> Any:
        """Return what is remembered of rows: under one label each, and none of held-out ones."""
        examples = run.examples
        labelled, classes = examples.targets.one_each()
        y = np.zeros(len(examples.targets), dtype=np.int64)
        y[labelled] = classes
        rows = labelled if examples.rows is None else np.intersect1d(examples.rows, labelled)
        alone = examples._replace(targets=Targets(y, examples.targets.n_classes), rows=rows)
        return super()._remembering(trained, run._replace(examples=alone, held_out=None))

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
