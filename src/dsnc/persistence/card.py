"""The card of a model: ``README.md``, a text for people, who may edit it. Nothing is read from it.

Its last line has a checksum of the text above. A card that does not fit it was edited, and stays
when the model is replaced.
"""

import hashlib
from pathlib import Path

from dsnc.files import copy_plain, sync
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE

_FILE = "README.md"
_LAST = "<!-- Written by dsnc; once it is edited, the card stays when the model is replaced: {} -->"
_MOST = 1 << 20  # bytes of a card that are looked at


def is_part(file: Path) -> bool:
    """Tell whether a file of a folder belongs to a model."""
    return file.name in (HEADER_FILE, ARRAYS_FILE) or (file.name == _FILE and file.is_file())


def write_card(folder: Path, text: str | None, *, replaced: Path) -> None:
    """Write a card, or copy that of the folder which is replaced if that one was edited."""
    card, old = folder / _FILE, replaced / _FILE
    if old.is_file() and _is_edited(old):
        copy_plain(old, card)
    elif text is not None:
        content = text.encode("utf-8", "backslashreplace")  # a label may have half a surrogate
        card.write_bytes(_with_last_line(content.rstrip().replace(b"\r\n", b"\n")))
    else:
        return
    with card.open("rb+") as file:
        sync(file)


def _with_last_line(content: bytes) -> bytes:
    return content + b"\n\n" + _LAST.format(hashlib.sha256(content).hexdigest()).encode() + b"\n"


def _is_edited(card: Path) -> bool:
    with card.open("rb") as file:
        content = file.read(_MOST)
    # Version control may have changed the ends of lines; that is no edit.
    content = content.replace(b"\r\n", b"\n")
    return content != _with_last_line(content.rpartition(b"\n\n")[0])
