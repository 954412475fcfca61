"""The page at ``/``: its files, and what it asks of each model. Its script is in dsnc.inspection.

Answers are the same as long as the model's version is: browsers keep them, and ask by ETag.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

from dsnc.inspection.atlas import Atlas
from dsnc.inspection.page import static_files
from dsnc.serve.answers import to_json
from dsnc.serve.limits import Refused
from dsnc.serve.packing import packed
from dsnc.serve.served import Served
from dsnc.serve.visits import Headers, Reply, Visit

_INDEX = "index.html"
_KINDS = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
}
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PARTS: dict[str, Callable[[Atlas], bytes]] = {  # of what is shown of a model
    "facts": lambda atlas: to_json(atlas.facts),
    "labels": lambda atlas: to_json(atlas.labels()),
    "codes": Atlas.code_bytes,
    "map": Atlas.map_bytes,
}
_IN_BYTES = ("codes", "map")
_PATIENCE = 5.0  # seconds that a request waits for a map

Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Explorer:
    """Answers what the page asks.

    `served` finds the model that a request means, and `run` does work in a thread.
    """

    def __init__(self, served: Callable[[Visit], Awaitable[Served]], run: Run) -> None:
        self._served, self._run = served, run
        self._files = static_files()
        self._digest = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:16]
        self._atlases: dict[str, Atlas] = {}
        self._maps: dict[Atlas, asyncio.Task[bytes]] = {}

    async def page(self, visit: Visit) -> Reply:
        """Return the page, or one of its files."""
        name = visit.params.get("file", _INDEX)
        if name not in self._files:
            raise Refused(404, "There is no such file.")
        headers = {b"content-type": _KINDS[name.rpartition(".")[2]]}
        if name == _INDEX:
            headers |= {b"content-security-policy": _POLICY, b"referrer-policy": b"no-referrer"}
        return _kept(visit, self._digest, headers, lambda: self._files[name])

    async def page_part(self, visit: Visit) -> Reply:
        """Return what is shown of a model; 202, and nothing, as long as a map is computed."""
        part = visit.params["part"]
        if part not in _PARTS:
            raise Refused(404, f"There is no such part. Known: {', '.join(_PARTS)}.")
        atlas = await self._atlas(visit)
        kind = b"application/octet-stream" if part in _IN_BYTES else b"application/json"
        headers = {b"content-type": kind, b"x-model-version": atlas.version.encode()}
        if part == "map" and not await self._has_map(atlas):
            return Reply(b"", {**headers, b"retry-after": b"1"}, 202)

        def make() -> bytes:
            return self._maps[atlas].result() if part == "map" else _PARTS[part](atlas)

        tag = f"{atlas.version}-{self._digest}-{part}"
        reply: Reply = await self._run(lambda: _kept(visit, tag, headers, make))
        return reply

    async def _has_map(self, atlas: Atlas) -> bool:
        if atlas not in self._maps:
            self._maps[atlas] = asyncio.create_task(asyncio.to_thread(_PARTS["map"], atlas))
        done, _ = await asyncio.wait({self._maps[atlas]}, timeout=_PATIENCE)
        return bool(done)

    async def _atlas(self, visit: Visit) -> Atlas:
        """Return what there is to show of a model; that of a version before is let go."""
        served = await self._served(visit)
        atlas = self._atlases.get(served.name)
        if atlas is None or atlas.version != served.version:
            if atlas is not None:
                self._maps.pop(atlas, None)
            atlas = self._atlases[served.name] = Atlas(served.model, served.name, served.version)
        return atlas


def _kept(visit: Visit, tag: str, headers: Headers, make: Callable[[], bytes]) -> Reply:
    """Return a reply that browsers may keep, or tell them that they have it."""
    quoted = f'"{tag}"'
    headers = {**headers, b"etag": quoted.encode(), b"cache-control": b"private, no-cache"}
    if quoted in visit.header(b"if-none-match").replace("W/", "").split(", "):
        reply = Reply(b"", headers, 304)  # they replace those it has
        reply.headers = reply.headers[1:]  # no length: it would be that of the whole
        return reply
    body, how = packed(make(), visit.header(b"accept-encoding"))
    return Reply(body, {**headers, **how})
