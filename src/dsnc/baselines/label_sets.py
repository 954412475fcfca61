"""Baselines for rows that have label sets."""

from dataclasses import dataclass
from typing import ClassVar

from dsnc.baselines.mlp import MLPBaseline
from dsnc.baselines.one_vs_rest import OneVsRestBaseline
from dsnc.classifier.set_learner import SetLearner


@dataclass(kw_only=True, eq=False, repr=False)
class MLPMultiLabelBaseline(SetLearner, MLPBaseline):
    """`MLPBaseline` for label sets, with a sigmoid for each label in place of the softmax.

    It has the parameters of `MLPBaseline`, and `threshold`, `per_label_threshold`, `loss` and
    `class_weight` of `dsnc.DSNCMultiLabelClassifier`.

    Examples
    --------
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 20, [["a"], ["b"], ["a", "b"]] * 20
    >>> model = MLPMultiLabelBaseline(n_units=8, device="cpu").fit(X, Y)
    >>> model.predict(X[:3]).toarray().tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    kind: ClassVar[str] = "mlp_sets"
    loss: str = "auto"


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsRestMultiLabelBaseline(SetLearner, OneVsRestBaseline):
    """`OneVsRestBaseline` for label sets: each label's classifier decides whether a row has it.

    It has the parameters of `OneVsRestBaseline`, and `threshold`, `per_label_threshold` and
    `class_weight` of `dsnc.DSNCMultiLabelClassifier`. Two defaults differ: `max_epochs` is "auto"
    (50), and `validation_fraction` is 0.1, since held-out rows choose the threshold.

    Examples
    --------
    >>> X, Y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 20, [["a"], ["b"], ["a", "b"]] * 20
    >>> model = OneVsRestMultiLabelBaseline(C=10, device="cpu").fit(X, Y)
    >>> model.predict(X[:3]).toarray().tolist()
    [[1, 0], [0, 1], [1, 1]]
    """

    kind: ClassVar[str] = "one_vs_rest_sets"
