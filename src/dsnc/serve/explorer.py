"""The page at ``/``: its files, and what it asks of each model. Its script is in dsnc.inspection.

Answers are the same as long as the model's version is: browsers keep them, and ask by ETag.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

from dsnc.inspection.atlas import Atlas
from dsnc.inspection.page import static_files
from dsnc.serve.answers import dumps
from dsnc.serve.packing import packed
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served
from dsnc.serve.visits import KEPT_HEADERS, Headers, Reply, Visit

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
_JSON, _BYTES = b"application/json", b"application/octet-stream"
_PATIENCE = 5.0  # seconds that a request waits for a map

Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Explorer:
    """Answers what the page asks.

    `served` finds the model that a request means, `is_open` tells whether classes of a model can be
    added, and `run` does work in a thread.
    """

    def __init__(
        self,
        served: Callable[[Visit], Awaitable[Served]],
        is_open: Callable[[Served], bool],
        run: Run,
    ) -> None:
        self._served, self._is_open, self._run = served, is_open, run
        self._files = static_files()
        self._digest = hashlib.sha256(b"".join(self._files.values())).hexdigest()[:16]
        self._atlases: dict[str, Atlas] = {}
        self._maps: dict[Atlas, asyncio.Task[bytes]] = {}

    def addresses(self) -> dict[str, Callable[[Visit], Awaitable[Reply]]]:
        """Return the addresses and what they do."""
        model = "/models/{name}/page"
        return {
            "/": self.page,
            "/static/{file}": self.static_file,
            model: self.page_facts,
            f"{model}/labels": self.page_labels,
            f"{model}/codes": self.page_codes,
            f"{model}/map": self.page_map,
        }

    async def page(self, visit: Visit) -> Reply:
        """Return the page."""
        return self._file(visit, _INDEX)

    async def static_file(self, visit: Visit) -> Reply:
        """Return a file of the page."""
        return self._file(visit, visit.params["file"])

    def _file(self, visit: Visit, name: str) -> Reply:
        if name not in self._files:
            raise Refused(404, "There is no such file.")
        headers = {b"content-type": _KINDS[name.rpartition(".")[2]]}
        if name == _INDEX:
            headers |= {b"content-security-policy": _POLICY, b"referrer-policy": b"no-referrer"}
        return _kept(visit, self._digest, headers, lambda: self._files[name])

    async def page_facts(self, visit: Visit) -> Reply:
        """Say what kind of model it is."""
        is_open = self._is_open(await self._served(visit))
        what = "facts-open" if is_open else "facts"

        def make(atlas: Atlas) -> bytes:
            return dumps({**atlas.facts, "changes": is_open}).encode()

        return await self._data(visit, what, _JSON, make)

    async def page_labels(self, visit: Visit) -> Reply:
        """Return the labels, in the order of their numbers."""
        return await self._data(
            visit, "labels", _JSON, lambda atlas: dumps(atlas.labels()).encode()
        )

    async def page_codes(self, visit: Visit) -> Reply:
        """Return the codes of the classes, in words of 32 bits."""
        return await self._data(visit, "codes", _BYTES, Atlas.code_bytes)

    async def page_map(self, visit: Visit) -> Reply:
        """Return the places of the classes; 202, and nothing, as long as they are computed."""
        atlas = await self._atlas(visit)
        if atlas not in self._maps:
            self._maps[atlas] = asyncio.create_task(asyncio.to_thread(atlas.map_bytes))
        task = self._maps[atlas]
        done, _ = await asyncio.wait({task}, timeout=_PATIENCE)
        if not done:
            return Reply(b"", {b"retry-after": b"1", b"content-type": _BYTES}, 202)
        return await self._data(visit, "map", _BYTES, lambda _: task.result(), atlas)

    async def _atlas(self, visit: Visit) -> Atlas:
        """Return what there is to show of a model; that of a version before is let go."""
        served = await self._served(visit)
        atlas = self._atlases.get(served.name)
        if atlas is None or atlas.version != served.version:
            if atlas is not None:
                self._maps.pop(atlas, None)
            atlas = self._atlases[served.name] = Atlas(served.model, served.name, served.version)
        return atlas

    async def _data(
        self,
        visit: Visit,
        what: str,
        kind: bytes,
        make: Callable[[Atlas], bytes],
        atlas: Atlas | None = None,
    ) -> Reply:
        atlas = atlas or await self._atlas(visit)
        headers = {b"content-type": kind, b"x-model-version": atlas.version.encode()}
        tag = f"{atlas.version}-{self._digest}-{what}"
        reply: Reply = await self._run(lambda: _kept(visit, tag, headers, lambda: make(atlas)))
        return reply


def _kept(visit: Visit, tag: str, headers: Headers, make: Callable[[], bytes]) -> Reply:
    """Return a reply that browsers may keep, or tell them that they have it."""
    quoted = f'"{tag}"'
    if quoted in visit.header(b"if-none-match").replace("W/", "").split(", "):
        reply = Reply(b"", {**headers, b"etag": quoted.encode()}, 304)  # they replace those it has
        reply.headers = reply.headers[1:]  # no length: it would be that of the whole
    else:
        body, how = packed(make(), visit.header(b"accept-encoding"))
        reply = Reply(body, {**headers, **how, b"etag": quoted.encode()})
    reply.safe = KEPT_HEADERS
    return reply
