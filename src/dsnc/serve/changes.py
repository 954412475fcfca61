"""Classes of a model come and go while it is served: one writer at a time, nothing lost.

A change is made on a copy of the model, which is written aside and read by all workers; then the
change is appended to the journal. From that moment on it has happened, and all workers answer so.
The changed model takes the place of the folder when nothing has been changed for a while.
"""

import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dsnc
from dsnc.errors import DsncError, InputError
from dsnc.persistence import adopt_model, is_part, read_model
from dsnc.serve.bodies import Rows, parse_labels, parse_object
from dsnc.serve.journal import Change, Journal, Lines
from dsnc.serve.refusals import Refused, busy
from dsnc.serve.served import Served, version_of

ADD, REMOVE = "add", "remove"
SAID = ("descriptions", "attributes")  # of classes without a row
STARTING = 100.0  # seconds that a worker waits for a change to be over before it starts
_PATIENCE = 20.0  # seconds that a change waits for another
_READING = 10.0  # seconds that it waits until all workers have read it
_QUIET = 2.0  # seconds without a change, after which the folder gets them all
_LARGE = 1 << 26  # bytes of a journal that does not wait for that
_AGAIN = 15.0  # seconds until a folder that cannot be written is tried again
_ATTEMPTS = 100  # to read a model that others may be replacing

Note = Callable[..., None]


class Changes:
    """Changes one model's classes, follows what other workers have changed, keeps its folder.

    All of it takes a while: call it in threads. Addresses have the name of the model; `note` writes
    a line to the log.
    """

    def __init__(self, name: str, path: Path, note: Note) -> None:
        self.name, self.path, self.note = name, path, note
        self.journal = Journal(path)
        self._estimator: tuple[str, Any] = "", None  # of which version
        self._read: Served | None = None  # the model that comes, or that has come
        self._own = ""  # the version that this worker has made
        self._folds_after = 0.0

    def open(self) -> None:
        """Begin: what was acknowledged and is not in the folder yet gets there first.

        What the folder holds then is read next, and told to `replaced`.
        """
        if not (self.journal.exists and self.journal.n_bytes):
            self._check_folder()
        self.journal.open()
        with self.journal.locked(STARTING), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.journal.n_bytes:
                self._fold()

    def _check_folder(self) -> None:
        """Refuse a folder that another cannot take the place of."""
        foreign = [file.name for file in self.path.iterdir() if not is_part(file)]
        if foreign:
            raise InputError(f"its folder holds {foreign[0]!r}, which is not part of a model")
        if not os.access(self.path, os.W_OK):
            raise InputError("its folder cannot be written")
        if os.path.ismount(self.path):
            raise InputError("its folder is mounted by itself; mount the folder above it")

    def change(
        self, served: Served, kind: str, body: str, most: int
    ) -> tuple[Served, dict[str, Any]]:
        """Add or remove classes, as a request says; return the changed model, and what was done.

        The body is ``{"inputs": [row, ...], "labels": [label, ...]}``, with descriptions or
        attributes in place of rows, or labels alone to remove them; it has `most` rows at most.
        """
        try:
            with self.journal.locked(_PATIENCE):
                served = self._present(served)
                version, estimator = self._estimator
                self._estimator = "", None  # it is lost if anything goes wrong
                if version != served.version:
                    estimator = dsnc.load(self._source(served.version))
                told = apply(estimator, kind, body, most)
                new = self._commit(served, estimator, kind, body)
                self._estimator = new.version, estimator
        except (OSError, DsncError) as error:
            self.note("not changed", level="error", model=self.name, error=str(error))
            raise busy("The change could not be written; nothing was changed.") from None
        facts = {name: len(value) for name, value in told.items() if isinstance(value, list)}
        self.note("changed", model=self.name, version=new.version, **facts)
        return new, told

    def _present(self, served: Served) -> Served:
        """Return the model of now, and see that its folder is still the one that we know."""
        lines = self.journal.read()
        is_told = not lines.changes or lines.changes[-1].version == self.journal.current
        if lines.end > _LARGE or not is_told:  # its writer was killed before it could tell others
            self._fold()
            lines = self.journal.read()
        served = self.newest(served)
        if self._on_disk() not in (lines.versions or {served.version}):
            raise busy("The folder of the model is being replaced.")
        return served

    def _commit(self, served: Served, estimator: Any, kind: str, body: str) -> Served:
        """Write the changed model aside, and the change to the journal; or leave nothing."""
        aside = Path(tempfile.mkdtemp(prefix=".new-", dir=self.journal.folder))
        try:
            estimator.save(aside / self.journal.name)
            version = version_of(aside / self.journal.name)
            place = self.journal.folder / version
            shutil.rmtree(place, ignore_errors=True)
            os.rename(aside, place)
            aside = place
            self._own = version
            self.journal.coming = version  # others begin to read it
            self._read = new = Served.read(self.name, self.path, place / self.journal.name)
            self.journal.wait_for_readers(version, _READING)
            self.journal.append(Change(kind, body, served.version, new.version))
        except BaseException:
            self.journal.coming = served.version
            shutil.rmtree(aside, ignore_errors=True)
            raise
        self.journal.current = new.version
        self.journal.keep_models(new.version)
        return new

    def prepare(self, served: Served) -> None:
        """Read a model that another worker is about to make the present one."""
        version = self.journal.coming
        if version == self._own:
            return  # this worker is the writer, and reads it
        if version != served.version and (self._read is None or self._read.version != version):
            self._read = Served.read(self.name, self.path, self.journal.model(version))
        self.journal.has_read(version)

    def newest(self, served: Served) -> Served:
        """Return the model as it was changed last, by whichever worker."""
        for _ in range(_ATTEMPTS):
            version = self.journal.current
            if version == served.version:
                return served
            if self._read is not None and self._read.version == version:
                return self._read
            try:
                new = Served.read(self.name, self.path, self._source(version))
            except (OSError, DsncError):  # replaced while it was read, maybe
                time.sleep(0.02)
                continue
            if new.version == version:
                return new
        raise busy("The classes were changed, but the changed model cannot be read yet.")

    def _source(self, version: str) -> Path:
        """Return the folder that holds a version: the journal's, or the model's own."""
        aside = self.journal.model(version)
        return aside if aside.exists() else self.path

    def _on_disk(self) -> str:
        try:
            return version_of(self.path)
        except OSError:
            return ""

    def fold(self, *, at_once: bool = False) -> None:
        """Bring the changes to the folder, if that is due."""
        now = time.monotonic()
        if now < self._folds_after and not at_once:
            return
        try:
            if not self.journal.n_bytes:
                self._estimator = "", None  # another worker has folded
            elif at_once or self.journal.age > _QUIET:
                with self.journal.locked(0):
                    self._fold()
        except Refused:
            pass  # somebody writes; this will be done later
        except (OSError, DsncError) as error:
            self._folds_after = now + _AGAIN
            self.note("not folded", level="error", model=self.name, error=str(error))

    def _fold(self) -> None:
        lines, on_disk = self.journal.read(), self._on_disk()
        if lines.changes:
            if on_disk not in lines.versions:
                return  # somebody else's, which nobody has read yet
            if on_disk != lines.changes[-1].version:
                adopt_model(self._changed_model(lines, on_disk), self.path)
            self.journal.current = version = version_of(self.path)
            self.note("folded", model=self.name, version=version, changes=len(lines.changes))
        if (aside := self.journal.clear()) is not None:
            self.note("journal damaged", level="error", model=self.name, kept=str(aside))
        self._estimator = "", None

    def _changed_model(self, lines: Lines, on_disk: str) -> Path:
        """Return the folder of the changed model; where it is lost, it is made again."""
        versions = [change.version for change in lines.changes]
        kept = self.journal.model(versions[-1])
        try:
            read_model(kept)
            return kept
        except (OSError, DsncError):
            pass
        estimator = dsnc.load(self.path)
        first = versions.index(on_disk) + 1 if on_disk in versions else 0
        for change in lines.changes[first:]:
            apply(estimator, change.kind, change.body)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=self.journal.folder)) / self.journal.name
        estimator.save(made)
        return made

    def knows(self) -> bool:
        """Tell whether the folder is one of those that the journal speaks of."""
        with self.journal.locked(_PATIENCE):
            return self._on_disk() in self.journal.read().versions

    def replaced(self, new: Served, patience: float = _PATIENCE) -> bool:
        """Let the model that was read from the folder be the present one; False if it is gone.

        Changes that were made to another model are set aside; those that were made to this one are
        newer than it.
        """
        with self.journal.locked(patience):
            if self._on_disk() != new.version:
                return False
            lines = self.journal.read()
            if new.version in lines.versions:
                return True
            if lines.changes:
                self._set_aside(lines, new.version)
            self._estimator, self._read = ("", None), None
            self.journal.current = new.version
        return True

    def _set_aside(self, lines: Lines, version: str) -> None:
        kept = self.journal.set_aside()
        self.note(
            "journal set aside",
            level="error",
            model=self.name,
            error="The folder was replaced before these changes, which are for another version, "
            "reached it. They are kept, but not applied.",
            changes=len(lines.changes),
            of_version=lines.changes[0].before,
            version=version,
            kept=str(kept),
        )


def apply(estimator: Any, kind: str, body: str, most: int = sys.maxsize) -> dict[str, Any]:
    """Make a change, or refuse it and change nothing; return what was done."""
    jobs, estimator.n_jobs = estimator.n_jobs, 1  # predictions need the other cores
    known = set(estimator.classes_.tolist())
    try:
        if kind == REMOVE:
            labels = parse_labels(parse_object(body.encode(), None))
            estimator.remove_classes(labels)
            return {"removed": labels}
        if any(f'"{name}"' in body for name in SAID):
            given = parse_object(body.encode(), None)
            if named := [name for name in SAID if name in given]:
                return _described(estimator, given, named[0], most, known)
        rows = Rows(estimator, most)
        labels = parse_labels(parse_object(body.encode(), rows), "inputs", rows.n)
        n_rows = rows.n
        estimator.add_classes(rows.take(), labels)
    except (DsncError, ValueError) as error:  # what scikit-learn says about rows
        raise Refused(400, _told(str(error))) from None
    finally:
        estimator.n_jobs = jobs  # it is a part of the model
    return {"added": _new(labels, known), "rows": n_rows}


def _described(
    estimator: Any, given: dict[str, Any], name: str, most: int, known: set[Any]
) -> dict[str, Any]:
    """Add classes from what is said of them."""
    said = given.pop(name)
    if not isinstance(said, list) or len(said) > most:
        raise Refused(400, f"{name} must be a list of at most {most:,}, one for each label.")
    labels = parse_labels(given, name, len(said))
    estimator.add_described_classes(labels, **{name: said})
    return {"added": _new(labels, known), "described": len(labels)}


def _new(labels: list[Any], known: set[Any]) -> list[Any]:
    return [label for label in dict.fromkeys(labels) if label not in known]


def _told(problem: str) -> str:
    """Return a message with the names that a client knows."""
    text = " ".join(problem.split())
    return re.sub(r"^X\b", "inputs", re.sub(r"^y\b", "labels", text))
