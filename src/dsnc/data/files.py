"""Opening data files: compressed or not, text or bytes, with errors that say where.

Compression is recognized by a file's first bytes, not by its name.
"""

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dsnc.errors import DataFileError

_CHUNK = 1 << 20  # large enough for numpy to be fast, small enough not to count in memory
_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_BROKEN = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressing it on the way."""
    try:
        with open(path, "rb") as plain:
            head = plain.read(6)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataFileError.at(path, f"cannot be opened ({reason})") from error
    opener: Any = next((how for magic, how in _MAGIC.items() if head.startswith(magic)), open)
    with opener(path, "rb") as file:
        yield file


def read_chunks(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Yield (number of its first line, bytes) of pieces that end at the end of a line."""
    line = 1
    with open_bytes(path) as file:
        while True:
            try:
                chunk = file.read(_CHUNK)
                chunk += file.readline() if chunk[-1:] not in (b"", b"\n") else b""
            except (*_BROKEN, OSError) as error:
                raise _broken(path, line, error) from error
            if not chunk:
                return
            yield line, chunk
            line += chunk.count(b"\n")


def read_lines(path: str | os.PathLike[str], encoding: str = "utf-8") -> Iterator[str]:
    r"""Yield the decoded lines, each with its ``\n``; a byte-order mark is dropped."""
    for first, chunk in read_chunks(path):
        for number, raw in enumerate(_lines(chunk)):
            try:
                text = raw.decode(encoding)
            except UnicodeDecodeError as error:
                raise DataFileError.at(
                    path,
                    f"is not {encoding} ({error.reason} at byte {error.start})",
                    line=first + number,
                    text=raw[max(0, error.start - 20) : error.start + 20],
                    expected=f"{encoding} throughout; pass encoding= for another one",
                ) from error
            yield text.removeprefix("\ufeff") if first + number == 1 else text


def head(path: str | os.PathLike[str], n_lines: int = 5) -> list[bytes]:
    """Return the first non-empty lines, to see what kind of file it is."""
    lines: list[bytes] = []
    for _, chunk in read_chunks(path):
        lines += [line for line in _lines(chunk[: 1 << 20]) if line.strip()]
        if len(lines) >= n_lines:
            break
    return lines[:n_lines]


def stem(path: str | os.PathLike[str]) -> str:
    """Return the file's name without folder, compression and format endings."""
    name = Path(path).name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return name.partition(".")[0] or name


def _lines(chunk: bytes) -> Iterator[bytes]:
    # Only \n ends a line here: bytes.splitlines would also cut at a lone \r inside a text.
    start = 0
    while start < len(chunk):
        end = chunk.find(b"\n", start) + 1 or len(chunk)
        yield chunk[start:end]
        start = end


def _broken(path: str | os.PathLike[str], line: int, error: Exception) -> DataFileError:
    where = f" somewhere after line {line - 1}" if line > 1 else ""
    return DataFileError.at(
        path,
        f"is damaged or cut off{where} ({error})",
        expected="a complete compressed file; fetch or copy it again",
    )
