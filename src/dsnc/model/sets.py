"""Models whose rows have label sets."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError
from dsnc.model.coded import CodeModel
from dsnc.model.fitted import FittedModel, check_table
from dsnc.sparse import sp


class SetModel(FittedModel):
    """A fitted model whose rows have label sets."""

    _is_dense: bool = False  # whether indicators come back as plain arrays

    def predict(self, X: Any) -> Any:  # type: ignore[override]
        """Return the label set of each row: the labels that are probable enough.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows: strings if the model was fitted to strings. Series and DataFrames of pandas
            and polars are accepted, too.

        Returns
        -------
        indicator : CSR matrix of shape (n, n_labels)
            1 where a row has a label, with the columns of `classes_`. A plain array if `fit` was
            given one.
        """
        numbers, scores, rule = self._scored(X)
        chosen = rule.chosen(numbers, scores)
        sets = self._matrix(numbers, chosen, np.ones(int(chosen.sum()), dtype=np.int64))
        return sets.toarray() if self._is_dense else sets

    def predict_sets(self, X: Any) -> list[list[Any]]:
        """Return the label set of each row as a list of labels, the most probable first."""
        return self.sets_and_probabilities(X)[0]

    def sets_and_probabilities(self, X: Any) -> tuple[list[list[Any]], list[list[float]]]:
        """Return the labels of each row, the most probable first, and their probabilities.

        Like `predict_sets`, with a list of probabilities beside each list of labels.
        """
        numbers, scores, rule = self._scored(X)
        chosen, likely, names = (
            rule.chosen(numbers, scores),
            rule.probabilities(scores),
            self._labels.names,
        )
        sets = [names[row[mask]].tolist() for row, mask in zip(numbers, chosen, strict=True)]
        shares = [row[mask].tolist() for row, mask in zip(likely, chosen, strict=True)]
        return sets, shares

    def predict_top_k(self, X: Any, k: int = 5) -> tuple[NDArray[Any], NDArray[np.float32]]:
        """Return the `k` most probable labels of each row, best first, and their probabilities.

        Each label has a probability of its own, so those of a row need not add up to 1.
        """
        X = self._check_rows(X)
        numbers, scores = self.predictor_.top_k(X, k, n_jobs=self._n_jobs())
        return self._labels.of(numbers), self._rule.probabilities(scores)

    def predict_proba(self, X: Any, *, sparse: bool = False) -> Any:
        """Return the probability of each label for each row, in the order of `classes_`.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows.
        sparse : bool, default False
            Whether to return a CSR matrix of the candidates only: the labels that the codes have
            found, from which `predict` takes the set of a row. All others are close to 0. Without
            it, tables above 2 GiB are refused.
        """
        if sparse:
            numbers, scores, rule = self._scored(X)
            found = numbers >= 0
            return self._matrix(numbers, found, rule.probabilities(scores)[found])
        scores = self._all_scores(X)
        return self._rule.probabilities(scores)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return the log-odds of each label for each row, in the order of `classes_`.

        Tables above 2 GiB are refused; use `predict_top_k` instead.
        """
        scores = self._all_scores(X)
        return self._rule.log_odds(scores)

    @property
    def _rule(self) -> SetRule:
        rule = self.predictor_.rule
        if rule is None:
            raise InputError("the model has no rule that makes sets of labels.")
        return rule

    def _scored(self, X: Any) -> tuple[NDArray[np.int64], NDArray[np.float32], SetRule]:
        """Return the candidates of each row, best first, their scores, and what makes sets."""
        X, rule = self._check_rows(X), self._rule
        return *self.predictor_.scored(X, rule.size, n_jobs=self._n_jobs()), rule

    def _all_scores(self, X: Any) -> NDArray[np.float32]:
        """Return the score of each label for each row."""
        X, n_labels = self._check_rows(X), len(self._labels)
        check_table(X, n_labels, "predict_top_k, or predict_proba(X, sparse=True)")
        numbers, scores = self.predictor_.top_k(X, n_labels, n_jobs=self._n_jobs())
        result = np.empty_like(scores)
        np.put_along_axis(result, numbers, scores, axis=1)
        return result

    def _matrix(self, numbers: NDArray[np.int64], which: NDArray[np.bool_], values: Any) -> Any:
        """Return a CSR matrix of rows x labels with these values at some of the labels."""
        starts = np.append(0, np.cumsum(which.sum(axis=1)))
        shape = (len(numbers), len(self._labels))
        matrix = sp.csr_matrix((values, numbers[which], starts), shape=shape)
        matrix.sort_indices()
        return matrix


class CodeSetModel(SetModel, CodeModel):  # type: ignore[misc]  # `predict` gives sets
    """Both: rows have binary codes and sets of labels."""

    kind: ClassVar[str] = "dsnc_sets"

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """Refuse: a row that has no label is nothing strange."""
        raise InputError(
            "novelty is available for models with one label a row, not for label sets."
        )
