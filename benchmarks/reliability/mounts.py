"""Small disks and read-only ones, for this process and its children alone. Linux, and root."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NEW_MOUNTS = 0x00020000  # CLONE_NEWNS
_READ_ONLY, _REMOUNT, _PRIVATE = 0x1, 0x20, 0x4C000  # MS_RDONLY, MS_REMOUNT, MS_REC | MS_PRIVATE


def alone() -> None:
    """Give this process mounts of its own, which vanish with it."""
    _call("unshare", _NEW_MOUNTS)
    _call("mount", b"none", b"/", None, _PRIVATE, None)


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[None]:
    """Make a folder a disk of this size."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={kilobytes}k,mode=0777".encode()
    _call("mount", b"none", os.fsencode(folder), b"tmpfs", 0, size)
    try:
        yield
    finally:
        _call("umount2", os.fsencode(folder), 2)  # MNT_DETACH: a reader may still have it open


def make_read_only(folder: Path) -> None:
    """Let nobody write to a disk that `small_disk` made."""
    _call("mount", b"none", os.fsencode(folder), None, _REMOUNT | _READ_ONLY, None)


def _call(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
