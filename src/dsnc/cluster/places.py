"""Files wherever they are: on a disk, or in an object store by its address."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from dsnc.errors import DataFileError, InputError, OutputError, require


@dataclass(frozen=True)
class Place:
    """A file or folder: its file system, as pyarrow has it, and its path there."""

    system: Any
    path: str
    name: str  # as the user calls it

    @property
    def is_local(self) -> bool:
        """Whether programs can open it by its path."""
        return bool(self.system.type_name == "local")

    def __truediv__(self, name: str) -> "Place":
        """Return a place inside."""
        known, mark, options = self.name.partition("?")  # of an address: region, endpoint
        inside = f"{known.rstrip('/')}/{name}{mark}{options}"
        return Place(self.system, f"{self.path.rstrip('/')}/{name}", inside)

    def files(self) -> "list[Place]":
        """Return the files that are meant, in order: this one, or all in this folder.

        Names that begin with a dot or an underscore are not data.
        """
        fs = require("pyarrow.fs", extra="ray", caller="dsnc.cluster")
        info = self._info(fs)
        if info.type == fs.FileType.File:
            return [self]
        if info.type == fs.FileType.NotFound:
            raise DataFileError.at(self.name, "does not exist", expected="a file or a folder")
        found = self.system.get_file_info(fs.FileSelector(self.path, recursive=True))
        paths = sorted(one.path for one in found if one.type == fs.FileType.File)
        root = self.path.rstrip("/")
        inside = [path[len(root) + 1 :] for path in paths]
        kept = [name for name in inside if not any(p[0] in "._" for p in name.split("/") if p)]
        if not kept:
            raise DataFileError.at(self.name, "has no files", expected="rows to predict")
        return [self / name for name in kept]

    def names(self) -> set[str]:
        """Return the names of the files directly in this folder; none where there is none."""
        fs = require("pyarrow.fs", extra="ray", caller="dsnc.cluster")
        selector = fs.FileSelector(self.path, allow_not_found=True)
        found = self.system.get_file_info(selector)
        return {one.base_name for one in found if one.type == fs.FileType.File}

    def size(self) -> int:
        """Return the size of a file in bytes."""
        fs = require("pyarrow.fs", extra="ray", caller="dsnc.cluster")
        return int(self._info(fs).size or 0)

    def _info(self, fs: Any) -> Any:
        try:
            return self.system.get_file_info([self.path])[0]
        except OSError as error:
            raise DataFileError.at(self.name, f"cannot be reached ({error})") from error

    def open(self) -> Any:
        """Return the file, to be read at any place of it."""
        return self.system.open_input_file(self.path)

    def read(self) -> bytes:
        """Return all of a file."""
        with self.open() as file:
            return bytes(file.read())

    @contextmanager
    def writing(self) -> Iterator[IO[bytes]]:
        """Yield a file to write, which is there whole when nothing has gone wrong, or not at all.

        Of two that write the same file at the same time, the last one stays.
        """
        folder, _, name = self.path.rpartition("/")
        aside = f"{folder}/.{name}-{uuid.uuid4().hex[:8]}"
        try:
            self.system.create_dir(folder, recursive=True)
            with self.system.open_output_stream(aside) as file:
                yield file
            self.system.move(aside, self.path)
        except OSError as error:
            raise OutputError(f"{self.name} cannot be written ({error}).") from error

    def sweep(self) -> None:
        """Remove what writers left that were killed."""
        for name in self.names():
            if name.startswith(".part-"):
                self.system.delete_file((self / name).path)


def place(name: str | os.PathLike[str]) -> Place:
    """Return where a path or an address such as ``s3://bucket/rows`` leads."""
    fs = require("pyarrow.fs", extra="ray", caller="dsnc.cluster")
    name = os.fspath(name)
    if "://" not in name:
        return Place(fs.LocalFileSystem(), str(Path(name).expanduser().resolve()), name)
    try:
        system, path = fs.FileSystem.from_uri(name)
    except (OSError, ValueError):  # not one of pyarrow's own
        fsspec = require("fsspec.core", extra="ray", caller=f"reading {name}")
        try:
            other, path = fsspec.url_to_fs(name)
        except (ImportError, ValueError, OSError) as error:
            raise InputError(f"{name} cannot be opened ({error}).") from error
        system = fs.PyFileSystem(fs.FSSpecHandler(other))
    return Place(system, path, name)
