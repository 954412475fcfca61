"""Unpacking archives that may come from anywhere."""

import zipfile
import zlib
from pathlib import Path, PurePosixPath, PureWindowsPath

from dsnc.errors import DataFileError, DownloadError
from dsnc.files import whole_folder

_MOST = 100  # times its size that an archive may unpack to: text comes to some ten times


def unpack(archive: Path) -> Path:
    """Unpack a zip archive beside itself into a folder of its name, whole or not at all."""
    target = archive.with_suffix("")
    if target.is_dir():
        return target
    try:
        with whole_folder(target) as aside, zipfile.ZipFile(archive) as opened:
            members = opened.infolist()
            for member in members:
                _check_member(archive, member.filename)
            size = sum(member.file_size for member in members)
            if size > _MOST * max(archive.stat().st_size, 1 << 20):
                raise DataFileError.at(archive, f"would unpack to {size:,} bytes")
            opened.extractall(aside)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        raise DataFileError.at(
            archive,
            f"is not a readable zip archive ({error})",
            expected="the archive as published: delete this one and fetch it again",
        ) from error
    except OSError as error:
        if not target.is_dir():  # else another process was faster, with the same archive
            raise DownloadError(f"{archive} cannot be unpacked into {target}: {error}") from error
    return target


def _check_member(archive: Path, name: str) -> None:
    """Refuse a name that would leave the folder, on this system or another."""
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    if posix.is_absolute() or windows.anchor or ".." in (*posix.parts, *windows.parts):
        problem = "holds a file that would be written outside its folder"
        raise DataFileError.at(archive, problem, text=name)
