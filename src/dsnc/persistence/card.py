"""The card of a model: ``README.md``, a text for people, who may edit it.

Its last line is a comment for programs: when and from what the model was made, and a checksum of
the card. A card that does not fit its checksum was edited, and stays when the model is replaced.
Nothing is ever computed from a card.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsnc.files import sync
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE

CARD_FILE = "README.md"
_LAST_LINE = re.compile(r"<!-- dsnc: (\{.*\}) -->\s*\Z")
_MOST = 1 << 20  # bytes of a card that are looked at


def is_part(file: Path) -> bool:
    """Tell whether a file of a folder belongs to a model."""
    return file.name in (HEADER_FILE, ARRAYS_FILE) or (file.name == CARD_FILE and file.is_file())


def sealed(text: str, facts: Mapping[str, Any]) -> str:
    """Return a card with its last line."""
    text = text.encode("utf-8", "backslashreplace").decode()  # a label may have half a surrogate
    text = text.rstrip() + "\n\n"
    facts = {**facts, "sha256": _digest(text, facts)}
    return f"{text}<!-- dsnc: {_plain(facts)} -->\n"


def card_facts(folder: Path) -> dict[str, Any] | None:
    """Return what the last line of a card says, and whether the card is ``edited``.

    None where there is no card; of a card without such a line nothing is known.
    """
    with contextlib.suppress(OSError):
        path = folder / CARD_FILE
        if path.is_file():
            with path.open("rb") as file:
                return _facts(file.read(_MOST + 1))
    return None


def keep_edited(folder: Path, aside: Path) -> None:
    """Let a card that a person has edited take the place of the one that was written for it."""
    facts = card_facts(folder)
    if facts is None or not facts["edited"]:
        return
    (aside / CARD_FILE).unlink(missing_ok=True)  # it may be linked to that of another folder
    with (aside / CARD_FILE).open("wb") as copy:
        copy.write((folder / CARD_FILE).read_bytes())
        sync(copy)


def _facts(content: bytes) -> dict[str, Any]:
    # Version control may have changed the ends of lines; that is no edit.
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n")
    found = _LAST_LINE.search(text) if len(content) <= _MOST else None
    facts: Any = None
    if found is not None:
        with contextlib.suppress(ValueError, RecursionError):
            facts = json.loads(found[1])
    if not isinstance(facts, dict):
        return {"edited": True}
    digest = facts.pop("sha256", None)
    text = text[: found.start()] if found is not None else text
    return {**facts, "edited": digest != _digest(text, facts)}


def _digest(text: str, facts: Mapping[str, Any]) -> str:
    return hashlib.sha256(f"{text}{_plain(facts)}".encode()).hexdigest()


def _plain(facts: Mapping[str, Any]) -> str:
    """Return facts as JSON that does not end a comment."""
    return json.dumps(facts, sort_keys=True).replace(">", "\\u003e")
