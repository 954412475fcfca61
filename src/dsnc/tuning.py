"""Choice of hyper-parameters on validation accuracy, with Optuna: the paper's protocol.

The authors choose the learning rate and the first value of the regularization factor by the best
validation accuracy; `tune` does that for these and any other parameters. Hopeless trials end early
(median pruning on the epochs), a study that lies in a file goes on where it was left, and several
processes may work on it. For a grid or scikit-learn's own searches nothing of this is needed: the
estimators work there as they are.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from dsnc.checks import whole
from dsnc.classifier.base import LearnedClassifier
from dsnc.errors import InputError, require, unknown_name
from dsnc.progress import counting_bar

if TYPE_CHECKING:
    import optuna
    from numpy.typing import NDArray

    from dsnc.training.history import Progress

FACTOR = "factor"
"""A name in a space that stands for `beta` and `gamma` together, as in the paper."""

PAPER_SPACE: Mapping[str, str] = {"learning_rate": "1e-3..1e-1 log", FACTOR: "1e-5..1e-1 log"}
"""What the paper's authors chose on validation accuracy."""

_WARM_UP_TRIALS = 5  # that are not pruned, so that there is a median


@dataclass(frozen=True)
class TuningResult:
    """The outcome of a study.

    Attributes
    ----------
    parameters : dict
        The best ones, as the estimator takes them.
    accuracy : float
        Their validation accuracy.
    estimator : estimator
        A fresh copy with these parameters, not fitted.
    trials : list of dict
        One for each trial: ``number``, ``state``, ``accuracy``, ``epochs`` and its parameters.
    """

    parameters: dict[str, Any]
    accuracy: float
    estimator: Any
    trials: list[dict[str, Any]] = field(default_factory=list)


def tune(
    estimator: LearnedClassifier,
    X: Any,
    y: Any,
    *,
    space: Mapping[str, Any] = PAPER_SPACE,
    validation: tuple[Any, Any] | None = None,
    n_trials: int = 20,
    time_limit: float | None = None,
    study: str | os.PathLike[str] | None = None,
    n_jobs: int = 1,
    random_state: int = 0,
    progress: bool = False,
) -> TuningResult:
    """Look for the parameters of the best validation accuracy.

    Parameters
    ----------
    estimator : DSNCClassifier or another one with epochs
        Its parameters outside the space stay as they are.
    X, y
        As in `fit`; rows may be texts.
    space : mapping
        Parameter to what is tried: ``"1e-3..1e-1 log"``, ``"0.0..0.5"``, ``"2..8"`` (whole
        numbers), a list of values, or a distribution of Optuna.
    validation : (X, y), optional
        The rows that decide; without them, the estimator's `validation_fraction` of the rows.
    n_trials : int
        Of the whole study: one that goes on from a file makes those that are missing. Several
        processes may make one more each.
    time_limit : float, optional
        Seconds after which no new trial begins.
    study : path, optional
        A file in which the study is kept.
    n_jobs : int
        Processes; several need a `study`. Each trial depends on what is known when it begins, so
        that only one process gives the same study twice.
    random_state : int
        Of the draws.
    progress : bool
        Draw a bar on stderr.

    Examples
    --------
    >>> from dsnc import DSNCClassifier
    >>> from dsnc.data import make_dense_codes
    >>> data = make_dense_codes(n_rows=300, n_classes=10, n_features=8)
    >>> model = DSNCClassifier(n_bits=8, max_epochs=2, device="cpu")
    >>> found = tune(model, data.X, data.labels, space={"n_bits": [8, 16]}, n_trials=2)
    >>> sorted(found.parameters)
    ['n_bits']
    """
    optuna = require("optuna", extra="tune", caller="dsnc.tuning.tune")
    require("torch", extra="torch", caller="dsnc.tuning.tune")
    _check(estimator, n_trials, n_jobs, study)
    distributions = {name: _distribution(name, value) for name, value in space.items()}
    _check_names(estimator, distributions)
    rows = _parts(estimator, X, y, validation, random_state)
    task = _Task(estimator, rows, distributions, n_trials, time_limit, study, random_state)
    with _quiet(optuna):
        made = task.open()
        with _bar(n_trials, enabled=progress) as advance:
            if n_jobs == 1:
                task.work(advance)
            else:
                _in_processes(task, n_jobs, advance)
        return _result(estimator, made if study is None else task.open())


def _check(estimator: Any, n_trials: Any, n_jobs: Any, study: Any) -> None:
    if not isinstance(estimator, LearnedClassifier):
        raise InputError(
            f"estimator is a {type(estimator).__name__}; give one that has epochs, such as "
            "DSNCClassifier or MLPBaseline."
        )
    for name, value in (("n_trials", n_trials), ("n_jobs", n_jobs)):
        whole(name, value)
    if n_jobs > 1 and study is None:
        raise InputError(f"n_jobs={n_jobs} processes meet in a file; give study='study.log'.")


def _check_names(estimator: Any, names: Mapping[str, Any]) -> None:
    valid = estimator.get_params(deep=False)
    if not names:
        raise InputError("space is empty; give one parameter to choose, or more.")
    for name in names:
        if name not in valid and not (name == FACTOR and "beta" in valid):
            raise unknown_name("space", name, [*valid, FACTOR])


def _distribution(name: str, value: Any) -> Any:
    """Return Optuna's distribution of what a user wrote."""
    from optuna import distributions as od

    if isinstance(value, od.BaseDistribution):
        return value
    if isinstance(value, list | tuple):
        if not value:
            raise InputError(f"space: {name!r} has no values.")
        return od.CategoricalDistribution(tuple(value))
    text = str(value).strip()
    log = text.endswith(" log")
    low, dots, high = text.removesuffix(" log").partition("..")
    try:
        if not dots:
            raise ValueError
        whole = all(part.strip().lstrip("-").isdigit() for part in (low, high))
        if whole:
            return od.IntDistribution(int(low), int(high), log=log)
        return od.FloatDistribution(float(low), float(high), log=log)
    except ValueError as error:
        raise InputError(
            f"space: {name}={value!r} is not a range; write '1e-3..1e-1 log', '2..8' or a list."
        ) from error


def _parts(
    estimator: Any, X: Any, y: Any, validation: tuple[Any, Any] | None, seed: int
) -> tuple[Any, Any, Any, Any]:
    """Return training and validation rows, the same for all trials."""
    if validation is not None:
        return X, y, *validation
    labels = np.asarray(y)
    train, held = train_test_split(
        np.arange(len(labels)), test_size=estimator.validation_fraction, random_state=seed
    )
    # A class of which no row is left to learn from cannot be judged.
    held = held[np.isin(labels[held], labels[train])]
    return _taken(X, train), labels[train], _taken(X, held), labels[held]


def _taken(X: Any, rows: "NDArray[np.intp]") -> Any:
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]  # [] of pandas looks for names


@dataclass
class _Task:
    """What a process needs to work on a study."""

    estimator: Any
    rows: tuple[Any, Any, Any, Any]
    space: dict[str, Any]
    n_trials: int
    time_limit: float | None
    path: str | os.PathLike[str] | None
    seed: int
    worker: int = 0

    def open(self) -> "optuna.Study":
        """Return the study, new or as it was left."""
        import optuna

        if self.path is None:
            if not hasattr(self, "_study"):
                self._study = optuna.create_study(direction="maximize", **self._ways())
            return self._study
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(os.fspath(self.path)))
        return optuna.create_study(
            direction="maximize",
            storage=storage,
            study_name="dsnc",
            load_if_exists=True,
            **self._ways(),
        )

    def _ways(self) -> dict[str, Any]:
        import optuna

        return {
            "sampler": optuna.samplers.TPESampler(seed=self.seed + self.worker),
            "pruner": optuna.pruners.MedianPruner(n_startup_trials=_WARM_UP_TRIALS),
        }

    def work(self, advance: Callable[["optuna.Study"], None] = lambda study: None) -> None:
        """Make trials until there are enough."""
        import optuna

        ended = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)

        def enough(study: "optuna.Study", trial: Any) -> None:
            advance(study)
            if len(study.get_trials(deepcopy=False, states=ended)) >= self.n_trials:
                study.stop()

        study = self.open()
        missing = self.n_trials - len(study.get_trials(deepcopy=False, states=ended))
        if missing > 0:
            study.optimize(
                self.one_trial,
                n_trials=missing,
                timeout=self.time_limit,
                callbacks=[enough],
            )

    def one_trial(self, trial: Any) -> float:
        """Fit with what the trial suggests; return the validation accuracy."""
        import optuna

        def watch(progress: "Progress") -> None:
            epoch = progress.epoch
            if epoch.validation_accuracy is not None:
                trial.report(epoch.validation_accuracy, epoch.epoch)
                if trial.should_prune():
                    raise optuna.TrialPruned

        parameters = {name: _suggest(trial, name, way) for name, way in self.space.items()}
        model = clone(self.estimator).set_params(**spread(parameters))
        model.set_params(callbacks=[*self.estimator.callbacks, watch])
        X, y, X_held, y_held = self.rows
        model.fit(X, y, validation=(X_held, y_held))
        trial.set_user_attr("epochs", model.n_iter_)
        accuracy: float = model.score(X_held, y_held)
        return accuracy


def _suggest(trial: Any, name: str, way: Any) -> Any:
    """Ask a trial for a value of a distribution."""
    from optuna.distributions import CategoricalDistribution, IntDistribution

    if isinstance(way, CategoricalDistribution):
        return trial.suggest_categorical(name, way.choices)
    ask = trial.suggest_int if isinstance(way, IntDistribution) else trial.suggest_float
    return ask(name, way.low, way.high, step=way.step, log=way.log)


def spread(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as the estimator takes them: `FACTOR` is `beta` and `gamma`."""
    spread = {name: value for name, value in parameters.items() if name != FACTOR}
    if FACTOR in parameters:
        spread |= {"beta": parameters[FACTOR], "gamma": parameters[FACTOR]}
    return spread


def _in_processes(task: _Task, n_jobs: int, advance: Callable[["optuna.Study"], None]) -> None:
    """Let several processes work on the file; arrays are shared through memory maps."""
    from dataclasses import replace

    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for _ in parallel(delayed(_work_quietly)(replace(task, worker=i)) for i in range(n_jobs)):
        advance(task.open())


def _work_quietly(task: _Task) -> None:
    import optuna

    with _quiet(optuna):
        task.work()


def _result(estimator: Any, study: "optuna.Study") -> TuningResult:
    trials = [
        {
            "number": trial.number,
            "state": trial.state.name.lower(),
            "accuracy": trial.value,
            "epochs": trial.user_attrs.get("epochs", trial.last_step),
            **trial.params,
        }
        for trial in study.get_trials(deepcopy=False)
    ]
    if not any(trial["state"] == "complete" for trial in trials):
        raise InputError("no trial came to its end; give more n_trials or time_limit.")
    best = spread(study.best_params)
    fresh = clone(estimator).set_params(**best)
    return TuningResult(best, float(study.best_value), fresh, trials)


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Keep Optuna from logging trials; what ends one is raised, and need not be logged, too."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _bar(n_trials: int, *, enabled: bool) -> Iterator[Callable[["optuna.Study"], None]]:
    """Yield what takes note of a study's progress; draws on stderr if enabled."""
    if not enabled:
        yield lambda study: None
        return
    with counting_bar("trials") as bar:
        task = bar.add_task("", total=n_trials)

        def advance(study: "optuna.Study") -> None:
            values = [t.value for t in study.get_trials(deepcopy=False) if t.value is not None]
            best = max((v for v in values if not math.isnan(v)), default=math.nan)
            done = sum(t.state.is_finished() for t in study.get_trials(deepcopy=False))
            bar.update(task, completed=done, description=f"best validation accuracy {best:.4f}")

        yield advance
