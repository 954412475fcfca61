"""Files and folders that are there whole or not at all.

They are written aside, under a hidden name, and renamed: whoever looks sees the old one or the
new, never half of one. What is `durable` is on the disk before it gets its name.
"""

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from dsnc.errors import InputError, OutputError, OutputExistsError


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
    pipe or ``/dev/null``, is not replaced but written to.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            if durable:
                sync(file)
        aside.chmod(0o644)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def whole_folder(target: Path, *, replace: bool = False, durable: bool = False) -> Iterator[Path]:
    """Yield a folder to fill, which takes its name when nothing has gone wrong.

    With `replace` a folder that is there may be replaced. The two are swapped in one step, so that
    `target` is one of them whenever the power fails. (Where the system cannot swap, there is a
    moment at which the old one is in ``.NAME-*.old`` and nothing in `target`.) What is `durable`
    has its names on the disk at the end; the files are for the caller to sync.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{target.name[:100]}-", dir=target.parent))
    try:
        yield aside
        aside.chmod(0o755)  # a temporary folder is private
        if durable:
            sync_folder(aside)
        _put(aside, target, replace=replace)
        if durable:
            sync_folder(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sync(file: IO[bytes]) -> None:
    """Bring what was written to the disk."""
    file.flush()
    os.fsync(file.fileno())


def _put(aside: Path, target: Path, *, replace: bool) -> None:
    """Give a folder its name, though somebody else may give it to another just now."""
    if not (replace and target.exists()):
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


def _swap(aside: Path, target: Path) -> None:
    """Give the new folder its name; afterwards `aside` is gone, or is the old folder."""
    if _exchange(aside, target):
        return
    old = aside.with_name(f"{aside.name}.old")
    os.rename(target, old)
    try:
        os.rename(aside, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


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
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
