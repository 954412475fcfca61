"""Lines that arrive when they arrive: whatever is there is handed on, nothing waits for more."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsnc.errors import DataFileError, InputError, shorten

_READ = 1 << 18  # bytes at a time
_LONGEST = 1 << 26  # of a line
STDIN = "-"


@contextmanager
def open_lines(name: str, batch: int) -> Iterator[Iterator[list[bytes]]]:
    r"""Open a file, or stdin if it is called ``-``; yield its lines in lists of `batch` at most.

    A list is shorter where no more input is waiting, so that who types a line gets an answer to
    it. Lines come without their end; an empty line is a line.
    """
    if name == STDIN:
        # read1 returns what one system call gives, and blocks only where there is nothing.
        stdin: Any = sys.stdin.buffer
        yield _batches(name, lambda: stdin.read1(_READ), batch)
        return
    from dsnc.data.files import open_bytes

    if Path(name).is_dir():
        raise DataFileError.at(name, "is a folder", expected="a file of lines, or - for stdin")
    with open_bytes(name) as file:
        yield _batches(name, lambda: file.read(_READ), batch)


def _batches(name: str, read: Callable[[], bytes], batch: int) -> Iterator[list[bytes]]:
    pieces: list[bytes] = []  # of a line whose end has not come
    length, number = 0, 1
    while data := read():
        pieces.append(data)
        length += len(data)
        if b"\n" not in data:
            if length > _LONGEST:
                raise DataFileError.at(name, f"is longer than {_LONGEST:,} bytes", line=number)
            continue
        *lines, rest = b"".join(pieces).split(b"\n")
        pieces, length = [rest], len(rest)
        number += len(lines)
        for start in range(0, len(lines), batch):
            yield [line.removesuffix(b"\r") for line in lines[start : start + batch]]
    if length:  # the last line of a file that does not end with a newline
        yield [b"".join(pieces).removesuffix(b"\r")]


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that nobody knows, or whose lines do not end as ours do."""
    try:
        end = b"\n".decode(encoding)
    except LookupError:
        raise InputError(
            f"--encoding {shorten(encoding)} is not known; write utf-8, latin-1 or cp1252, say."
        ) from None
    except ValueError:
        end = ""
    if end != "\n":
        raise InputError(
            f"--encoding {shorten(encoding)}: its lines do not end with the byte of a newline; "
            "convert the texts to UTF-8, and leave --encoding out."
        )


def decode(name: str, lines: list[bytes], first: int, encoding: str) -> list[str]:
    """Return the lines as texts; `first` is the number of the first of them."""
    texts = []
    for number, line in enumerate(lines, first):
        try:
            texts.append(line.decode(encoding))
        except UnicodeDecodeError as error:
            raise DataFileError.at(
                name,
                f"is not {encoding} ({error.reason} at byte {error.start})",
                line=number,
                text=line[max(0, error.start - 20) : error.start + 20],
                expected=f"{encoding} throughout; name another with --encoding",
            ) from error
    if first == 1 and texts:
        texts[0] = texts[0].removeprefix("\ufeff")
    return texts
