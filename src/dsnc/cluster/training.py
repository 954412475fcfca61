"""Training on a cluster: the torch trainer in the workers of Ray Train.

Workers write rows as arrays to the folder `storage`. Then each copies its shard to its own disk and
trains as one of several processes, as under ``torchrun``. Decoder, second stage and calibration are
chosen in this process, as after any `fit`, on held-out rows and on some of the others.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dsnc.checks import whole
from dsnc.classifier.learned import LearnedClassifier, Run
from dsnc.classifier.texts import plain_settings
from dsnc.cluster.connection import check_nodes, connected, take_workers
from dsnc.cluster.jobs import run_units
from dsnc.cluster.preparation import Prepared, Prepares, Preparing, collect, learn_reading
from dsnc.cluster.units import units_of
from dsnc.errors import CheckpointError, ClusterError, DataFileError, InputError, require
from dsnc.files import write_whole
from dsnc.model import SetModel
from dsnc.progress import every, progress_bar
from dsnc.training.settings import RunSettings

if TYPE_CHECKING:
    from dsnc.cluster.lessons import Lesson

PLAN = "plan.json"
_TEXTS = 200_000  # that decide on features
_FAILURES = 3  # lost workers after which a run is given up
Some = TypeVar("Some", bound=LearnedClassifier)


def fit(
    estimator: Some,
    source: str | os.PathLike[str],
    *,
    storage: str | os.PathLike[str],
    ray: str = "auto",
    workers: int | None = None,
    cpus_per_worker: int = 1,
    finish_rows: int = 500_000,
    rows_per_part: int = 1 << 18,
    verbose: bool = False,
    **table: Any,
) -> Some:
    """Fit an estimator with torch on a Ray cluster, to rows that no single process holds.

    Workers see the same batches as a single process with the same seed and batch size. Calling this
    again with the same storage resumes after the last completed epoch.

    Parameters
    ----------
    estimator : DSNCClassifier or a baseline that torch trains
        For one label per row, without a regularizer (`beta` and `gamma`). `batch_size` is that of
        all workers together, and is made divisible by their number.
    source : str or path
        Parquet, CSV, TSV or JSON lines with labels: a file, a folder, or an address.
    storage : path
        A folder that all nodes and this process share, for prepared rows and the checkpoint.
    ray, cpus_per_worker
        As in `dsnc.cluster.predict`.
    workers : int, optional
        Number of processes that train; by default, as many as the cluster has room for.
    finish_rows : int, default 500000
        How many training rows, drawn at random, decide the scaling and are used to choose the
        decoder and the second stage. If there are no more rows than that, the result is the same as
        that of `estimator.fit`.
    rows_per_part, verbose, **table
        As in `dsnc.cluster.predict`; ``label_column`` and other options of tables.

    Returns
    -------
    estimator
        The estimator itself, fitted.
    """
    settings = _checked(estimator)
    whole("finish_rows", finish_rows)
    folder = Path(storage).expanduser().resolve()
    units = units_of(source, whole("rows_per_part", rows_per_part))
    reading, features = learn_reading(units, table, estimator.text, _TEXTS)
    job = Preparing(str(folder / "rows"), units, reading, features)
    digest = _claim(folder, job, estimator)
    with connected(ray, "dsnc.cluster.fit") as cluster, estimator._all_or_nothing():
        check_nodes(cluster, folders=[folder])
        n_workers = take_workers(cluster, workers, cpus_per_worker)
        _prepare(cluster, job, n_workers, cpus_per_worker, verbose)
        prepared = collect(job)
        settings = replace(settings, checkpoint=str(folder / "checkpoint"), verbose=False)
        with tempfile.TemporaryDirectory(prefix="dsnc-") as near:
            from dsnc.cluster.lessons import make_lesson  # brings torch with it

            lesson = make_lesson(
                estimator, settings, prepared, n_workers, finish_rows, digest, Path(near)
            )
            estimator._check_rows_and_labels(
                lesson.sample.X, prepared.labels.of(lesson.sample.targets.classes)
            )
            _train(cluster, lesson, folder, cpus_per_worker, verbose)
            _finish(estimator, lesson, prepared, features)
        estimator.data_ |= {"columns": reading.columns.plain(), "rows": len(lesson.rows)}
    return estimator


def _checked(estimator: Any) -> RunSettings:
    """Return the settings of a run; refuse what a cluster cannot train."""
    require("torch", extra="torch", caller="dsnc.cluster.fit")
    if not isinstance(estimator, LearnedClassifier) or isinstance(estimator, SetModel):
        raise InputError(
            f"estimator={type(estimator).__name__}: a cluster trains only DSNCClassifier and "
            "baselines that use torch, with one label a row."
        )
    settings: Any = estimator._settings()
    if settings.beta or settings.gamma:
        raise InputError(
            f"beta={settings.beta}, gamma={settings.gamma}: the regularizer draws partners from "
            "all rows, which no worker has; use 0 on a cluster."
        )
    if getattr(settings, "trainer", "torch") == "fast":
        raise InputError("trainer='fast' is for one machine; use 'auto' or 'torch' on a cluster.")
    if settings.checkpoint is not None:
        raise InputError("checkpoint: on a cluster, checkpoints are kept in storage; leave it out.")
    checked: RunSettings = settings
    return checked


def _claim(folder: Path, job: Preparing, estimator: LearnedClassifier) -> str:
    """Return the digest of the rows; refuse a folder that holds others."""
    told = [
        [asdict(unit) for unit in job.units],
        job.reading.columns.plain(),
        asdict(job.reading.options),
        plain_settings(estimator.text),
    ]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]
    path = folder / PLAN
    if path.exists():
        if json.loads(path.read_text()) != {"digest": digest}:
            raise CheckpointError(
                f"storage={str(folder)!r} holds rows from another source; choose another folder, "
                "or delete it."
            )
    else:
        write_whole(path, json.dumps({"digest": digest}).encode())
    return digest


def _prepare(ray: Any, job: Preparing, workers: int, cpus: int, verbose: bool) -> None:
    """Let the workers prepare the units that are not prepared yet."""
    left = [unit.number for unit in job.units if not job.part(unit.number).exists()]
    if not left:
        return
    n_workers = min(workers, len(left))
    found = run_units(Prepares, job, left, workers=n_workers, cpus=cpus)
    with progress_bar(len(job.units), verbose, "part") as advance:
        for done, one in enumerate(found, len(job.units) - len(left) + 1):
            if one["problem"]:
                raise DataFileError(one["problem"])
            advance(done, "prepared")
    take_workers(ray, workers, cpus)  # those of before are gone


def _work(config: dict[str, Any]) -> None:
    """Train in a worker of Ray Train, which has made it a process among others."""
    import ray

    from dsnc.cluster.lessons import learn
    from dsnc.training.world import join_world

    lesson: Lesson = ray.get(config["lesson"][0])
    board = config["board"]

    def tell(progress: Any) -> None:
        board.tell.remote(progress.epoch.epoch, str(progress.epoch))

    world = join_world(lesson.settings.device)
    callbacks = (*lesson.settings.callbacks, *((tell,) if world.is_first else ()))
    lesson = replace(lesson, settings=replace(lesson.settings, callbacks=callbacks))
    near = Path(tempfile.mkdtemp(prefix="dsnc-"))
    try:
        learn(lesson, world, near)
    finally:
        shutil.rmtree(near, ignore_errors=True)


class _Board:
    """Where the first worker says how far it is."""

    def __init__(self) -> None:
        self._epoch, self._text = 0, ""

    def tell(self, epoch: int, text: str) -> None:
        self._epoch, self._text = epoch, text

    def read(self) -> tuple[int, str]:
        return self._epoch, self._text


def _train(ray: Any, lesson: "Lesson", folder: Path, cpus: int, verbose: bool) -> None:
    """Let the workers train; those that are lost are started anew, from the last checkpoint."""
    train = require("ray.train", extra="ray", caller="dsnc.cluster.fit")
    torch = require("ray.train.torch", extra="ray", caller="dsnc.cluster.fit")
    device, n_gpus = lesson.settings.device, ray.cluster_resources().get("GPU", 0)
    gpu = device.startswith("cuda") or (device == "auto" and n_gpus >= lesson.shards)
    each = {"CPU": cpus, "GPU": 1} if gpu else {"CPU": cpus}
    board = ray.remote(num_cpus=0)(_Board).remote()
    trainer = torch.TorchTrainer(
        _work,
        train_loop_config={"lesson": [ray.put(lesson)], "board": board},
        torch_config=torch.TorchConfig(backend="nccl" if gpu else "gloo"),
        scaling_config=train.ScalingConfig(
            num_workers=lesson.shards,
            use_gpu=gpu,
            resources_per_worker=each,
        ),
        run_config=train.RunConfig(
            name="ray",
            storage_path=str(folder),
            # The other limit is of starts that find no room: by default Ray tries forever.
            failure_config=train.FailureConfig(
                max_failures=_FAILURES, controller_failure_limit=_FAILURES
            ),
        ),
    )
    epochs = lesson.settings.max_epochs
    n_epochs = lesson.settings.epochs if isinstance(epochs, str) else int(epochs)
    with progress_bar(n_epochs, verbose, "epoch") as advance:
        try:
            with every(0.5, partial(_show, ray, board, advance)):
                trainer.fit()
        except Exception as error:
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise ClusterError(f"Training failed: {lines[-1] if lines else error}") from error


def _show(ray: Any, board: Any, advance: Any) -> None:
    """Show what the board says; if it cannot be read now, the next time will do."""
    with contextlib.suppress(Exception):
        advance(*ray.get(board.read.remote(), timeout=5))


def _finish(estimator: Any, lesson: "Lesson", prepared: Prepared, features: Any) -> None:
    """Take what the checkpoint holds, and choose decoder, second stage and calibration."""
    from dsnc.cluster.lessons import examples_of, learner_of
    from dsnc.training.history import History
    from dsnc.training.torch_checkpoint import TorchCheckpoint

    examples = examples_of(lesson, None, 0)
    run = lesson.settings, lesson.seed, lesson.targets.n_classes, examples, lesson.held_out
    stored = TorchCheckpoint.of_run(*run)
    state = None if stored is None else stored.load()
    if state is None:
        raise ClusterError("Training left no checkpoint: no epoch was completed in time.")
    learner = learner_of(lesson)
    learner.objective.load_state_dict(state["best"] or state["model"])
    learner.objective.eval()
    history = History.from_dict(state["history"])
    estimator._finish(
        Run(learner, lesson.sample, lesson.held_out), prepared.labels, history, features
    )
