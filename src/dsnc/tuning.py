"""Search for hyperparameters by validation accuracy, with Optuna: the paper's protocol.

The authors choose the learning rate and the first value of the regularization factor by the best
validation accuracy; `tune` does that for these and any other parameters. Hopeless trials end early
(median pruning on the epochs), a study that is kept in a file continues where it stopped, and
several processes may work on it. A grid or scikit-learn's own searches need nothing of this: the
estimators work there as they are.
"""

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from dsnc.checks import is_whole, whole
from dsnc.classifier.learned import LearnedClassifier
from dsnc.errors import InputError, require, unknown_name
from dsnc.progress import progress_bar

if TYPE_CHECKING:
    import optuna

    from dsnc.training.history import Progress

FACTOR = "factor"
"""A name in a search space that stands for `beta` and `gamma` together, as in the paper."""

PAPER_SPACE: Mapping[str, str] = {"learning_rate": "1e-3..1e-1 log", FACTOR: "1e-5..1e-1 log"}
"""What the paper's authors chose by validation accuracy."""

_WARM_UP_TRIALS = 5  # that are not pruned, so that there is a median


@dataclass(frozen=True)
class TuningResult:
    """The outcome of a study.

    Attributes
    ----------
    parameters : dict
        The best parameters, ready for the estimator.
    accuracy : float
        Their validation accuracy, as in `figures_` of a fitted model.
    estimator : estimator
        A copy of the estimator with these parameters, not fitted.
    trials : list of dict
        One for each trial: ``number``, ``state``, ``accuracy``, ``epochs`` and its parameters.
    """

    parameters: dict[str, Any]
    accuracy: float
    estimator: Any
    trials: list[dict[str, Any]]


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
    """Search for the parameters with the best validation accuracy.

    Parameters
    ----------
    estimator : DSNCClassifier or another one with epochs
        Parameters outside of the space stay as they are.
    X, y
        As in `fit`; rows may be texts.
    space : mapping, default PAPER_SPACE
        For each parameter, what to try: ``"1e-3..1e-1 log"``, ``"0.0..0.5"``, ``"2..8"`` (whole
        numbers), a list of values, or a distribution of Optuna. The name "factor" sets `beta` and
        `gamma` together.
    validation : (X, y), optional
        The rows to measure accuracy on. By default, those that `fit` holds out:
        `validation_fraction` of the rows, drawn with the estimator's own `random_state`. A model
        that is fitted with the best parameters therefore has the accuracy that is reported here.
    n_trials : int, default 20
        Number of trials of the whole study; if it continues from a file, only the missing ones are
        run. Each of several processes may run one more.
    time_limit : float, optional
        Seconds after which no new trial begins.
    study : path, optional
        A file to keep the study in.
    n_jobs : int, default 1
        Number of processes; more than one needs a `study`. Each trial depends on what is known when
        it begins, so only a single process gives the same study twice.
    random_state : int, default 0
        Seed of the search; also of the estimator, if its own `random_state` is not a number.
    progress : bool, default False
        Whether to show a progress bar on stderr.

    Returns
    -------
    TuningResult

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
    _check(estimator, space, n_trials, n_jobs, study)
    distributions = {name: _distribution(name, value) for name, value in space.items()}
    if not is_whole(estimator.random_state, 0):  # all trials are to hold out the same rows
        estimator = clone(estimator).set_params(random_state=random_state)
    with _quiet(optuna):
        made = _open(study, random_state)
        task = _Task(estimator, (X, y, validation), distributions, n_trials, time_limit)
        with _bar(n_trials, enabled=progress) as advance:
            if n_jobs == 1:
                task.work(made, advance)
            else:
                _in_processes(task, study, random_state, n_jobs, lambda: advance(made))
        return _result(estimator, made)


def _check(
    estimator: Any, space: Mapping[str, Any], n_trials: Any, n_jobs: Any, study: Any
) -> None:
    if not isinstance(estimator, LearnedClassifier):
        raise InputError(
            f"estimator is of type {type(estimator).__name__}; give one that has epochs, such as "
            "DSNCClassifier or MLPBaseline."
        )
    whole("n_trials", n_trials)
    if whole("n_jobs", n_jobs) > 1 and study is None:
        raise InputError(f"n_jobs={n_jobs} processes share a file; give study='study.log'.")
    valid: dict[str, Any] = estimator.get_params(deep=False)
    if not space:
        raise InputError("space is empty; give at least one parameter to choose.")
    for name in space:
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
        if all(part.strip().lstrip("-").isdigit() for part in (low, high)):
            return od.IntDistribution(int(low), int(high), log=log)
        return od.FloatDistribution(float(low), float(high), log=log)
    except ValueError as error:
        raise InputError(
            f"space: {name}={value!r} is not a range; write '1e-3..1e-1 log', '2..8' or a list."
        ) from error


def _open(path: str | os.PathLike[str] | None, seed: int) -> "optuna.Study":
    """Return the study of a file, new or as it was left; without a file, a new one."""
    import optuna

    storage = None
    if path is not None:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        Path(path).parent.mkdir(parents=True, exist_ok=True)
        storage = JournalStorage(JournalFileBackend(os.fspath(path)))
    return optuna.create_study(
        direction="maximize",
        storage=storage,
        study_name="dsnc",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_WARM_UP_TRIALS),
    )


@dataclass
class _Task:
    """What a process needs to work on a study."""

    estimator: Any
    rows: tuple[Any, Any, Any]  # X, y and validation
    space: dict[str, Any]
    n_trials: int
    time_limit: float | None

    def work(self, study: "optuna.Study", advance: Callable[["optuna.Study"], None]) -> None:
        """Make trials until there are enough."""
        from optuna.trial import TrialState

        ended = (TrialState.COMPLETE, TrialState.PRUNED)
        begin = time.monotonic()
        while len(study.get_trials(deepcopy=False, states=ended)) < self.n_trials:
            if self.time_limit is not None and time.monotonic() - begin >= self.time_limit:
                break
            self._one_trial(study)
            advance(study)

    def _one_trial(self, study: "optuna.Study") -> None:
        """Fit with what the study suggests, and tell it the validation accuracy."""
        from optuna import TrialPruned
        from optuna.trial import TrialState

        trial = study.ask(self.space)

        def watch(progress: "Progress") -> None:
            epoch = progress.epoch
            if epoch.validation_accuracy is not None:
                trial.report(epoch.validation_accuracy, epoch.epoch)
                if trial.should_prune():
                    raise TrialPruned

        X, y, validation = self.rows
        try:
            model = clone(self.estimator).set_params(**spread(trial.params))
            model.set_params(callbacks=[*self.estimator.callbacks, watch])
            model.fit(X, y, validation=validation)
            accuracy = _accuracy(model)
        except TrialPruned:
            study.tell(trial, state=TrialState.PRUNED)
        except BaseException:  # Ctrl-C as well
            study.tell(trial, state=TrialState.FAIL)
            raise
        else:
            trial.set_user_attr("epochs", model.n_iter_)
            study.tell(trial, accuracy)


def _accuracy(model: LearnedClassifier) -> float:
    """Return what the decoder that predicts is worth on the rows that `fit` held out."""
    if "validation_accuracy" not in model.figures_:
        raise InputError(
            f"validation_fraction={model.validation_fraction} leaves no validation rows; "
            "increase it, or give validation=(X, y)."
        )
    return float(model.figures_["validation_accuracy"])


def spread(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as the estimator needs them: `FACTOR` becomes `beta` and `gamma`.

    A whole number for `hidden` becomes a tuple.
    """
    spread = {name: value for name, value in parameters.items() if name != FACTOR}
    if FACTOR in parameters:
        spread |= {"beta": parameters[FACTOR], "gamma": parameters[FACTOR]}
    if is_whole(spread.get("hidden")):  # one layer: Optuna likes numbers better than sequences
        spread["hidden"] = (spread["hidden"],)
    return spread


def _in_processes(
    task: _Task, path: Any, seed: int, n_jobs: int, advance: Callable[[], None]
) -> None:
    """Let several processes work on the file; arrays are shared through memory maps."""
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    for _ in parallel(delayed(_work_quietly)(task, path, seed + i) for i in range(n_jobs)):
        advance()


def _work_quietly(task: _Task, path: Any, seed: int) -> None:
    import optuna

    with _quiet(optuna):
        task.work(_open(path, seed), lambda study: None)


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
        raise InputError("no trial was completed; increase n_trials or time_limit.")
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
    with progress_bar(n_trials, enabled, "trials") as show:

        def advance(study: "optuna.Study") -> None:
            trials = study.get_trials(deepcopy=False)
            values = [t.value for t in trials if t.value is not None and not math.isnan(t.value)]
            done = sum(trial.state.is_finished() for trial in trials)
            show(done, f"best validation accuracy {max(values, default=math.nan):.4f}")

        yield advance
