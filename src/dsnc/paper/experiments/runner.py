"""Runs definitions in worker processes, skips what exists, and loses nothing.

A run that fails leaves a record that says so, and the others continue; it is tried again next time.
A worker that dies (out of memory, for example) is replaced. Whatever ends the command, what is
finished is kept, the same command continues from there, and what it cut short goes on from its
last epoch.
"""

import multiprocessing
import os
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from dsnc.checks import whole
from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.record import Record, read_record, write_record
from dsnc.progress import counting_bar, duration, heartbeat

Report = Callable[[Definition, str | None], None]  # a run begins (None), or ended: its error, or ""
_FINISH_S = 5.0  # that a worker may take to end


def run_all(
    definitions: Iterable[Definition],
    runs: str | os.PathLike[str],
    *,
    n_jobs: int = 1,
    progress: bool = False,
) -> list[Record]:
    """Run the definitions that have no record yet; return all records, including failed ones.

    Parameters
    ----------
    definitions : iterable of Definition
        Of equal ones, the first counts.
    runs : path
        The folder of the records; it is created.
    n_jobs : int, default 1
        Number of worker processes. They share the cores, so measured times are those of one run at
        a time only with ``n_jobs=1``.
    progress : bool, default False
        Whether to show a progress bar on stderr; without a terminal, a line a minute.
    """
    whole("n_jobs", n_jobs)
    folder = Path(runs)
    wanted: dict[str, Definition] = {}
    for definition in definitions:
        wanted.setdefault(definition.digest, definition)
    missing = [d for d in wanted.values() if not _is_done(d, folder)]
    with _bar(len(missing), len(wanted), enabled=progress) as report:
        errors = _work(missing, folder, min(n_jobs, len(missing)), report)
    records = []
    for digest, definition in wanted.items():
        record = read_record(definition.folder(folder))
        if record is not None:
            # What is not part of the digest, such as `beside`, is as this call has it.
            error = errors.get(digest, record.error)
            records.append(replace(record, definition=definition, error=error))
    return records


def _is_done(definition: Definition, runs: Path) -> bool:
    record = read_record(definition.folder(runs))
    if record is None or record.error:
        return False
    is_whole = "y" in record.arrays and (record.has_decoders or not definition.keep_decoders)
    return definition.trial or is_whole


def _work(definitions: list[Definition], runs: Path, n_jobs: int, report: Report) -> dict[str, str]:
    """Let `n_jobs` threads each lead a worker process; return what went wrong, by digest."""
    n_threads = max(1, (os.cpu_count() or 1) // max(1, n_jobs))
    workers = [Worker(runs, n_threads) for _ in range(n_jobs)]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def lead(definition: Definition) -> tuple[Definition, str]:
        worker = idle.get()
        report(definition, None)
        try:
            return definition, worker.run(definition)
        finally:
            idle.put(worker)

    errors: dict[str, str] = {}
    threads = ThreadPoolExecutor(max(1, n_jobs))
    try:
        for done in as_completed([threads.submit(lead, one) for one in definitions]):
            definition, error = done.result()  # a full disk, say, ends everything
            if error:
                errors[definition.digest] = error
            report(definition, error)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.end()
        threads.shutdown()
    return errors


class Worker:
    """A process that runs definitions one after the other, and is replaced when it dies."""

    def __init__(self, runs: Path, n_threads: int) -> None:
        self._runs, self._threads = runs, n_threads
        self._process: Any = None
        self._line: Any = None
        self._ended = False

    def run(self, definition: Definition) -> str:
        """Run a definition; return what went wrong, or an empty string."""
        try:
            if self._process is None:
                self._start()
            self._line.send(definition)
            error: str = self._line.recv()
        except (EOFError, OSError) as problem:
            if self._ended:  # by us: no failure of the run
                return ""
            error = self._last_words(problem)
        if error:
            self._keep(definition, error)
        return error

    def _last_words(self, problem: Exception) -> str:
        """Say how the process ended, and forget it."""
        process, self._process = self._process, None
        if process is None:
            return f"no process could be started: {problem}"
        process.join(_FINISH_S)
        process.kill()
        code = process.exitcode
        how = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit {code}"
        return f"the process died ({how}); out of memory?"

    def _keep(self, definition: Definition, error: str) -> None:
        """Write down a failure, but never over a run that came to its end before."""
        before = read_record(definition.folder(self._runs))
        if before is None or before.error:
            write_record(Record(definition, error=error), {}, self._runs)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._ended = True
        if self._process is not None:
            self._process.kill()
            self._process.join(_FINISH_S)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # CUDA and threads do not survive a fork
        self._line, theirs = context.Pipe()
        arguments = (theirs, str(self._runs), self._threads)
        process = context.Process(target=serve, args=arguments, daemon=True)
        process.start()
        self._process = process
        if self._ended:  # while it started
            process.kill()
        theirs.close()  # so that the end of the process is the end of the line


def serve(line: Connection, runs: str, n_threads: int) -> None:
    """Run what comes down the line; answer each with its error, or an empty string."""
    import torch
    from threadpoolctl import threadpool_limits

    from dsnc.paper.experiments.trial import run

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(n_threads)
    with threadpool_limits(n_threads):
        while True:
            try:
                definition = line.recv()
            except EOFError:
                return
            try:
                run(definition, Path(runs))
                line.send("")
            except Exception:  # whatever it is, it goes into the record
                line.send(traceback.format_exc())


def _end_with_parent() -> None:
    """Leave no process behind, however the parent ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _bar(n_missing: int, n_all: int, *, enabled: bool) -> Iterator[Report]:
    """Yield what takes note of a run that ended; draws on stderr if enabled."""
    if not enabled or not n_missing:
        yield lambda definition, error: None
        return
    import rich.progress as rp

    columns = (
        rp.TimeElapsedColumn(),
        rp.TextColumn("left"),
        rp.TimeRemainingColumn(elapsed_when_finished=False),
        rp.TextColumn("{task.description}", markup=False),
    )
    with counting_bar("runs", *columns) as bar:
        task = bar.add_task("", total=n_all, completed=n_all - n_missing)

        def report(definition: Definition, error: str | None) -> None:
            if error is None:
                bar.update(task, description=definition.title)
                return
            bar.advance(task)
            if error:
                line = f"failed: {definition.title}: {error.splitlines()[-1]}"
                bar.console.print(line, markup=False)

        def line() -> str:
            shown = bar.tasks[0]
            time = duration(shown.elapsed or 0.0)
            return f"{shown.completed:.0f} of {n_all:,} runs, {time}: {shown.description}"

        with heartbeat(line):
            yield report
