"""The service as an application: which addresses there are, and what they do."""

import asyncio
import contextlib
import gc
import math
import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, NamedTuple

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.routing import Route, Router
from starlette.types import ASGIApp

import dsnc
from dsnc.serve import bodies, oip
from dsnc.serve.answers import answer, answer_table, as_json, check, cost, to_json
from dsnc.serve.changes import ADD, REMOVE
from dsnc.serve.classes import Changed, Classes, list_classes, nearest_classes
from dsnc.serve.crew import FEW, SMALL, SMALL_ARRAY, Crew
from dsnc.serve.door import Door, Handler
from dsnc.serve.explorer import Explorer
from dsnc.serve.figures import Figures
from dsnc.serve.limits import Refused, busy
from dsnc.serve.log import Log
from dsnc.serve.models import Models
from dsnc.serve.openapi import ADDRESSES, description
from dsnc.serve.options import PLAIN, Options, from_address
from dsnc.serve.packing import packed, unpacked
from dsnc.serve.served import Served
from dsnc.serve.settings import CHANGE, ServeSettings
from dsnc.serve.streams import LineStream
from dsnc.serve.visits import Headers, Reply, Visit
from dsnc.serve.workers import IS_DRAINING

JSON, LINES, CSV, NUMBERS = "application/json", "application/x-ndjson", "text/csv", "numbers"
KINDS = {
    "": JSON,
    JSON: JSON,
    "application/x-www-form-urlencoded": JSON,  # what curl -d says of anything
    LINES: LINES,
    "application/jsonl": LINES,
    "application/octet-stream": NUMBERS,
    CSV: CSV,
}
_OF_JSON = {b"content-type": JSON.encode()}
_CHANGE = 600.0  # seconds that a change of classes may take
_SWITCH = 0.0005  # seconds that a thread keeps the interpreter while another waits for it

Answer = tuple[bytes, Headers, int]  # a body, its headers, and the number of rows


class Job(NamedTuple):
    """What there is to do for a request that was read."""

    cost: float  # labels that it is answered with
    do: Callable[[], Answer]


class Service:
    """What all requests share, and what they are answered by."""

    def __init__(self, settings: ServeSettings, log: Log, models: Models | None) -> None:
        self.settings, self.log, self.figures = settings, log, Figures()
        self._given = models
        self.models: Models
        self.crew: Crew
        self.door: Door
        self.streams: set[LineStream] = set()
        self.explorer = Explorer(self._served, lambda work: self.crew.run(work))

    @contextlib.asynccontextmanager
    async def life(self, app: Any) -> AsyncIterator[None]:
        """Read the models and look after them, until the end."""
        sys.setswitchinterval(_SWITCH)
        self.crew = Crew(self.settings.workers)
        self.models = self._given or Models(self.settings, self.log)
        await self.models.prepare()
        watching = asyncio.create_task(self.models.watch())
        gc.collect()
        gc.freeze()  # what is there now stays: looking for garbage in it would take milliseconds
        self.log.note("ready", process=os.getpid())
        yield
        watching.cancel()
        self.door.flush()
        self.crew.close()

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
        wishes = from_address(QueryParams(query), Options) if query else PLAIN
        if kind == LINES:
            return LineStream(served, wishes, visit, self.crew, self.door, self.streams)
        if kind == CSV:
            return await self._respond(visit, partial(self._table, served, wishes, visit))
        parse = partial(self._question, served, kind, wishes, visit)
        return await self._respond(visit, parse, SMALL_ARRAY if kind == NUMBERS else SMALL)

    async def infer(self, visit: Visit) -> ASGIApp:
        """Answer a request of the Open Inference Protocol."""
        served = await self._served(visit)
        length = visit.headers.get(oip.HEADER_LENGTH)

        def parse(body: bytes) -> Job:
            asked = oip.parse(served, body, length, self.settings)
            n_answers = cost(served, len(asked.rows), asked.options)
            do = partial(oip.infer, served, asked, visit.go, self.settings)
            return Job(n_answers, do)

        return await self._respond(visit, parse)

    async def _respond(
        self, visit: Visit, parse: Callable[[bytes], Job], small: int = SMALL
    ) -> Reply:
        """Read the body, do what it asks for, and pack the answer.

        Only what is small when it comes and small when it goes is done here; all else would keep
        others waiting, and goes to a thread.
        """
        body = await self._body(visit)
        encoding = visit.header(b"content-encoding")
        if len(body) <= small and not encoding:
            job = parse(body)
            done = partial(self._done, visit, job)
            return done() if job.cost <= FEW else await self.crew.run(done)

        def whole() -> Reply:
            plain = unpacked(body, encoding, self.settings) if encoding else body
            return self._done(visit, parse(plain))

        return await self.crew.run(whole)

    def _done(self, visit: Visit, job: Job) -> Reply:
        answered, headers, visit.rows = job.do()
        return _reply(visit, answered, headers)

    def _question(
        self, served: Served, kind: str, wishes: Options, visit: Visit, body: bytes
    ) -> Job:
        """Parse rows, as JSON or as numbers."""
        gathered = bodies.Rows(served.model, self.settings)
        options = wishes
        if kind == JSON:
            options = question = bodies.parse(body, bodies.Question, wishes)
            rows, n_rows = gathered.add_all(question.inputs), len(question.inputs)
        else:
            rows = bodies.parse_numbers(body, gathered)
            n_rows = gathered.n
        check(served, options)

        def do() -> Answer:
            blocks = answer(served, rows, options, visit.go, self.settings)
            return as_json(served, blocks), _OF_JSON, n_rows

        return Job(cost(served, n_rows, options), do)

    def _table(self, served: Served, options: Options, visit: Visit, body: bytes) -> Job:
        """Take a table, of which nobody knows how long it is before it is read."""
        return Job(math.inf, partial(answer_table, served, body, options, visit.go, self.settings))

    async def _body(self, visit: Visit) -> bytes:
        """Read a body; from then on the request is in flight."""
        body = await visit.body(self.settings, self.door.hold)
        self.door.admit(visit)
        return body

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
        """Say that all is well: a server that is not ready does not listen yet.

        Which models there are is for those who may ask them.
        """
        if visit.role is None:
            return _json({"status": "ok"})
        await self.models.all_newest()
        versions = {name: served.version for name, served in self.models.items()}
        return _json({"status": "ok", "models": versions})

    async def classes(self, visit: Visit) -> ASGIApp:
        """List classes."""
        return await self._look_up(visit, list_classes)

    async def nearest(self, visit: Visit) -> ASGIApp:
        """Find the classes nearest to one."""
        return await self._look_up(visit, nearest_classes)

    async def _look_up(self, visit: Visit, find: Callable[..., Classes]) -> Reply:
        served = await self._served(visit)
        query = QueryParams(visit.scope["query_string"])

        def work() -> Reply:
            return _reply(visit, to_json(find(served, query, self.settings.max_rows)), _OF_JSON)

        return await self.crew.run(work)

    async def add(self, visit: Visit) -> ASGIApp:
        """Add classes from rows."""
        return await self._change(visit, ADD)

    async def remove(self, visit: Visit) -> ASGIApp:
        """Remove classes."""
        return await self._change(visit, REMOVE)

    async def _change(self, visit: Visit, kind: str) -> Reply:
        served = await self._served(visit)
        if self.settings.tokens and visit.role != CHANGE:
            raise Refused(403, "This token may predict, but not change classes.")
        if (why_not := self.models.why_fixed(served)) is not None:
            raise Refused(403, why_not)
        body, encoding = await self._body(visit), visit.header(b"content-encoding")
        if encoding:
            body = await self.crew.run(partial(unpacked, body, encoding, self.settings))
        visit.more_time(_CHANGE)
        served, told = await self.models.change(served.name, (kind, body))
        visit.version = served.version
        changed = Changed(
            model=served.name, version=served.version, classes=served.n_classes, **told
        )
        return _reply(visit, to_json(changed), _OF_JSON)

    async def live(self, visit: Visit) -> ASGIApp:
        """Say that the server, or a model, is there."""
        if "name" in visit.params:
            await self._served(visit)
        return Reply(b"", {})

    async def ready(self, visit: Visit) -> ASGIApp:
        """Say that requests are welcome: they are not when the server is about to stop."""
        if visit.scope.get("state", {}).get(IS_DRAINING):
            raise busy("The server is about to stop.")
        return await self.live(visit)

    async def about_server(self, visit: Visit) -> ASGIApp:
        """Say what this is, in the words of the protocol."""
        extensions = ["binary_tensor_data"]
        return _json({"name": "dsnc", "version": dsnc.__version__, "extensions": extensions})

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

    def routes(self) -> list[Route]:
        """Return all addresses, each with what answers its methods."""
        found: dict[str, dict[str, Handler]] = {}
        for each in ADDRESSES:
            owner = self.explorer if hasattr(self.explorer, each.handler) else self
            found.setdefault(each.path, {})[each.method] = getattr(owner, each.handler)
        return [_route(path, **handlers) for path, handlers in found.items()]

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


def _reply(visit: Visit, body: bytes, headers: Headers) -> Reply:
    """Return what a model has answered, packed if that is wished."""
    body, how = packed(body, visit.header(b"accept-encoding"))
    return Reply(body, {**headers, **how, b"x-model-version": visit.version.encode()})


def _json(value: Any) -> Reply:
    return Reply(to_json(value), _OF_JSON)
