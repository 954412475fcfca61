"""Download one file: whole or not at all, and never twice the same bytes.

While a file comes, its bytes lie in ``<name>.part`` and the server's mark of the version they
belong to (ETag or Last-Modified) in ``<name>.part.json``. A broken-off download goes on from
there: ``Range`` asks for the rest, ``If-Range`` makes the server send everything anew when the
file has changed meanwhile. The final name appears by one rename, after the checksum.

Two processes that want the same file take turns by a lock on ``.<name>.lock``: the second one
waits and then finds the file there. The system drops the lock of a process that dies, however it
dies, so that no stale lock can be left. (Windows has no such lock: fetch a file there once.)
"""

import errno
import hashlib
import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dsnc.errors import ChecksumError, DownloadError, DsncError, InputError

TRIES = 5  # in one call, each going on where the last one broke off
BACKOFF = 0.5  # seconds before the second try; doubled for each further one
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces
_CHUNK = 1 << 16  # a connection that is reset loses the piece under way

_log = logging.getLogger(__name__)
_Tick = Callable[[int, int | None], None]


def fetch_file(
    url: str,
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    sha256: str | None = None,
    size: int | None = None,
    progress: bool = True,
) -> Path:
    """Download a file into `folder`, unless it is there already, and return its path.

    It is called `name`, by default the last part of the URL, and must have `size` bytes and the
    checksum `sha256` where these are known; an unknown checksum is logged. The bar on stderr is
    drawn on a terminal only. A `ChecksumError` says that what came, or what was there, is not the
    file that was meant; a `DownloadError` why it cannot be had, and where to put it by hand.
    """
    name = name if name is not None else unquote(urlsplit(url).path).rpartition("/")[2]
    if not name or name in (".", "..") or re.search(r"[/\\]", name):
        raise InputError(f"name={name!r} for {url}: expected a plain file name.")
    target = Path(folder).absolute() / name
    job = _Download(url, target, sha256.lower() if sha256 else None, size)
    if not target.is_file():
        with job.disk_errors():
            target.parent.mkdir(parents=True, exist_ok=True)
            with _locked(target):
                if not target.is_file():  # another process may bring it while this one waits
                    job.fetch(progress)
                    return target
    job.check_present()
    return target


class _BrokenOff(Exception):
    """A try failed in a way that the next one may mend."""


class _Download:
    """One download: the bytes that came so far, and which version of the file they belong to."""

    def __init__(self, url: str, target: Path, sha256: str | None, size: int | None) -> None:
        self.url, self.target, self.sha256, self.size = url, target, sha256, size
        self.part = target.with_name(target.name + ".part")
        self.note = target.with_name(target.name + ".part.json")
        self.by_hand = f"Or put the file at {target} by hand, then run the same command again."
        self.reached = False  # has the server answered in this call?
        self.total: int | None = None

    def fetch(self, progress: bool) -> None:
        with _bar(self.target.name, progress) as tick:
            self._try_several_times(tick)
        found = _sha256(self.part)
        problem = self._mismatch(self.part, found)
        if problem is not None:
            self._discard()
            raise ChecksumError(
                f"{self.url}: the download is not the expected file: {problem}. It was "
                f"removed; run the same command to fetch it again. {self.by_hand}"
            )
        os.replace(self.part, self.target)
        self._discard()
        if self.sha256 is None:
            _log.info("%s has sha256 %s (its source states none)", self.target, found)

    def check_present(self) -> None:
        """Check the file that is there; it may be the user's own, so it is never replaced."""
        found = _sha256(self.target) if self.sha256 is not None else ""
        problem = self._mismatch(self.target, found)
        if problem is not None:
            raise ChecksumError(
                f"{self.target} is not the expected file: {problem}. Delete it and run the "
                f"same command to fetch it again from {self.url}."
            )

    def _mismatch(self, path: Path, found: str) -> str | None:
        n_bytes = path.stat().st_size
        if self.size is not None and n_bytes != self.size:
            return f"expected {self.size:,} bytes, found {n_bytes:,}"
        if self.sha256 is not None and found != self.sha256:
            return f"expected sha256 {self.sha256}, found {found}"
        return None

    def _try_several_times(self, tick: _Tick) -> None:
        for trial in range(1, TRIES + 1):
            try:
                self._try_once(tick)
                return
            except _BrokenOff as error:
                _log.info("%s, try %d of %d: %s", self.url, trial, TRIES, error)
                reason = str(error)
            if trial < TRIES:
                time.sleep(BACKOFF * 2 ** (trial - 1))
        of = f" of {self.total:,}" if self.total is not None else ""
        raise DownloadError(
            f"{self.url}: the download broke off {TRIES} times, the last time because "
            f"{reason}. {self._length():,}{of} bytes are kept in {self.part}; run the same command "
            f"again to continue from there. {self.by_hand}"
        )

    def _try_once(self, tick: _Tick) -> None:
        import requests

        start, validator, total = self._resume()
        if start and start == total:
            return  # a former call died between the last byte and the rename
        headers = {"Accept-Encoding": "identity"}  # bytes on disk = bytes on the wire
        if start:
            headers["Range"] = f"bytes={start}-"
            if validator:
                headers["If-Range"] = validator
        try:
            with requests.get(self.url, headers=headers, stream=True, timeout=TIMEOUT) as response:
                self.reached = True
                self._receive(response, start, tick)
        except (requests.ConnectionError, requests.Timeout) as error:
            if self.reached:
                raise _BrokenOff(f"the connection was lost ({_root(error)})") from error
            raise DownloadError(
                f"{self.url} cannot be reached ({_root(error)}). Check the network and run the "
                f"same command again. {self.by_hand}"
            ) from error
        except requests.RequestException as error:
            raise DownloadError(f"{self.url} cannot be fetched: {error}. {self.by_hand}") from error

    def _receive(self, response: Any, start: int, tick: _Tick) -> None:
        status = response.status_code
        begin, total = _extent(response)
        if start and status == 416 and total == start:
            return  # nothing is missing: the length was not known before
        if start and (status == 416 or (status == 206 and begin != start)):
            self._discard()
            raise _BrokenOff(f"the server cannot continue from byte {start:,}; starting over")
        if status == 429 or status >= 500:
            raise _BrokenOff(f"the server answered {status} {response.reason}")
        if status != 200 and not (start and status == 206):
            raise DownloadError(
                f"{self.url}: the server answered {status} {response.reason}. Open the address in "
                f"a browser: the file may have moved, or need a login. {self.by_hand}"
            )
        if self.size is not None and total not in (None, self.size):
            self._discard()
            raise ChecksumError(
                f"{self.url}: expected {self.size:,} bytes, found {total:,}: the source now "
                f"has a different file. {self.by_hand}"
            )
        self.total = total if total is not None else self.size
        if status == 200:
            self._begin(_validator(response))
        self._write(response, tick)

    def _write(self, response: Any, tick: _Tick) -> None:
        import urllib3

        done = self._length()
        try:
            with self.part.open("ab") as out:
                tick(done, self.total)
                for chunk in response.raw.stream(_CHUNK, decode_content=False):
                    out.write(chunk)
                    done += len(chunk)
                    tick(done, self.total)
        except urllib3.exceptions.HTTPError as error:
            raise _BrokenOff(f"the connection was lost ({_root(error)})") from error
        if self.total is not None and done < self.total:
            raise _BrokenOff(f"the server sent only {done:,} of {self.total:,} bytes")

    def _length(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _begin(self, validator: str | None) -> None:
        # Empty the file first: old bytes must never stand beside a new note.
        self.part.write_bytes(b"")
        note = {"url": self.url, "validator": validator, "total": self.total}
        self.note.write_text(json.dumps(note), encoding="utf-8")

    def _resume(self) -> tuple[int, str | None, int | None]:
        """Return (first missing byte, validator, total); 0 when the bytes cannot be told apart."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            url, validator, total = note["url"], note["validator"], note["total"]
        except (OSError, ValueError, KeyError, TypeError):
            return 0, None, None
        length = self._length()
        # A known checksum judges in the end, and needs no validator.
        if url != self.url or not (validator or self.sha256 or length == total):
            return 0, None, None
        return length, validator, total

    def _discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    @contextmanager
    def disk_errors(self) -> Iterator[None]:
        """Say what the disk refuses, and what to do."""
        try:
            yield
        except DsncError:
            raise
        except OSError as error:
            folder, done = self.target.parent, self._length()
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                more = "an unknown number of" if self.total is None else f"{self.total - done:,}"
                raise DownloadError(
                    f"The disk of {folder} is full: {self.target.name} needs {more} more bytes. "
                    f"Free some space, or set DSNC_HOME to a folder on another disk, and run the "
                    f"same command again; the {done:,} bytes downloaded so far are kept."
                ) from error
            raise DownloadError(
                f"{self.target} cannot be written: {error}. Make {folder} writable, or set "
                "DSNC_HOME to another folder, and run the same command again."
            ) from error


def _extent(response: Any) -> tuple[int | None, int | None]:
    """Return (first byte, length of the whole file) as far as the server tells them."""
    match = re.match(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", response.headers.get("Content-Range", ""))
    if match:
        begin, total = match.groups()
        return int(begin) if begin else None, None if total == "*" else int(total)
    length = response.headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() and response.status_code == 200 else None


def _validator(response: Any) -> str | None:
    """Return the mark of the file's version; a weak ETag does not promise equal bytes."""
    etag: str | None = response.headers.get("ETag")
    if etag and not etag.startswith("W/"):
        return etag
    modified: str | None = response.headers.get("Last-Modified")
    return modified


def _root(error: BaseException) -> str:
    """Return the system's own reason, from under what requests and urllib3 wrap around it."""
    inner: BaseException | None = error
    while inner is not None and type(inner).__module__.startswith(("requests.", "urllib3.")):
        error, inner = inner, inner.__cause__ or inner.__context__
    if isinstance(inner, OSError):
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Hold the exclusive right to fetch `target`.

    The empty lock file stays: to remove one that another process has just opened is a race.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with target.with_name(f".{target.name}.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.info("another process is fetching %s; waiting for it", target)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems have no locks
            _log.warning(
                "%s cannot be locked (%s); do not fetch it twice at the same time", target, error
            )
        yield


@contextmanager
def _bar(name: str, enabled: bool) -> Iterator[_Tick]:
    """Yield ``tick(done, total)``, which moves a progress bar on stderr."""
    if not (enabled and sys.stderr.isatty()):
        yield lambda done, total: None
        return
    import rich.progress as rp
    from rich.console import Console

    text, size = rp.TextColumn("{task.description}"), rp.DownloadColumn()
    columns = (text, rp.BarColumn(), size, rp.TransferSpeedColumn(), rp.TimeRemainingColumn())
    with rp.Progress(*columns, console=Console(file=sys.stderr)) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
