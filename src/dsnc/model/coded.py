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
from dsnc.sparse import sp

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
            The rows: strings if the model was fitted to strings. Series and DataFrames of pandas
            and polars are accepted, too.
        reject_below : float, optional
            Give no label to rows whose best class has a probability below this.
        rejected : object, default None
            What such rows get instead of a label. The labels become an object array if they cannot
            hold it.
        unknown : object, optional
            What rows get that seem to belong to none of the classes (see `novelty`). By default,
            every row is taken for a row of a known class.
        unknown_share : float, default 0.05
            The share of rows of known classes, 0 to 1, that may be taken for unknown. It sets the
            threshold, on rows that were held out of training.

        Returns
        -------
        labels : array of shape (n,)
        """
        if unknown is None:
            return super().predict(X, reject_below=reject_below, rejected=rejected)
        labels = super().predict(X, reject_below=reject_below, rejected=rejected)
        return refused(labels, self.is_unknown(X, unknown_share), unknown)

    def is_unknown(self, X: Any, share: float = 0.05) -> NDArray[np.bool_]:
        """Return which rows seem to belong to none of the classes.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows.
        share : float, default 0.05
            The share of rows of known classes, 0 to 1, that may be taken for unknown.

        Returns
        -------
        is_unknown : bool array of shape (n,)
        """
        return self.novelty(X) > self._known_rows().threshold(share)

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """Return how strange each row is: whether it seems to belong to any of the classes at all.

        0 is usual for a row of a known class, 1 is one standard deviation among such rows, and
        larger is stranger. Four signs are combined: doubt about the answer, its score, the distance
        from the remembered codes of its class, and features that no training row had. Each is
        compared with what is usual on held-out rows, which also decide how much it counts. A text
        without any known n-gram is infinitely strange.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows.

        Returns
        -------
        novelty : array of shape (n,)
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
        """Propose classes that nobody has named: groups of unlabeled rows that belong together.

        Rows that are novel (see `novelty`) are grouped by their soft bits. Rows that are nearer to
        such a group than to the class that they would get join it. The model does not change: name
        the proposals that you want, and pass their rows to `add_classes`.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            Rows of new classes; rows of known ones may be among them.
        n_classes : int, optional
            How many classes to propose. By default, this is estimated from how far apart the known
            classes are.
        unknown_share : float, default 0.05
            The share of rows of known classes, 0 to 1, that may be taken for novel. With 1, all
            rows of X are taken for novel.
        random_state : int, default 0
            Seed of the choice of known classes that show how far apart classes are.
        verbose : bool, default False
            Whether to show a progress bar on stderr.

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
                "discover_classes is for models with one label a row: where rows have sets of "
                "labels, a row without a known label is not unusual."
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
        if self.predictor_.features is not None and sp.issparse(X):
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
                "the model cannot tell how strange a row is: fit held out too few rows to learn it "
                "(validation, validation_fraction)."
            )
        return self._novelty

    def encode(self, X: Any) -> PackedCodes:
        """Return the binary code of each row."""
        X = self._check_rows(X)
        return self.predictor_.encode(X)

    def explain(self, X: Any) -> "list[Explanation]":
        """Explain the label of each row: what speaks for it and against the second-best class.

        The terms of an explanation add up to the difference of the two final scores. With a linear
        encoder, terms are features (n-grams if rows are texts); with other encoders, the first
        stage is explained by its bits. Biases, doubt and rounding are terms of their own.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of str
            The rows, at most 1,000; texts of at most 50,000 characters.

        Returns
        -------
        list of dsnc.explanation.Explanation
            ``print`` shows one, ``as_dict()`` converts it for JSON, and
            `dsnc.explanation.explanation_page` writes a page about several.
        """
        from dsnc.explanation import explain

        X = self._check_rows(X)
        names, first = feature_names(self), first_index(self) or 0
        return explain(self.predictor_, X, self._labels, names=names, first_index=first)
