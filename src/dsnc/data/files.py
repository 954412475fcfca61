"""Reading data files: compressed or not, from a disk or from stdin, with errors that say where.

Compression is recognized by a file's first bytes, not by its name. The name ``-`` is stdin, of
which whatever has come is handed on, so that whoever types a line gets an answer to it.
"""

import bz2
import codecs
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsnc.errors import DataFileError, InputError, shorten

STDIN = "-"

_CHUNK = 1 << 20  # large enough for numpy to be fast, small enough not to count in memory
_LONGEST = 1 << 28  # of a line, in bytes
_MOST = 1000  # times its size that a file may unpack to, once that is beyond the longest line
_MAGIC = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_BROKEN = (EOFError, OSError, UnicodeError, lzma.LZMAError, zlib.error)
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # up to Excel 2003
_SHEETS = re.compile(rb"PK\x03\x04.{26}xl/", re.DOTALL)  # a file inside of a newer workbook


class InMemory(os.PathLike[str]):
    """A file that came as bytes, and is read as it is: nothing in it is unpacked.

    `name` stands for it in messages.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name

    def __fspath__(self) -> str:
        """Return what it is called."""
        return self.name

    __str__ = __fspath__


def read_chunks(path: str | os.PathLike[str]) -> Iterator[tuple[int, bytes]]:
    """Yield (number of its first line, bytes) of pieces that end at the end of a line."""
    line = 1
    begun: list[bytes] = []  # a line whose end has not come; joined once, however long it is
    with _reading(path) as read:
        pieces = _as_lines(path, read)
        while True:
            try:
                data = next(pieces, b"")
            except _BROKEN as error:
                raise _broken(path, line, error) from error
            end = data.rfind(b"\n") + 1
            if data and not end:
                begun.append(data)
                if sum(map(len, begun)) > _LONGEST:
                    raise DataFileError.at(path, f"is longer than {_LONGEST:,} bytes", line=line)
                continue
            if chunk := b"".join([*begun, data[:end]]):
                yield line, chunk
            if not data:
                return
            begun = [data[end:]]
            line += chunk.count(b"\n")


def _as_lines(path: str | os.PathLike[str], read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield pieces of a file: of UTF-16 as UTF-8, and of old Macs with usual ends of lines."""
    data = read(_CHUNK)
    if data.startswith(_OFFICE) or (data.startswith(b"PK\3\4") and _SHEETS.search(data)):
        raise DataFileError.at(path, "this is an Excel workbook: save it as CSV UTF-8")
    zeros = [10 * data[i:200:2].count(0) > 9 * len(data[i:200:2]) for i in (0, 1)]
    decoder = codecs.getincrementaldecoder("utf-16")() if data.startswith(UTF_16) else None
    if decoder is None and len(data) > 8 and zeros[0] != zeros[1]:
        raise DataFileError.at(
            path,
            "seems to be UTF-16 without a byte-order mark",
            expected="UTF-8, UTF-16 with its mark, or the name of another with encoding=",
        )
    is_old = path != STDIN and decoder is None and b"\r" in data and b"\n" not in data
    while data:
        if decoder is not None:
            data = decoder.decode(data).encode()
        if data:
            yield data.replace(b"\r", b"\n") if is_old else data
        data = read(_CHUNK)
    if decoder is not None:
        decoder.decode(b"", final=True)


def read_batches(path: str | os.PathLike[str], size: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (number of the first, lines without their ends), `size` lines at most.

    There are fewer where no more have come. An empty line is a line.
    """
    for first, chunk in read_chunks(path):
        lines = chunk.removesuffix(b"\n").split(b"\n")
        for start in range(0, len(lines), size):
            yield first + start, [line.removesuffix(b"\r") for line in lines[start : start + size]]


def read_lines(path: str | os.PathLike[str], encoding: str = "utf-8") -> Iterator[str]:
    r"""Yield the decoded lines, each with its ``\n``; a byte-order mark is dropped."""
    check_encoding(encoding)
    for first, chunk in read_chunks(path):
        # Not splitlines, which would also cut at a lone \r inside a text.
        yield from decode(path, io.BytesIO(chunk), first, encoding)


def decode(
    path: str | os.PathLike[str], lines: Iterable[bytes], first: int, encoding: str
) -> Iterator[str]:
    """Yield lines as texts; `first` is the number of the first of them."""
    for number, raw in enumerate(lines, first):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            raise DataFileError.at(
                path,
                f"is not {encoding} ({error.reason} at byte {error.start})",
                line=number,
                text=raw[max(0, error.start - 20) : error.start + 20],
                expected=f"{encoding} throughout; name another with encoding=",
            ) from error
        yield text.removeprefix("\ufeff") if number == 1 else text


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that is not known, or whose lines do not end as ours do."""
    try:
        end = b"\n".decode(encoding)
    except LookupError:
        raise InputError(
            f"encoding {shorten(encoding)} is not known; use utf-8, latin-1 or cp1252, for example."
        ) from None
    except ValueError:
        end = ""
    if end != "\n":
        raise InputError(
            f"encoding={shorten(encoding)}: its lines do not end with a newline byte; leave "
            "encoding= out for UTF-16 with a byte-order mark, or else convert the texts to UTF-8."
        )


def head(path: str | os.PathLike[str], n_lines: int = 5) -> list[bytes]:
    """Return the first non-empty lines, to see what kind of file it is."""
    lines: list[bytes] = []
    for _, chunk in read_chunks(path):
        lines += [line for line in io.BytesIO(chunk[: 1 << 20]) if line.strip()]
        if len(lines) >= n_lines:
            break
    return lines[:n_lines]


def begins_json(text: bytes, marks: tuple[bytes, ...]) -> bool:
    """Tell whether a text begins with one of these marks, blanks left out."""
    return b"".join(text[:1024].removeprefix(b"\xef\xbb\xbf").split()).startswith(marks)


def stem(path: str | os.PathLike[str]) -> str:
    """Return the file's name without folder, compression and format endings."""
    name = Path(path).name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return name.partition(".")[0] or name


def home() -> Path:
    """Return the cache folder, ``$DSNC_HOME`` or the user's; nothing is created."""
    if chosen := os.environ.get("DSNC_HOME"):
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "dsnc"


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[Callable[[int], bytes]]:
    """Yield a function that returns the next bytes, decompressed."""
    if path == STDIN:
        stdin: Any = sys.stdin.buffer
        yield stdin.read1  # what one system call gives: it waits only where there is nothing
        return
    if isinstance(path, InMemory):
        yield io.BytesIO(path.data).read
        return
    if Path(path).is_dir():
        raise DataFileError.at(path, "is a folder", expected="a file of lines")
    try:
        with open(path, "rb") as plain:
            begin = plain.read(6)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataFileError.at(path, f"cannot be opened ({reason})") from error
    opener: Any = next((how for magic, how in _MAGIC.items() if begin.startswith(magic)), None)
    if opener is None:
        with open(path, "rb") as file:
            yield file.read
        return
    limit = UnpackLimit(path, os.path.getsize(path))

    def read(size: int) -> bytes:
        data: bytes = file.read(size)
        limit.count(len(data))
        return data

    with opener(path, "rb") as file:
        yield read


class UnpackLimit:
    """Counts what a compressed file unpacks to, and refuses far more than its size stands for."""

    def __init__(self, path: str | os.PathLike[str], size: int) -> None:
        self._path, self._most = path, max(_LONGEST, _MOST * size)
        self._found = 0

    def count(self, n_bytes: int) -> None:
        """Take note of more bytes, before they are used."""
        self._found += n_bytes
        if self._found > self._most:
            raise DataFileError.at(
                self._path,
                f"unpacks to more than {self._most:,} bytes",
                expected=f"{_LONGEST >> 20} MiB or {_MOST:,} times its size at most; if it is "
                "meant to, unpack it first",
            )


def _broken(path: str | os.PathLike[str], line: int, error: Exception) -> DataFileError:
    where = f" somewhere after line {line - 1}" if line > 1 else ""
    return DataFileError.at(
        path,
        f"is damaged or cut off{where} ({error})",
        expected="a complete file; fetch or copy it again",
    )
