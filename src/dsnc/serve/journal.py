"""The journal of a model: changes of its classes that its folder does not have yet.

It is a folder beside the model's, ``NAME.journal``, with

- ``changes``: a line for each change, on the disk before the change is acknowledged;
- ``VERSION/NAME``: the model as it is after the last of them, for all workers to read;
- ``current``: the version that every answer must have, and the one that comes next, in memory that
  all workers share;
- ``reader-...``: the version that a worker has read, so that it need not wait when that comes; it
  is locked for as long as the worker lives;
- ``lock``: who holds it may write.

The lines are the truth. What a power failure leaves of the last one is found by its checksum; the
model can be made again from the folder and the lines.
"""

import contextlib
import errno
import fcntl
import json
import mmap
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dsnc.files import sync_folder
from dsnc.serve.refusals import busy

_CHECKSUM = 8  # hexadecimal digits, and a space
_VERSION = 8  # bytes
_AGAIN = 0.02  # seconds between two looks at what others do
_READER = "reader-"


class Change(NamedTuple):
    """A change, as a client sent it."""

    kind: str  # "add" or "remove"
    body: str  # of the request
    before: str  # version that was changed
    version: str  # that came of it


class Lines(NamedTuple):
    """What the lines say."""

    changes: list[Change]
    end: int  # bytes of them
    is_damaged: bool  # whether there is more behind what can be read than half a line

    @property
    def versions(self) -> set[str]:
        """All versions that there were: of the folder, and after each change."""
        return {change.before for change in self.changes} | {c.version for c in self.changes}


class Journal:
    """The files of a journal; all but `current` and `n_bytes` are for who holds the lock."""

    def __init__(self, model: Path) -> None:
        self.name = model.name
        self.folder = model.with_name(f"{model.name}.journal")
        self._file = self.folder / "changes"
        self._shared: mmap.mmap  # when it is open
        self._reader: tuple[int, Path] | None = None

    @property
    def exists(self) -> bool:
        """Whether there is one."""
        return self._file.exists()

    def open(self) -> None:
        """Make the files that are not there yet; they hold rows of clients and are private."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(self.folder / "current", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(handle, 2 * _VERSION)
            self._shared = mmap.mmap(handle, 2 * _VERSION)
        finally:
            os.close(handle)
        self._file.touch(mode=0o600)
        sync_folder(self.folder)
        sync_folder(self.folder.parent)

    @property
    def current(self) -> str:
        """The version that every answer must have."""
        return self._shared[:_VERSION].hex()

    @current.setter
    def current(self, version: str) -> None:
        self._shared[:_VERSION] = bytes.fromhex(version)

    @property
    def coming(self) -> str:
        """The version that will be current next, if nothing goes wrong."""
        return self._shared[_VERSION:].hex()

    @coming.setter
    def coming(self, version: str) -> None:
        self._shared[_VERSION:] = bytes.fromhex(version)

    def has_read(self, version: str | None) -> None:
        """Say that this process has read a version; None if it will not read any more."""
        if self._reader is None:
            if version is None:
                return
            handle, name = tempfile.mkstemp(prefix=_READER, dir=self.folder)
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._reader = handle, Path(name)
        handle, path = self._reader
        if version is not None:
            os.pwrite(handle, version.encode(), 0)
        else:
            path.unlink(missing_ok=True)
            os.close(handle)
            self._reader = None

    def wait_for_readers(self, version: str, seconds: float) -> None:
        """Wait until all other workers have read a version, or for a while."""
        end = time.monotonic() + seconds
        own = None if self._reader is None else self._reader[1]
        for path in self.folder.glob(f"{_READER}*"):
            while path != own and not _is_over(path, version) and time.monotonic() < end:
                time.sleep(_AGAIN)

    @contextlib.contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        """Hold the lock; whoever does not get it in time is sent away. A killed holder has none."""
        end = time.monotonic() + seconds
        with (self.folder / "lock").open("ab") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise busy("Other classes are being changed.") from None
                    time.sleep(_AGAIN)
            yield

    @property
    def n_bytes(self) -> int:
        """Bytes of all lines."""
        return self._file.stat().st_size

    @property
    def age(self) -> float:
        """Seconds since the last change."""
        return time.time() - self._file.stat().st_mtime

    def read(self) -> Lines:
        """Read the lines, as far as they are whole."""
        data, changes, end = self._file.read_bytes(), [], 0
        while (stop := data.find(b"\n", end) + 1) and (change := _parsed(data[end:stop])):
            changes.append(change)
            end = stop
        return Lines(changes, end, b"\n" in data[end:])

    def append(self, change: Change) -> None:
        """Write a line through to the disk, or leave everything as it was."""
        text = json.dumps(change._asdict()).encode()
        line = b"%08x %s\n" % (zlib.crc32(text), text)
        _, end, is_damaged = self.read()
        if is_damaged:  # to write over it would lose what may be needed to mend it
            raise OSError(errno.EIO, f"{self._file} is damaged; restart the service")
        with self._file.open("r+b", buffering=0) as file:
            file.truncate(end)
            file.seek(end)
            try:
                left = memoryview(line)
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(end)
                raise

    def clear(self) -> Path | None:
        """Begin anew: all changes are in the folder. Where some cannot be read, set them aside."""
        if self.read().is_damaged:
            return self.set_aside()
        with self._file.open("r+b") as file:
            file.truncate(0)
            os.fsync(file.fileno())
        self.keep_models(None)
        return None

    def set_aside(self) -> Path:
        """Keep the lines under another name, and begin anew."""
        aside = self.folder / time.strftime("changes-%Y%m%d-%H%M%S", time.gmtime())
        while aside.exists():
            aside = aside.with_name(f"{aside.name}x")
        self._file.rename(aside)
        self._file.touch(mode=0o600)
        sync_folder(self.folder)
        self.keep_models(None)
        return aside

    def model(self, version: str) -> Path:
        """Return where the model is after a change; it may be gone when it is looked for."""
        return self.folder / version / self.name

    def keep_models(self, version: str | None) -> None:
        """Remove all models but one."""
        for path in self.folder.iterdir():
            if path.is_dir() and path.name != version:
                shutil.rmtree(path, ignore_errors=True)


def _is_over(path: Path, version: str) -> bool:
    """Tell whether a reader has read a version, or is no more."""
    try:
        with path.open("rb") as file:
            if file.read() == version.encode():
                return True
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            path.unlink()
    except BlockingIOError:
        return False
    except FileNotFoundError:
        pass
    return True


def _parsed(line: bytes) -> Change | None:
    """Return the change of a line, or None if it is damaged."""
    checksum, text = line[:_CHECKSUM], line[_CHECKSUM + 1 : -1]
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    return Change(**json.loads(text))
