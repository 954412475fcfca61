"""Files and folders that are there whole or not at all.

They are written aside, under a hidden name, and renamed: whoever looks sees the old one or the
new, never half of one. What is `durable` is on the disk before it gets its name.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from dsnc.errors import InputError, OutputError, OutputExistsError, warn

Replace = bool | Callable[[Path], bool]  # whether a folder that is there may be replaced


def write_whole(path: Path, content: bytes | Callable[[IO[bytes]], object]) -> Path:
    """Write bytes, or what a callable writes to the file; its folder is made, a file replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write(content) if isinstance(content, bytes) else content(file)
    except OSError as error:
        raise OutputError(f"{path} cannot be written {why(error, 'file')}.") from error
    return path


@contextlib.contextmanager
def locked(path: Path, doing: str) -> Iterator[None]:
    """Let one process at a time write `path`, or refuse to; one that is killed holds no lock.

    ``.NAME.lock`` beside it says which process holds it, and what that is `doing`. Its folder is
    made; one that cannot be written to is refused here, before there is anything to lose.
    """
    import fcntl  # here, as few need it

    target = Path(os.path.realpath(path))
    lock = target.with_name(f".{target.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a+", encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path} cannot be written {why(error)}.") from error
    with file:
        with contextlib.suppress(OSError):  # not every file system has locks
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read() or "Another process is writing"
                raise InputError(f"{holder} {path}. Wait until it has ended.") from None
        if not os.fstat(file.fileno()).st_nlink:
            raise OutputError(f"Another process has just written {path}; look at it first.")
        file.truncate(0)
        file.write(f"Process {os.getpid()} is {doing}")
        file.flush()
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


def why(error: Exception, place: str = "folder") -> str:
    """Say in parentheses why something cannot be written, and then what to do."""
    number = getattr(error, "errno", None)  # torch has none where the disk is full
    room = "" if number not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, None) else "free space or "
    reason = getattr(error, "strerror", None) or error
    return f"({reason}); {room}choose another {place}"


@contextlib.contextmanager
def whole_file(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file to write, which takes its name when nothing has gone wrong.

    A link stays, and its target is replaced. What is there and is not a regular file, such as a
    pipe or ``/dev/null``, is not replaced but written to. Whoever may read what is replaced may
    read the new one.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    aside = _beside(target)
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # less the umask
    try:
        with os.fdopen(handle, "wb") as file:
            _admit(aside, target)
            yield file
            if durable:
                sync(file)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_folder(
    target: Path, *, replace: Replace = False, durable: bool = False
) -> Iterator[Path]:
    """Yield a folder to fill, which takes its name when nothing has gone wrong.

    With `replace` a folder that is there may be replaced; a callable is asked about the very one
    that was, and where it says no, that one is put back. The two are swapped in one step, so that
    `target` is one of them whenever the power fails. (Where the system cannot swap, there is a
    moment at which the old one is in ``.NAME-*.old`` and nothing in `target`.) What is `durable`
    has its names on the disk at the end; the files are for the caller to sync.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = _beside(target)
    aside.mkdir(0o700 if target.exists() else 0o777)  # less the umask
    try:
        yield aside
        for file in aside.iterdir():
            _admit(file, target / file.name)
        _admit(aside, target)
        if durable:
            sync_folder(aside)
        _put(aside, target, replace=replace)
        if durable:
            try:
                sync_folder(target.parent)
            except OSError as error:
                what = "is written, but the disk does not confirm it"
                raise OutputError(f"{target} {what} ({error.strerror}).") from error
    finally:
        _remove(aside)


def _beside(target: Path) -> Path:
    """Return a hidden name that nobody else has."""
    return target.with_name(f".{target.name[:100]}-{secrets.token_hex(8)}")


def _admit(new: Path, target: Path) -> None:
    """Let those use what is new who may use what it will replace, if there is something."""
    if target.exists():
        new.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777)


def _remove(folder: Path) -> None:
    """Remove what is not wanted any more; who is left with it is told."""
    with contextlib.suppress(OSError):  # `rmtree` does not ignore all of them
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        warn(f"{folder} is of no use any more and could not be removed; delete it")


def copy_plain(source: Path, target: Path) -> None:
    """Copy a plain file, as long as it was when it was opened: pipes and devices have no end."""
    at_once = getattr(os, "O_NONBLOCK", 0)  # whoever opens a pipe waits for somebody to write
    with os.fdopen(os.open(source, os.O_RDONLY | at_once), "rb") as file, target.open("wb") as copy:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"{source.name} is no plain file")
        left = status.st_size
        while left and (piece := file.read(min(left, 1 << 20))):
            copy.write(piece)
            left -= len(piece)


def sync(file: IO[bytes]) -> None:
    """Bring what was written to the disk."""
    file.flush()
    os.fsync(file.fileno())


def _put(aside: Path, target: Path, *, replace: Replace) -> None:
    """Give a folder its name, though somebody else may give it to another just now."""
    if not (callable(replace) or (replace and target.exists())):
        try:
            aside.rename(target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            if not replace:
                raise OutputExistsError(
                    f"{target} exists; another process may have written it just now."
                ) from error
    _swap(aside, target)
    if callable(replace) and not replace(aside):
        _swap(aside, target)
        raise OutputExistsError(f"{target} was replaced by another process just now.")


def _swap(a: Path, b: Path) -> None:
    """Swap the names of two folders."""
    if _exchange(a, b):
        return
    old = a.with_name(f"{a.name}.old")
    os.rename(b, old)
    try:
        os.rename(a, b)
    except BaseException:
        os.rename(old, b)
        raise
    os.rename(old, a)


def _exchange(a: Path, b: Path) -> bool:
    """Swap two names in one step, where the system can; tell whether it did."""
    here, swap = -100, 2  # AT_FDCWD; RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
    import ctypes  # here, as few need it

    try:
        libc = ctypes.CDLL(None)
        if hasattr(libc, "renameat2"):
            return bool(libc.renameat2(here, os.fsencode(a), here, os.fsencode(b), swap) == 0)
        return bool(libc.renamex_np(os.fsencode(a), os.fsencode(b), swap) == 0)
    except (AttributeError, TypeError, OSError):
        return False


def sync_folder(folder: Path) -> None:
    """Make names durable; some file systems cannot, and keep them safe by other means."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:  # to be told of any other: names may be lost
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EACCES):
            raise
