"""The page about a model as one file: map, search, codes and bits to flip, without a service.

It is the page of `dsnc serve` with everything in it: the same modules, one after another in one
script, and the data beside it, packed. Nothing is loaded from elsewhere, and its policy allows
neither that nor any other script.
"""

import base64
import gzip
import hashlib
import json
import os
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from dsnc.files import write_whole
from dsnc.inspection.atlas import Atlas, numbered
from dsnc.inspection.meaning import BitFacts, Pair
from dsnc.model.summary import ModelFacts, summary, trial_cells

_MAIN = "main.js"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_LINKS = re.compile(r'<link rel="icon".*?</script>', re.DOTALL)


@cache
def static_files() -> dict[str, bytes]:
    """Return the files that the page is made of, by name."""
    folder = resources.files("dsnc.inspection") / "static"
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def model_page(
    path: str | os.PathLike[str],
    atlas: Atlas,
    facts: ModelFacts | None = None,
    *,
    bits: Sequence[BitFacts] = (),
    pairs: Sequence[Pair] = (),
    label: Any = None,
) -> Path:
    """Write a page about a model, in place of an older one; return its path.

    It also tells `facts`, as `dsnc.inspection.model_facts` gives them, what some bits separate, and
    which pairs of classes are near each other. `label` is the class that is shown first.
    """
    told = {**atlas.facts, "pairs": _pairs(atlas, pairs), "chosen": label}
    if facts is not None:
        told["about"] = summary(facts)
        told["trials"] = [trial_cells(trial) for trial in facts.trials]
    for bit in bits:
        told["bit_facts"][bit.bit] |= {
            "up": [name for name, _ in bit.set_features],
            "down": [name for name, _ in bit.unset_features],
        }
    data = {
        "facts": json.dumps(told, default=str).encode(),
        "labels": json.dumps(atlas.labels()).encode(),
        "codes": atlas.code_bytes(),
        "map": atlas.map_bytes(),
    }
    return write_whole(Path(path), _whole_page(atlas.name, data).encode("utf-8", "replace"))


def _pairs(atlas: Atlas, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    firsts = numbered(atlas.model, (pair.first for pair in pairs))
    seconds = numbered(atlas.model, (pair.second for pair in pairs))
    return [
        {"first": a, "second": b, "distance": pair.distance, "likeness": pair.likeness}
        for a, b, pair in zip(firsts, seconds, pairs, strict=True)
    ]


def _whole_page(title: str, data: dict[str, bytes]) -> str:
    """Return the page with style, script and data inside."""
    files = static_files()
    script, style = bundled(_MAIN), files["style.css"].decode()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    icon = base64.b64encode(files["icon.svg"]).decode()
    inside = "\n".join(
        [
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f'<link rel="icon" href="data:image/svg+xml;base64,{icon}">',
            f"<style>{style}</style>",
        ]
    )
    page = _LINKS.sub(lambda _: inside, files["index.html"].decode())
    page = page.replace("<title>dsnc</title>", f"<title>{escape(title)}</title>")
    blocks = [
        f'<script type="application/octet-stream" id="data-{name}">{_packed(some)}</script>'
        for name, some in data.items()
    ]
    blocks.append(f'<script type="module">{script}</script>')
    return page.replace("</body>", "\n".join([*blocks, "</body>"]))


def bundled(name: str) -> str:
    """Return a module and all that it imports as one script; each name is there once in all."""
    files, parts, seen = static_files(), [], set()

    def add(module: str) -> None:
        if module in seen:
            return
        seen.add(module)
        text = files[module].decode()
        for other in _IMPORT.findall(text):
            add(other)
        parts.append(_EXPORT.sub("", _IMPORT.sub("", text)))

    add(name)
    return "\n".join(parts)


def _packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, mtime=0)).decode()


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
