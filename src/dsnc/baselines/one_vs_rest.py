"""One linear classifier for each class, against all others."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dsnc.baselines.linear import LinearBaseline, Memory, linear_memory
from dsnc.classifier.base import one_for_two
from dsnc.model import check_table
from dsnc.training.scaling import is_mostly_zeros

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.settings import RunSettings
    from dsnc.training.setup import MakeObjective


class OneVsRestBaseline(LinearBaseline):
    """One linear classifier for each class, all in one layer; the largest output wins.

    It solves the same problem as scikit-learn's `LinearSVC`, for all classes at once. The model has
    features x classes weights: `memory` returns its size before anything is trained, `fit` refuses
    what the machine cannot hold, and ``verbose=True`` prints the size on stderr.

    Parameters
    ----------
    loss : "squared_hinge" or "logistic", default "squared_hinge"
        The loss of each classifier: "squared_hinge", which is that of `LinearSVC`, or "logistic".
        Each classifier has its own probability, and `predict_proba` divides these by their sum: of
        an output f, 1 / (1 + exp(-f)) with the logistic loss, and (1 + f) / 2, but at least 0, with
        the squared hinge. They are not calibrated.
    C : float, default 1.0
        How much the losses count relative to the size of the weights, as in `LinearSVC`.
    scaling, text, class_weight
        As in `DSNCClassifier`.
    max_epochs, batch_size, learning_rate
        Settings of Adam for dense rows and of row-wise Adagrad for sparse ones, with a one-cycle
        schedule; by default 20, "auto" and "auto". ``batch_size="auto"`` is a 25th of the rows, but
        at least 16, and at most 256 dense or 1,000 sparse ones.
    validation_fraction : float, default 0.0
        Share of the rows held out to choose the best epoch. 0 trains on all rows and keeps the last
        epoch, which suits a problem without local minima.
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
    >>> from dsnc.data import make_dense_codes
    >>> data = make_dense_codes(n_rows=600, n_classes=20, n_features=16)
    >>> model = OneVsRestBaseline(max_epochs=10, device="cpu").fit(data.X, data.labels)
    >>> model.predict_top_k(data.X[:2], k=3)[0].shape
    (2, 3)
    """

    kind: ClassVar[str] = "one_vs_rest"

    @staticmethod
    def memory(n_features: int, n_classes: int, batch_size: int = 1000) -> Memory:
        """Return how many bytes the model takes, and how many its training takes besides X.

        Parameters
        ----------
        n_features, n_classes : int
            Size of the model.
        batch_size : int, default 1000
            Rows of a training step.

        Examples
        --------
        >>> print(OneVsRestBaseline.memory(n_features=20_000, n_classes=12_000))
        0.96 GB for the model, 4.94 GB while it is trained
        """
        return linear_memory(n_features, n_classes, batch_size)

    def decision_function(self, X: Any) -> NDArray[np.float32]:
        """Return the output of each classifier; with two classes, the second minus the first."""
        X = self._check_rows(X)
        check_table(X, len(self._labels))
        return one_for_two(self.predictor_.logits(X))

    def _make_objective(self, examples: "Examples", seed: int) -> "MakeObjective":
        from dsnc.baselines.objectives import OneVsRestObjective

        return partial(OneVsRestObjective, loss=self.loss, sparse=is_mostly_zeros(examples.X))

    def _settings_for(self, settings: "RunSettings", examples: "Examples") -> "RunSettings":
        n_classes = examples.targets.n_classes
        batch_size = 1000 if isinstance(self.batch_size, str) else int(self.batch_size)
        needed = self.memory(examples.X.shape[1], n_classes, min(batch_size, len(examples.targets)))
        needed.check(self.device, verbose=self.verbose)
        return replace(super()._settings_for(settings, examples), n_bits=n_classes)
