"""Classes of a model come and go while it is served: one writer at a time, nothing lost.

A change has happened when the model's folder holds it. It is made on a copy in memory, which is
saved in the folder's place, whole and on the disk; then all workers are told the new version, and
none answers with an older one. Changes that wait are made together: the folder is written once.
"""

import contextlib
import fcntl
import mmap
import os
import re
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import UNSET

import dsnc
from dsnc.errors import DsncError, InputError
from dsnc.model import SetModel
from dsnc.persistence import check_target
from dsnc.serve.bodies import Addition, Removal, Rows, parse
from dsnc.serve.limits import Limits, Refused, busy
from dsnc.serve.served import Served, version_of

ADD, REMOVE = "add", "remove"
SAID = ("descriptions", "attributes")  # of classes, in place of rows
_VERSION = 8  # bytes
_PATIENCE, _AGAIN = 20.0, 0.02  # seconds that a change waits for others, and between two looks
_REPLACED = "The folder of the model is being replaced."
_UNREAD = "The change is written, but cannot be read back yet; do not send it again."

Wish = tuple[str, bytes]  # the kind of a change, and the body of the request
Outcome = dict[str, Any] | Refused  # what was done, or why it was not


class Changes:
    """Changes one model's classes, and knows which version every answer must have.

    That version is in ``.NAME.serve`` beside the folder, in memory that all workers share; whoever
    holds its lock may write. All of it takes a while: call it in threads.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        check_target(path, overwrite=True)
        if os.path.ismount(path):
            raise InputError(f"{path} is mounted by itself; mount the folder above it")
        if not os.access(path, os.W_OK):
            raise InputError(f"{path} cannot be written")
        self._file = path.with_name(f".{path.name}.serve")
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(handle, _VERSION)
            self._shared = mmap.mmap(handle, _VERSION)
        finally:
            os.close(handle)
        self._estimator: tuple[str, Any] = "", None  # of which version

    @property
    def current(self) -> str:
        """The version that every answer must have."""
        return self._shared[:].hex()

    @current.setter
    def current(self, version: str) -> None:
        self._shared[:] = bytes.fromhex(version)

    @contextlib.contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        """Hold the lock; whoever does not get it in time is sent away. A killed holder has none."""
        end = time.monotonic() + seconds
        with self._file.open("ab") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise busy("Other classes are being changed.") from None
                    time.sleep(_AGAIN)
            yield

    def adopt(self, new: Served, seconds: float) -> bool:
        """Let all answer with a model that was read; False if the folder has another by now."""
        self._estimator = "", None  # it is of another version
        if self.current == new.version:
            return True
        with self.locked(seconds):
            if _version(self.path) != new.version:
                return False
            self.current = new.version
        return True

    def change(self, wishes: list[Wish], limits: Limits) -> tuple[Served | None, list[Outcome]]:
        """Make changes, as requests say; return the changed model, and what became of each.

        A body is ``{"inputs": [row, ...], "labels": [label, ...]}``, with descriptions or
        attributes in place of rows, or labels alone to remove them. Where all are refused, there is
        no changed model.
        """
        with self.locked(_PATIENCE):
            version, estimator = self.prepare()
            self._estimator = "", None  # it is lost if anything goes wrong
            outcomes = [_outcome(estimator, kind, body, limits) for kind, body in wishes]
            if all(isinstance(outcome, Refused) for outcome in outcomes):
                self._estimator = version, estimator
                return None, outcomes
            written = self._save(estimator, version)
            self._estimator = written, estimator
            try:
                new = Served.read(self.name, self.path, written)  # or what took its place since
            except (OSError, DsncError) as error:  # as where its copy finds no room
                raise Refused(503, _UNREAD) from error
            self.current = new.version
        return new, outcomes

    def prepare(self) -> tuple[str, Any]:
        """Return what can be changed, and its version; the first one takes a second to load."""
        version, known = _version(self.path), self._estimator  # another thread may let go of it
        if version and known[0] != version:
            known = version, dsnc.load(self.path)
        if not version or _version(self.path) != version:  # which of the two was loaded?
            raise busy(_REPLACED)
        self._estimator = known
        return known

    def _save(self, estimator: Any, version: str) -> str:
        """Write a changed model in the place of the one that it was made of; return its version."""
        from dsnc.classifier.files import save  # here, as it takes a second

        try:
            digest = save(estimator, self.path, overwrite=lambda old: _version(old) == version)
            return digest[: 2 * _VERSION]
        except DsncError as error:
            if _version(self.path) == version:
                raise
            raise busy(_REPLACED) from error


def _version(folder: Path) -> str:
    """Return the version of what a folder holds; nothing while it is replaced."""
    try:
        return version_of(folder)
    except OSError:
        return ""


def _outcome(estimator: Any, kind: str, body: bytes, limits: Limits) -> Outcome:
    """Make a change, or refuse it and change nothing."""
    jobs, estimator.n_jobs = estimator.n_jobs, 1  # predictions need the other cores
    try:
        if kind == REMOVE:
            labels = parse(body, Removal).labels
            estimator.remove_classes(labels)
            return {"removed": labels}
        return _added(estimator, parse(body, Addition), Rows(estimator, limits))
    except Refused as refused:
        return refused
    except (DsncError, ValueError) as error:  # what scikit-learn says about rows
        return Refused(400, _told(str(error)))
    finally:
        estimator.n_jobs = jobs  # it is a part of the model


def _added(estimator: Any, new: Addition, rows: Rows) -> dict[str, Any]:
    """Add classes from rows of them, or from what is said of them."""
    given = [name for name in ("inputs", *SAID) if getattr(new, name) is not UNSET]
    if len(given) != 1:
        raise Refused(400, f"Give labels, and one of inputs, {', '.join(SAID)} beside them.")
    (name,), beside = given, getattr(new, given[0])
    rows.check(len(beside))
    if len(new.labels) != len(beside):
        many = f"{len(new.labels):,} entries for {len(beside):,} {name}"
        raise Refused(400, f"labels has {many}; give one for each.")
    known = set(estimator.classes_.tolist())
    sets = [each if isinstance(each, list) else [each] for each in new.labels]
    if isinstance(estimator, SetModel):
        labels: list[Any] = sets
    elif any(isinstance(each, list) for each in new.labels):
        raise Refused(400, "labels has a list, but rows of this model have one label each.")
    else:
        labels = new.labels
    if name == "inputs":
        estimator.add_classes(rows.add_all(beside), labels)
    else:
        estimator.add_described_classes(labels, **{name: beside})
    added = [label for label in dict.fromkeys(chain.from_iterable(sets)) if label not in known]
    return {"added": added, "rows" if name == "inputs" else "described": len(beside)}


def _told(problem: str) -> str:
    """Return a message with the names that a client knows."""
    text = " ".join(problem.split())
    return re.sub(r"^X\b", "inputs", re.sub(r"^y\b", "labels", text))
