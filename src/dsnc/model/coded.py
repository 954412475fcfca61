"""Models whose rows have binary codes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsnc.checks import real, whole
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders.novelty import Novelty, signs_of_novelty
from dsnc.errors import InputError
from dsnc.features import TextRows, are_texts
from dsnc.model.facts import feature_names, first_index
from dsnc.model.fitted import FittedModel, refused

if TYPE_CHECKING:
    from dsnc.discovery import Discovery
    from dsnc.discovery.discover import Seen
    from dsnc.explanation import Explanation


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
        return refused(labels, self.is_unknown(X, unknown_share), unknown)

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

        0 is usual for a row of a known class, 1 is the deviation among such rows, larger is
        stranger. Doubt about the answer, its score, the distance from the codes that are remembered
        of its class and features that no training row had are measured by what is usual on rows
        held out of training, which also tell how much each counts. A text without any known n-gram
        is infinitely strange.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
        """
        return self._looked_at(X).novelty

    def discover_classes(
        self,
        X: Any,
        n_classes: int | None = None,
        *,
        unknown_share: float = 0.05,
        random_state: int = 0,
        verbose: bool = False,
    ) -> "Discovery":
        """Propose classes that nobody has named: rows without labels that belong together.

        Rows that are novel (see `novelty`) are grouped by their soft bits. Rows that are nearer to
        such a group than to the class that they would get join it. Nothing changes in the model:
        give names to what is proposed, and pass it to `add_classes`.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            Rows of new classes; rows of known ones may be among them.
        n_classes : int, optional
            How many to propose. Without it, known classes tell how far apart classes are, and so
            how many there seem to be.
        unknown_share : float
            The share of rows of known classes that may be taken for novel. 1 takes all rows of X
            for novel.
        random_state : int
            Which known classes are asked how far apart they are.
        verbose : bool
            Show a bar that counts.

        Returns
        -------
        dsnc.discovery.Discovery
            Its `classes`, the largest first, have their rows, how tight they are, what marks them,
            and the known classes nearest to them.

        Examples
        --------
        >>> import numpy as np
        >>> from dsnc import DSNCClassifier
        >>> X, y = np.eye(8).repeat(25, axis=0), np.arange(8).repeat(25)
        >>> model = DSNCClassifier(n_bits=16).fit(X[:150], y[:150])
        >>> found = model.discover_classes(X[150:], n_classes=2, unknown_share=1)
        >>> [(proposed.name, len(proposed)) for proposed in found.classes]
        [(6, 25), (7, 25)]
        """
        from dsnc.discovery.discover import discover

        if self.predictor_.rule is not None:
            raise InputError(
                "discover_classes is for models of one label a row: where rows have sets of "
                "labels, a row without a known one is nothing strange."
            )
        if n_classes is not None:
            n_classes = whole("n_classes", n_classes, least=1)
        seen = self._looked_at(X, real("unknown_share", unknown_share, least=0, most=1))
        names, first = feature_names(self), first_index(self) or 0
        return discover(
            self.predictor_,
            self._labels,
            self._memory,
            seen,
            n_classes,
            seed=int(random_state),
            n_jobs=self._n_jobs(),
            name=lambda column: names[column] if names else f"feature {column + first}",
            verbose=verbose,
        )

    def _looked_at(self, X: Any, unknown_share: float = 0) -> "Seen":
        """Return rows, the classes that they would get, and how strange they are."""
        from dsnc.discovery.discover import Seen

        X, texts, is_empty = self._check_rows(X), None, False
        if are_texts(X):
            rows = TextRows.of(X, self.predictor_.features)
            X, texts = rows.numbers(), rows.texts
            is_empty = np.diff(X.indptr) == 0
        classes = self.predictor_.predict(X, n_jobs=self._n_jobs())
        logits = self.predictor_.logits(X)
        strange, threshold = np.zeros(len(classes)), -np.inf
        if unknown_share < 1:  # else all rows are novel, and nobody asks how strange they are
            known = self._known_rows()
            encoded = Encoded(logits, source=(X, slice(0, len(logits))))
            signs = signs_of_novelty(encoded, self.predictor_.decoder, self._memory)
            strange, threshold = known.measure(signs), known.threshold(unknown_share)
        return Seen(X, texts, logits, classes, np.where(is_empty, np.inf, strange), threshold)

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
