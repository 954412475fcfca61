"""Prediction on a cluster: rows come back in their order, with columns added, as Parquet files."""

import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dsnc.checks import whole
from dsnc.cluster.connection import check_nodes, connected, take_workers
from dsnc.cluster.jobs import run_units
from dsnc.cluster.places import Place, place
from dsnc.cluster.units import Reading, Unit, units_of
from dsnc.data.columns import split_options
from dsnc.errors import DataFileError, DsncError, OutputExistsError
from dsnc.model import FittedModel, columns_of, read_fitted
from dsnc.model.answers import UNREAD, Noticed, Question, columns_in, write_answers
from dsnc.persistence.layout import HEADER_FILE
from dsnc.progress import progress_bar

PLAN = "_plan.json"  # in the folder of the parts; readers of Parquet pass over the underscore


class Done(NamedTuple):
    """What a job did.

    Attributes
    ----------
    parts : int
        Number of files in the result.
    rows : int
        Rows that were predicted in this call, without those of parts that existed already.
    errors : int
        How many of these rows could not be read.
    resumed : int
        Parts that existed already.
    workers : int
        Number of actors that predicted.
    seconds : float
        How long the call took.
    noticed : Noticed
        How many of these rows have no text, number or known feature.
    """

    parts: int
    rows: int
    errors: int
    resumed: int
    workers: int
    seconds: float
    noticed: Noticed


@dataclass(frozen=True)
class Job:
    """All that a worker has to know."""

    model: str
    target: str
    units: list[Unit]
    reading: Reading
    question: Question
    batch: int
    skip_errors: bool
    n_jobs: int


def predict(
    model: str | os.PathLike[str],
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    ray: str = "auto",
    workers: int | None = None,
    cpus_per_worker: int = 1,
    top_k: int | None = None,
    reject_below: float | None = None,
    unknown: str | None = None,
    unknown_share: float = 0.05,
    skip_errors: bool = False,
    batch: int = 1024,
    rows_per_part: int = 1 << 18,
    verbose: bool = False,
    **table: Any,
) -> Done:
    """Predict on a Ray cluster: writes the rows of a source as Parquet, with columns added.

    Predictions are the same as on one machine. Parts are numbered in the order of the source; rows
    keep their order and all of their columns. Calling this again writes only the parts that are
    missing.

    Parameters
    ----------
    model : path
        The folder of a model, which all nodes can read at this path.
    source : str or path
        A file, a folder of files, or the address of either (``s3://bucket/rows``, or anything that
        pyarrow or fsspec can open). Parquet, CSV, TSV or JSON lines; other files are texts, one per
        line.
    target : str or path
        The folder, or its address, to write the parts to.
    ray : str, default "auto"
        "auto" for the cluster that this machine belongs to, "local" for this machine alone, or the
        address of a head node.
    workers : int, optional
        Number of actors that predict; by default, as many as the cluster has room for.
    cpus_per_worker : int, default 1
        Cores and threads of each actor.
    top_k, reject_below, unknown, unknown_share
        As the options of ``dsnc predict``.
    skip_errors : bool, default False
        Whether to continue past rows that cannot be read, with the reason in a column ``error``.
    batch : int, default 1024
        Number of rows to predict at a time.
    rows_per_part : int, default 262144
        Row groups of Parquet are combined into parts of up to this many rows. Any other file
        becomes one part.
    verbose : bool, default False
        Whether to show a progress bar on stderr.
    **table
        Options of tables, as in `dsnc.data.load_dataset`: ``text_column``, ``delimiter`` and so on.

    Returns
    -------
    Done
    """
    begin = time.monotonic()
    question = Question(top_k, reject_below, unknown, unknown_share)
    settings: Any = {"batch": batch, "skip_errors": skip_errors, "n_jobs": cpus_per_worker}
    job = make_job(model, source, target, question, rows_per_part, table, **settings)
    folder, units = place(job.target), job.units
    there = _resumed(folder, job)
    left = [unit.number for unit in units if unit.part not in there]
    rows, n_workers, noticed = 0, 0, Noticed()
    if left:
        with connected(ray, "dsnc.cluster.predict") as cluster:
            local = [Path(job.target)] if folder.is_local else []
            check_nodes(cluster, model=Path(job.model), folders=local)
            n_workers = take_workers(cluster, workers, cpus_per_worker, len(left))
            _write_plan(folder, job)
            found = run_units(Predicts, job, left, workers=n_workers, cpus=cpus_per_worker)
            with progress_bar(len(units), verbose, "part") as advance:
                done = len(units) - len(left)
                advance(done, "")
                for one in found:
                    if one["problem"]:
                        raise DataFileError(one["problem"])
                    rows, done = rows + one["rows"], done + 1
                    noticed.counts += one["noticed"]
                    advance(done, f"{rows:,} rows")
        folder.sweep()
    seconds = time.monotonic() - begin
    errors, resumed = noticed.counts[UNREAD], len(units) - len(left)
    return Done(len(units), rows, errors, resumed, n_workers, seconds, noticed)


def make_job(
    model: str | os.PathLike[str],
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    question: Question,
    rows_per_part: int,
    table: dict[str, Any],
    **settings: Any,
) -> Job:
    """Look at model and source, and return what is to be done; refuse what cannot be."""
    whole("batch", settings["batch"])
    path = Path(model).expanduser().resolve()
    loaded = _load(path)
    question = question.of(loaded)
    units = units_of(source, whole("rows_per_part", rows_per_part))
    reading = _reading(loaded, units[0], table)
    folder = place(target)
    name = folder.path if folder.is_local else folder.name
    return Job(str(path), name, units, reading, question, **settings)


class Predicts:
    """A worker: has the model, memory-mapped, and writes the part of a unit."""

    def __init__(self, job: Job) -> None:
        self._job, self._model = job, _load(Path(job.model))
        self._model.n_jobs = job.n_jobs
        self._target = place(job.target)

    def __call__(self, number: int) -> dict[str, Any]:
        """Predict the rows of a unit; what is wrong with them is said, as trying again is vain."""
        job, unit = self._job, self._job.units[number]
        told: dict[str, Any] = {"unit": number, "rows": 0, "noticed": {}, "problem": ""}
        try:
            with (
                job.reading.open(unit) as table,
                (self._target / unit.part).writing() as file,
            ):
                rows, noticed = write_answers(
                    self._model,
                    table,
                    job.reading.columns,
                    file,
                    job.question,
                    batch=job.batch,
                    skip_errors=job.skip_errors,
                    kind="parquet",
                )
        except (DsncError, TypeError, ValueError) as error:
            named = unit.name in str(error)
            return {**told, "problem": str(error) if named else f"{unit.name}: {error}"}
        return {**told, "rows": rows, "noticed": noticed.counts}


def _load(path: Path) -> FittedModel:
    """Load what predicts, as small as can be: scikit-learn only where the model needs it."""
    model = read_fitted(path)
    if model is not None:
        return model
    import dsnc

    loaded: FittedModel = dsnc.load(path)
    return loaded


def _reading(model: FittedModel, first: Unit, table: dict[str, Any]) -> Reading:
    """Decide by the first unit how all are read."""
    options, roles = split_options(table, "predict")
    options.check()
    known = columns_of(model)
    names = [*roles.names(), *(known.names if known else ())]
    reading, opened = Reading.like(first, options, names)
    return Reading(reading.options, reading.schema, columns_in(model, opened, roles))


def _resumed(folder: Place, job: Job) -> set[str]:
    """Return the parts that are there; refuse a folder that holds anything else."""
    names = folder.names()
    if PLAN in names:
        try:
            known = json.loads((folder / PLAN).read())
        except ValueError:
            known = None
        if known != _plan(job):
            raise OutputExistsError(
                f"{folder.name} holds parts of another source, model or set of options; choose "
                "another folder, or delete it."
            )
        return names
    foreign = sorted(name for name in names if not name.startswith("."))
    if foreign:
        raise OutputExistsError(
            f"{folder.name} holds {foreign[0]!r}; choose an empty folder for the parts."
        )
    return set()


def _plan(job: Job) -> dict[str, Any]:
    """Return what a folder of parts says of itself."""
    return {"format": 1, "digest": _digest(job), "parts": len(job.units)}


def _write_plan(folder: Place, job: Job) -> None:
    with (folder / PLAN).writing() as file:
        file.write(json.dumps(_plan(job)).encode())


def _digest(job: Job) -> str:
    """Return a short text that changes with whatever changes the parts."""
    header = hashlib.sha256((Path(job.model) / HEADER_FILE).read_bytes()).hexdigest()
    units = [asdict(unit) for unit in job.units]
    asked = asdict(job.question), asdict(job.reading.options), job.reading.columns.plain()
    told = json.dumps([header, units, asked, job.skip_errors], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:32]
