"""The service as an application: which addresses there are, and what they do."""

import asyncio
import contextlib
import gc
import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from dsnc.serve import bodies, oip
from dsnc.serve.answers import answer, as_json, dumps
from dsnc.serve.changes import ADD, REMOVE
from dsnc.serve.classes import list_classes, nearest_classes, written
from dsnc.serve.crew import SMALL, SMALL_ARRAY, Crew
from dsnc.serve.door import Door, Handler
from dsnc.serve.explorer import Explorer
from dsnc.serve.figures import Figures
from dsnc.serve.log import Log
from dsnc.serve.models import Models
from dsnc.serve.openapi import description
from dsnc.serve.options import from_address, options_of
from dsnc.serve.packing import packed, unpacked
from dsnc.serve.page import PAGE_HEADERS, page
from dsnc.serve.refusals import Refused, too_large
from dsnc.serve.served import Served
from dsnc.serve.settings import ServeSettings
from dsnc.serve.streams import LineStream
from dsnc.serve.tables import answer_table
from dsnc.serve.visits import Headers, Reply, Visit

JSON, LINES, CSV, NUMBERS = "application/json", "application/x-ndjson", "text/csv", "numbers"
KINDS = {
    "": JSON,
    JSON: JSON,
    "application/x-www-form-urlencoded": JSON,  # what curl -d says of anything
    LINES: LINES,
    "application/jsonl": LINES,
    "application/octet-stream": NUMBERS,
    "application/x-npy": NUMBERS,
    CSV: CSV,
}
_OF_JSON, _OF_CSV = {b"content-type": JSON.encode()}, {b"content-type": b"text/csv; charset=utf-8"}
_CHANGE = 600.0  # seconds that a change of classes may take
_SWITCH = 0.0005  # seconds that a thread keeps the interpreter while another waits for it

Answer = tuple[bytes, Headers, int]  # a body, its headers, and the number of rows


class Service:
    """What all requests share, and what they are answered by."""

    def __init__(self, settings: ServeSettings, log: Log, models: Models | None) -> None:
        self.settings, self.log, self.figures = settings, log, Figures()
        self._given = models
        self.models: Models
        self.crew: Crew
        self.door: Door
        self.explorer = Explorer(
            self._served,
            lambda served: self.models.why_fixed(served) is None,
            lambda work: self.crew.run(work),
        )

    @contextlib.asynccontextmanager
    async def life(self, app: Any) -> AsyncIterator[None]:
        """Read the models and look after them, until the end."""
        sys.setswitchinterval(_SWITCH)
        self.crew = Crew(self.settings.workers)
        self.models = self._given or Models(self.settings, self.log.note)
        self.models.note = self._note
        self.figures.name_models(self.models)
        looking = [asyncio.create_task(look()) for look in (self.models.watch, self.models.follow)]
        gc.collect()
        gc.freeze()  # what is there now stays: looking for garbage in it would take milliseconds
        self.log.note("ready", process=os.getpid())
        yield
        for task in looking:
            task.cancel()
        await self.models.close()
        self.door.flush()
        self.crew.close()

    def _note(self, event: str, **facts: Any) -> None:
        self.figures.name_models(self.models)
        self.log.note(event, **facts)

    async def _served(self, visit: Visit) -> Served:
        """Return the model that is meant, of the version that is meant if one is."""
        name, version = visit.params.get("name"), visit.params.get("version")
        served = self.models.only() if name is None else self.models[name]
        if self.models.is_behind(served):
            served = await self.models.newest(served.name)
        if version is not None and version != served.version:
            why = f"{served.name} has version {served.version}, and no other is served."
            raise Refused(404, why)
        visit.model, visit.version = served.name, served.version
        return served

    async def predict(self, visit: Visit) -> ASGIApp:
        """Answer rows in any form."""
        served = await self._served(visit)
        said = visit.header(b"content-type").partition(";")[0].strip().lower()
        kind = KINDS.get(said)
        if kind is None:
            valid = ", ".join(name for name in KINDS if name)
            raise Refused(415, f"Content-Type {said[:60]!r} is not known. Valid: {valid}.")
        query = visit.scope["query_string"]
        wishes = from_address(QueryParams(query)) if query else {}
        if kind == LINES:
            return self._stream(served, wishes, visit)
        accepted = visit.header(b"accept")
        to_json = kind != CSV or (JSON in accepted and CSV not in accepted)
        work = partial(self._answer, served, kind, wishes, visit, to_json)
        return await self._respond(visit, work, SMALL_ARRAY if kind == NUMBERS else SMALL)

    async def infer(self, visit: Visit) -> ASGIApp:
        """Answer a request of the Open Inference Protocol."""
        served = await self._served(visit)
        length = visit.headers.get(oip.HEADER_LENGTH)

        def work(body: bytes) -> Answer:
            return oip.infer(served, body, length, self.settings.max_rows, visit.go)

        return await self._respond(visit, work)

    async def _respond(
        self, visit: Visit, work: Callable[[bytes], Answer], small: int = SMALL
    ) -> Reply:
        """Read the body, do the work here or in a thread, and pack the answer."""
        body = await self._body(visit)
        encoding = visit.header(b"content-encoding")

        def whole() -> Reply:
            plain = unpacked(body, encoding, self.settings.max_body) if encoding else body
            answered, headers, visit.rows = work(plain)
            answered, how = packed(answered, visit.header(b"accept-encoding"))
            return Reply(answered, {**headers, **how, **_version(visit)})

        is_small = len(body) <= small and not encoding and b"explain" not in body[:SMALL]
        if is_small and b"explain" not in visit.scope["query_string"]:
            return whole()
        return await self.crew.run(whole)

    def _answer(
        self,
        served: Served,
        kind: str,
        wishes: dict[str, Any],
        visit: Visit,
        to_json: bool,
        body: bytes,
    ) -> Answer:
        """Parse a body and answer it."""
        most = self.settings.max_rows
        if kind == CSV:
            options = options_of(wishes)
            said, n_rows = answer_table(served, body, options, visit.go, most, to_json=to_json)
            return said, _OF_JSON if to_json else _OF_CSV, n_rows
        gathered = served.rows(most)
        if kind == JSON:
            wishes = {**wishes, **bodies.parse_object(body, gathered)}
            n_rows, rows = gathered.n, gathered.take()
        else:
            rows = bodies.parse_numbers(body, gathered)
            n_rows = gathered.n
        blocks = answer(served, rows, options_of(wishes), visit.go)
        return as_json(served, blocks), _OF_JSON, n_rows

    def _stream(self, served: Served, wishes: dict[str, Any], visit: Visit) -> LineStream:
        settings = self.settings
        return LineStream(
            served,
            options_of(wishes),
            self.crew,
            visit,
            headers=_version(visit),
            most=settings.max_body,
            seconds=settings.max_seconds,
        )

    async def _body(self, visit: Visit) -> bytes:
        """Read a body, within the limits."""
        length = visit.headers.get(b"content-length", b"0")
        if int(length) > self.settings.max_body:
            raise too_large(f"The body is larger than {self.settings.max_body:,} bytes.")
        parts, more = [], True
        while more:
            data, more = await visit.read()
            self.door.hold(visit, len(data))
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def list_models(self, visit: Visit) -> ASGIApp:
        """Say which models there are."""
        await self.models.all_newest()
        about = [
            {
                "name": served.name,
                "version": served.version,
                "kind": served.model.kind,
                "classes": served.n_classes,
                "takes": "texts" if served.takes_text else "numbers",
                "columns": served.model.records.names,
                "features": served.n_features,
                "changeable": self.models.why_fixed(served) is None,
            }
            for served in self.models.values()
        ]
        return _json({"models": about})

    async def health(self, visit: Visit) -> ASGIApp:
        """Say that all is well: a server that is not ready does not listen yet."""
        await self.models.all_newest()
        versions = {name: served.version for name, served in self.models.items()}
        return _json({"status": "ok", "models": versions})

    async def classes(self, visit: Visit) -> ASGIApp:
        """List classes."""
        return await self._look_up(visit, list_classes)

    async def nearest(self, visit: Visit) -> ASGIApp:
        """Find the classes nearest to one, or to a code."""
        return await self._look_up(visit, nearest_classes)

    async def _look_up(self, visit: Visit, find: Callable[..., dict[str, Any]]) -> Reply:
        served = await self._served(visit)
        query = QueryParams(visit.scope["query_string"])

        def work() -> Reply:
            found = written(find(served, query, self.settings.max_rows))
            found, how = packed(found, visit.header(b"accept-encoding"))
            return Reply(found, {**_OF_JSON, **how, **_version(visit)})

        return await self.crew.run(work)

    async def add(self, visit: Visit) -> ASGIApp:
        """Add classes from rows."""
        return await self._change(visit, ADD)

    async def remove(self, visit: Visit) -> ASGIApp:
        """Remove classes."""
        return await self._change(visit, REMOVE)

    async def _change(self, visit: Visit, kind: str) -> Reply:
        served = await self._served(visit)
        if (why_not := self.models.why_fixed(served)) is not None:
            raise Refused(403, why_not)
        body, encoding = await self._body(visit), visit.header(b"content-encoding")
        if encoding:
            body = unpacked(body, encoding, self.settings.max_body)
        visit.more_time(_CHANGE)
        most = self.settings.max_rows
        served, told = await self.models.change(served.name, kind, bodies.text_of(body), most)
        self.figures.name_models(self.models)
        visit.version = served.version
        about = {"model": served.name, "version": served.version, "classes": served.n_classes}
        return Reply(dumps({**about, **told}).encode(), {**_OF_JSON, **_version(visit)})

    async def live(self, visit: Visit) -> ASGIApp:
        """Say that the server, or a model, is there."""
        if "name" in visit.params:
            await self._served(visit)
        return Reply(b"", {})

    async def about_server(self, visit: Visit) -> ASGIApp:
        """Say what this is, in the words of the protocol."""
        return _json(oip.about_server())

    async def about_model(self, visit: Visit) -> ASGIApp:
        """Say what a model takes and gives, in the words of the protocol."""
        return _json(oip.about_model(await self._served(visit)))

    async def metrics(self, visit: Visit) -> ASGIApp:
        """Return the figures for Prometheus."""
        self.door.flush()
        text = await asyncio.to_thread(self.figures.text)  # those of all workers are read
        return Reply(text, {b"content-type": b"text/plain; version=0.0.4; charset=utf-8"})

    async def openapi(self, visit: Visit) -> ASGIApp:
        """Describe this service for programs."""
        return _json(description(self.models, self.settings))

    async def docs(self, visit: Visit) -> ASGIApp:
        """Describe this service for people."""
        return Reply(page(description(self.models, self.settings)).encode(), PAGE_HEADERS)

    def routes(self) -> list[Route]:
        """Return all addresses."""
        model = "/v2/models/{name}"
        routes = [
            _route("/predict", post=self.predict),
            _route("/models", get=self.list_models),
            _route("/models/{name}/predict", post=self.predict),
            _route("/health", get=self.health),
            _route("/metrics", get=self.metrics),
            _route("/openapi.json", get=self.openapi),
            _route("/docs", get=self.docs),
            *(_route(path, get=handle) for path, handle in self.explorer.addresses().items()),
            _route("/v2", get=self.about_server),
            _route("/v2/health/live", get=self.live),
            _route("/v2/health/ready", get=self.live),
        ]
        for place in ("/classes", "/models/{name}/classes"):
            routes += [
                _route(place, get=self.classes, post=self.add, delete=self.remove),
                _route(f"{place}/nearest", get=self.nearest),
            ]
        for place in (model, f"{model}/versions/{{version}}"):
            routes += [
                _route(place, get=self.about_model),
                _route(f"{place}/ready", get=self.live),
                _route(f"{place}/infer", post=self.infer),
            ]
        return routes

    def direct(self) -> dict[str, tuple[Handler, dict[str, str]]]:
        """Return the addresses that are asked all the time."""
        found: dict[str, tuple[Handler, dict[str, str]]] = {"/predict": (self.predict, {})}
        for name in self.settings.models:
            found[f"/models/{name}/predict"] = self.predict, {"name": name}
            found[f"/v2/models/{name}/infer"] = self.infer, {"name": name}
        return found


def make_app(settings: ServeSettings, models: Models | None = None) -> ASGIApp:
    """Make the application of one worker; models are read when it starts, unless they are given."""
    log = Log()
    service = Service(settings, log, models)
    router = Router(service.routes(), lifespan=service.life, redirect_slashes=False)
    service.door = Door(router, service.direct(), settings, service.figures, log)
    return service.door


def _route(path: str, **handlers: Handler) -> Route:
    """Return an address, with what answers each method."""

    async def endpoint(request: Request) -> Any:
        visit: Visit = request.scope["visit"]
        handle = handlers.get(request.method.lower()) or handlers["get"]  # HEAD
        visit.handler, visit.params = handle.__name__, request.path_params
        return await handle(visit)

    return Route(path, endpoint, methods=[name.upper() for name in handlers])


def _version(visit: Visit) -> Headers:
    """Return the header that says which version has answered."""
    return {b"x-model-version": visit.version.encode()}


def _json(value: Any) -> Reply:
    return Reply(dumps(value).encode(), _OF_JSON)
