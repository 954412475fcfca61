"""Classifiers that are trained in epochs: `fit` and `partial_fit`."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from dsnc.classifier.base import PredictorClassifier
from dsnc.classifier.descriptions import Descriptions
from dsnc.classifier.inputs import hold_out, learned_labels, row_weights, rows_that_count, seed_of
from dsnc.classifier.texts import as_numbers, learned_features, make_features
from dsnc.decoders.scoring import accuracy
from dsnc.errors import InputError, require
from dsnc.features import FittedTextFeatures
from dsnc.labels import Labels, warn_of_unknown
from dsnc.predictor import Predictor
from dsnc.targets import Targets
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples
    from dsnc.training.history import History
    from dsnc.training.learner import Learner
    from dsnc.training.setup import MakeObjective

_BLOCK = 1 << 14  # held-out rows at a time


class Run(NamedTuple):
    """Who has learned, and from what."""

    learner: "Learner"
    examples: "Examples"
    held_out: "Examples | None" = None
    calls: int = 0  # of `partial_fit`; 0 is `fit`
    n_described: int = 0  # the last rows of the examples, which are descriptions


@dataclass(kw_only=True, eq=False, repr=False)  # only what scikit-learn wants __init__ to be
class LearnedClassifier(PredictorClassifier):
    """A classifier that is trained in epochs, with `fit` and `partial_fit`.

    A subclass names its settings in `settings_kind`, has a parameter for each field that the user
    may set, and returns in `_make_objective` what is trained on top of the encoder.
    """

    settings_kind: ClassVar[type[RunSettings]] = RunSettings
    trainer_: str = field(init=False)

    scaling: str = "auto"
    text: Any = None
    class_weight: Any = None
    max_epochs: int | str = "auto"
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    validation_fraction: float = 0.1
    validation_every: int = 1
    patience: int | None = None
    time_limit: float | None = None
    device: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    callbacks: Sequence[Callable[..., Any]] = ()
    verbose: bool = False
    random_state: Any = 0

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Learn from rows and their labels. If this fails, the model stays as it was.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d), or list of n str
            The rows. `dsnc.features.TextFeatures` turns strings into rows, with the settings
            `text`; it is fitted to all of X.
        y : array of shape (n,)
            The label of each row: integers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Weight of each row, 0 or more. By default, all rows count the same.
        validation : (X, y), optional
            Rows to validate on, instead of rows held out of X. They choose the best epoch, the
            decoder and the second stage. Rows whose labels do not occur in `y` are left out.
        """
        return self._fit(X, y, sample_weight, validation)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: Any,
        described: Descriptions | None = None,
    ) -> Self:
        """Learn from rows, and from descriptions of their classes."""
        with self._all_or_nothing():
            settings = self._settings()
            features = learned_features(X, self.text, described.texts if described else ())
            X, y = self._check_rows_and_labels(as_numbers(X, features), y)
            labels, targets = self._learned_targets(y)
            seed = seed_of(self.random_state)
            examples = self._examples(X, y, targets, labels, sample_weight)
            held_out: Examples | None = None
            if validation is not None:
                held_out = self._given_validation(validation, labels, features)
            else:
                examples, held_out = self._divided(examples, seed)
            n_described = 0
            if described is not None:
                examples, n_described = described.joined(examples, labels, features)
            learner = self._make_learner(settings, examples, seed, joins=True)
            history = learner.fit(examples, held_out)
            run = Run(learner, examples, held_out, n_described=n_described)
            self._finish(run, labels, history, features)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one pass over more rows. The model may be new, fitted or loaded.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. If X holds strings, the first call decides which n-grams are known.
        classes : array, optional
            All labels that will ever occur; required in the first call.
        """
        with self._all_or_nothing() as before:
            first = not hasattr(self, "predictor_")
            X = X if first else self._without_records(X)
            features = learned_features(X, self.text) if first else self.predictor_.features
            X, y = self._check_rows_and_labels(as_numbers(X, features), y, reset=first)
            if first:
                if classes is None:
                    raise InputError(
                        "classes must list all labels in the first call to partial_fit."
                    )
                labels, _ = learned_labels(classes, "classes")
            else:
                labels = self._labels
                if classes is not None and set(np.asarray(classes).tolist()) != set(
                    labels.names.tolist()
                ):
                    raise InputError(
                        "classes differs from the classes in the first call to partial_fit."
                    )
            targets = self._known_targets(y, labels)
            examples = self._examples(X, y, targets, labels, sample_weight)
            learner = self._learner_for(examples)
            calls = getattr(self, "_calls", 0) + 1
            before.pop("_learner", None)  # training moves it; what predicts stays as it is
            history = learner.partial_fit(examples, calls)
            self._finish(Run(learner, examples, None, calls), labels, history, features)
        return self

    def _learned_targets(self, y: Any) -> tuple[Labels, Targets]:
        """Give the labels of checked rows their numbers."""
        labels, numbers = learned_labels(y)
        return labels, Targets(numbers, len(labels))

    def _known_targets(self, y: Any, labels: Labels) -> Targets:
        """Return the numbers of the labels of checked rows, all of which must be known."""
        return Targets(labels.numbers(y, "y"), len(labels))

    def _examples(
        self, X: Any, y: Any, targets: Targets, labels: Labels, sample_weight: Any
    ) -> "Examples":
        """Return checked rows and their targets as what is to be learned."""
        from dsnc.training.examples import Examples

        weight = row_weights(X, y, sample_weight, self.class_weight)
        return Examples(X, targets, weight, rows_that_count(weight))

    def _settings(self) -> RunSettings:
        """Return the checked settings of a run; what the user cannot choose has its default."""
        make_features(self.text)
        names = [field.name for field in fields(self.settings_kind)]
        settings = self.settings_kind(**{n: getattr(self, n) for n in names if hasattr(self, n)})
        settings.check()
        return settings

    def _check_parameters(self) -> None:
        self._settings()

    def _require_extras(self, caller: str) -> None:
        """Ask for what training needs before anything is read."""
        require("torch", extra="torch", caller=caller)

    def _make_objective(self, examples: "Examples", seed: int) -> "MakeObjective":
        """Return what makes the objective: that of the paper's model."""
        from dsnc.training.objective import Objective

        return Objective

    def _settings_for(self, settings: RunSettings, examples: "Examples") -> RunSettings:
        """Return the settings of a run, for those that depend on what there is to learn."""
        return settings

    def _make_learner(
        self,
        settings: RunSettings,
        examples: "Examples",
        seed: int,
        *,
        joins: bool = False,
    ) -> "Learner":
        """Return what learns; `joins` says whether it may do so with other processes."""
        return self._learner_of(self._settings_for(settings, examples), examples, seed, joins=joins)

    def _learner_of(
        self, settings: RunSettings, examples: "Examples", seed: int, *, joins: bool
    ) -> "Learner":
        caller = f"{type(self).__name__}.{'fit' if joins else 'partial_fit'}"
        require("torch", extra="torch", caller=caller)
        from dsnc.training.learner import Learner
        from dsnc.training.world import join_world

        world = join_world(settings.device) if joins else None
        make_objective = self._make_objective(examples, seed)
        n_classes = examples.targets.n_classes
        return Learner(settings, examples, n_classes, seed, make_objective, world)

    def _divided(self, examples: "Examples", seed: int) -> tuple["Examples", "Examples | None"]:
        """Return rows to learn from and rows that are held out, if any are."""
        rows, held = hold_out(examples.targets, self.validation_fraction, seed, examples.rows)
        if not len(held):
            return examples, None
        return examples._replace(rows=rows), examples._replace(rows=held)

    def _given_validation(
        self, validation: Any, labels: Labels, features: FittedTextFeatures | None
    ) -> "Examples":
        if not isinstance(validation, tuple | list) or len(validation) != 2:
            raise InputError(
                f"validation is of type {type(validation).__name__}; pass a pair (X, y)."
            )
        X, y = validation
        X, y = self._check_rows_and_labels(as_numbers(X, features), y, reset=False)
        X, y = self._without_unknown(X, y, labels)
        examples = self._examples(X, y, self._known_targets(y, labels), labels, None)
        return examples._replace(rows=None)

    def _without_unknown(self, X: Any, y: Any, labels: Labels) -> tuple[Any, Any]:
        """Leave out validation rows of classes that training does not have, and say so."""
        known = labels.find(y) >= 0
        warn_of_unknown("validation", y, known, "they are left out")
        return (X, y) if known.all() else (X[known], y[known])

    def _learner_for(self, examples: "Examples") -> "Learner":
        """Return the learner of the last call, or one that goes on from the trained arrays."""
        learner: Learner | None = getattr(self, "_learner", None)
        settings = self._settings()
        if learner is not None:
            names = ("batch_size", "learning_rate", "weight_decay")  # may be set between calls
            pace = {name: getattr(self, name) for name in names if hasattr(self, name)}
            learner.settings = replace(learner.settings, **pace)
            return learner
        learner = self._make_learner(settings, examples, seed_of(self.random_state))
        if hasattr(self, "predictor_"):
            learner.load(self.predictor_.encoder, self._trained_decoder())
        return learner

    def _finish(
        self, run: Run, labels: Labels, history: "History", features: FittedTextFeatures | None
    ) -> None:
        """Keep what was learned, all of it at once."""
        predictor = Predictor(*run.learner.export(), features)
        self.__dict__.update(self._choose_decoder(predictor, run))
        self._measured = self.predictor_.stages, _validated(self.predictor_, run, self._n_jobs())
        self._labels, self.history_ = labels, history
        self.n_iter_ = len(self.history_)
        self.data_ = _described(run)
        self.trainer_ = run.learner.trainer
        self._learner, self._calls = run.learner, run.calls

    def _trained_decoder(self) -> Any:
        """Return the decoder that training goes on from."""
        return self.predictor_.decoder

    def _choose_decoder(self, trained: Predictor, run: Run) -> dict[str, Any]:
        """Return what predicts, and other fitted attributes of a choice; here there is none."""
        return {"predictor_": trained}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the learner, which holds the state of training, and torch."""
        state = dict(super().__getstate__())
        state.pop("_learner", None)
        return state


def _validated(predictor: Predictor, run: Run, n_jobs: int | None) -> dict[str, float]:
    """Return what a predictor is worth on the held-out rows; nothing where there are none."""
    if run.held_out is None or not run.held_out.n_rows:
        return {}
    X, targets, weight, rows, _ = run.held_out
    rows = np.arange(len(targets)) if rows is None else rows
    right = []
    for start in range(0, len(rows), _BLOCK):  # a memory map is not to be loaded whole
        block = rows[start : start + _BLOCK]
        right.append(targets.take(block).contains(predictor.predict(X[block], n_jobs=n_jobs)))
    worth = accuracy(np.concatenate(right), None if weight is None else weight[rows])
    return {"validation_accuracy": worth}


def _described(run: Run) -> dict[str, Any]:
    """Return what a model was made from; held-out rows of the same X are in its fingerprint."""
    from dsnc.training.examples import describe, fingerprint

    known, held_out = describe(run.examples), run.held_out
    if run.n_described:
        known |= {"rows": known["rows"] - run.n_described, "descriptions": run.n_described}
    if held_out is not None:
        known["validation"] = {"rows": held_out.n_rows}
        if held_out.X is not run.examples.X:
            known["validation"]["fingerprint"] = fingerprint(held_out)
        elif held_out.rows is not None:  # drawn from the same rows
            known["validation"]["never_held_out"] = _never_held_out(run.examples, held_out)
    return known


def _never_held_out(learned: "Examples", held_out: "Examples") -> int:
    """Count the rows that hold the only example of a class, which always stay in training."""
    rows = np.concatenate([learned.rows, held_out.rows])
    targets = learned.targets.take(rows)
    owners = np.repeat(np.arange(len(targets)), targets.sizes())
    is_only = targets.counts()[targets.lists()[1]] == 1
    return len(np.unique(owners[is_only]))
