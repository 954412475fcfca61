"""Error-correcting output codes: codes are given, and linear classifiers learn their bits."""

import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dsnc.baselines.codebooks import (
    DECODINGS,
    RANDOM,
    codebook_decoder,
    codes_of,
    make_codebook,
)
from dsnc.baselines.linear import LinearBaseline
from dsnc.baselines.wrapped import EstimatorEncoder
from dsnc.checks import one_of
from dsnc.classifier.inputs import learned_labels, row_weights, rows_that_count, seed_of
from dsnc.classifier.texts import as_numbers, learned_features
from dsnc.errors import InputError
from dsnc.model import CodeModel
from dsnc.predictor import Predictor
from dsnc.threads import n_threads
from dsnc.training.scaling import is_mostly_zeros
from dsnc.training.settings import RunSettings, check_bits

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.setup import MakeObjective

_GIVEN = "given"  # in model files: the book is among the arrays


@dataclass(kw_only=True, eq=False, repr=False)
class ECOCBaseline(CodeModel, LinearBaseline):
    """Error-correcting output codes with linear classifiers, or with any estimator.

    Every class has a code that is chosen before training. A binary classifier for each bit learns
    which classes have it set (all of them together, as one matrix product), and the class whose
    code is nearest to the predicted bits wins. (T. Dietterich, G. Bakiri, JAIR 1995.)

    Parameters
    ----------
    n_bits : int, default 128
        Length of the codes, at least log2 of the number of classes. Ten times that is the least
        that works well.
    codebook : "random" or array of shape (n_classes, n_bits), default "random"
        The codes of the classes: "random" draws codes that are far apart. An array has a row for
        each class, in the sorted order of labels, of 0 and 1 or of -1 and +1.
    decoding : "hamming" or "soft", default "hamming"
        How the nearest code is found: "hamming" counts the bits that differ, in a time that hardly
        grows with the number of classes; "soft" weighs bits by their confidence (loss-based
        decoding), which is more accurate, in a time that grows with the number of classes.
    loss : "squared_hinge" or "logistic", default "squared_hinge"
        The loss of each bit: "squared_hinge" or "logistic". With "logistic", soft decoding returns
        the probabilities of classes whose bits err independently; with "squared_hinge", its numbers
        only rank the classes.
    C : float, default 1.0
        How much the losses count relative to the size of the weights, as in `LinearSVC`.
    base : estimator, optional
        A scikit-learn classifier that learns the bits instead of the linear ones, and is cloned for
        each bit. This way, a method for two classes learns many. Such a model can be pickled, but a
        model file cannot hold it.
    n_jobs : int, optional
        Number of parallel jobs: of `fit` with a `base` (joblib) and of `predict` (threads). By
        default 1; -1 uses all cores.
    scaling, text, class_weight
        As in `DSNCClassifier`. A `base` gets rows without scaling.
    max_epochs, batch_size, learning_rate
        Settings of Adam for dense rows and of row-wise Adagrad for sparse ones, with a one-cycle
        schedule; by default 20, "auto" and "auto". ``batch_size="auto"`` is a 25th of the rows, but
        at least 16, and at most 256 dense or 1,000 sparse ones.
    validation_fraction : float, default 0.0
        Share of the rows held out to choose the best epoch. 0 trains on all rows and keeps the last
        epoch.
    validation_every, patience, time_limit
        As in `DSNCClassifier`.
    device, checkpoint, callbacks, verbose, random_state
        As in `DSNCClassifier`.

    Attributes
    ----------
    classes_, predictor_, history_, n_features_in_, n_iter_
        As in `DSNCClassifier`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from dsnc.data import make_dense_codes
    >>> data = make_dense_codes(n_rows=600, n_classes=20, n_features=16)
    >>> model = ECOCBaseline(n_bits=32, max_epochs=10, device="cpu").fit(data.X, data.labels)
    >>> model.encode(data.X[:2]).n_bits
    32
    >>> trees = ECOCBaseline(n_bits=32, base=DecisionTreeClassifier()).fit(data.X, data.labels)
    """

    kind: ClassVar[str] = "ecoc"
    width: ClassVar[str | None] = "n_bits"

    n_bits: int = 128
    codebook: Any = RANDOM
    decoding: str = "hamming"
    base: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Learn from rows and their labels; see `DSNCClassifier.fit`."""
        if self.base is None:
            return super().fit(X, y, sample_weight, validation=validation)
        if validation is not None:
            raise InputError(
                "validation does not work with base=..., which has no epochs; leave it out."
            )
        return self._fit_base(X, y, sample_weight)

    @available_if(lambda self: self.base is None)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one pass over more rows; see `DSNCClassifier.partial_fit`. Not with a `base`."""
        return super().partial_fit(X, y, classes, sample_weight)

    def with_decoding(self, decoding: str) -> Self:
        """Return the same model with `decoding` "hamming" or "soft"; nothing is trained."""
        check_is_fitted(self, "predictor_")
        one_of("decoding", decoding, DECODINGS)
        other = copy.copy(self)
        other.decoding = decoding
        decoder = codebook_decoder(codes_of(self.predictor_.decoder), decoding)
        other.predictor_ = self.predictor_.with_decoder(decoder)
        return other

    def _fit_base(self, X: Any, y: Any, sample_weight: Any) -> Self:
        from dsnc.training.history import History

        with self._all_or_nothing():
            self._settings()
            features = learned_features(X, self.text)
            X, y = self._check_rows_and_labels(as_numbers(X, features), y)
            labels, numbers = learned_labels(y)
            weight = row_weights(X, y, sample_weight, self.class_weight, relative=False)
            rows = rows_that_count(weight)
            codes = make_codebook(
                self.codebook, len(labels), self.n_bits, seed_of(self.random_state)
            )
            if rows is not None and weight is not None:
                X, numbers, weight = X[rows], numbers[rows], weight[rows]
            encoder = EstimatorEncoder.fit(
                self.base, X, codes.to_bits(), numbers, weight, n_jobs=self.n_jobs
            )
            self.predictor_ = Predictor(encoder, codebook_decoder(codes, self.decoding), features)
            self._labels, self.n_iter_ = labels, 1
            self.history_, self.data_ = History(stopped="fitted"), {"rows": len(numbers)}
        return self

    def _settings(self) -> RunSettings:
        one_of("decoding", self.decoding, DECODINGS)
        n_threads(self.n_jobs)
        if isinstance(self.codebook, str):
            one_of("codebook", self.codebook, (RANDOM, _GIVEN))
        settings = super()._settings()
        check_bits(settings.n_bits)
        return settings

    def _make_objective(self, examples: "Examples", seed: int) -> "MakeObjective":
        from dsnc.baselines.objectives import CodebookObjective

        return partial(
            CodebookObjective,
            codes=make_codebook(self.codebook, examples.targets.n_classes, self.n_bits, seed),
            decoding=self.decoding,
            loss=self.loss,
            sparse=is_mostly_zeros(examples.X),
        )

    def _plain_parameter(self, name: str, value: Any) -> Any:
        if name == "base" and value is not None:
            raise InputError(f"base={value!r}: a model file cannot hold it; pickle can.")
        return _GIVEN if name == "codebook" and not isinstance(value, str) else value

    def _restore(self) -> None:
        if isinstance(self.codebook, str) and self.codebook == _GIVEN:
            self.codebook = codes_of(self.predictor_.decoder).to_bits()
