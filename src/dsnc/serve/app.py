"""The service as an application: which addresses there are, and what they do."""

import asyncio
import contextlib
import os
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from dsnc.serve import bodies, oip
from dsnc.serve.answers import answer, as_json, dumps
from dsnc.serve.crew import SMALL, Crew
from dsnc.serve.door import Door, Visit
from dsnc.serve.figures import Figures
from dsnc.serve.journal import Journal, keep_remarks
from dsnc.serve.openapi import description
from dsnc.serve.options import from_address, options_of
from dsnc.serve.packing import packed, unpacked
from dsnc.serve.page import PAGE_POLICY, page
from dsnc.serve.refusals import Gone, Refused, too_large
from dsnc.serve.served import Models, Served
from dsnc.serve.settings import ServeSettings
from dsnc.serve.streams import LineStream
from dsnc.serve.tables import answer_table

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
KINDS = {
    "": JSON,
    JSON: JSON,
    "application/x-www-form-urlencoded": JSON,  # what curl -d says of anything
    LINES: LINES,
    "application/jsonl": LINES,
    "application/octet-stream": "numbers",
    "application/x-npy": "numbers",
    CSV: CSV,
}
_SWITCH = 0.0005  # seconds that a thread keeps the interpreter while another waits for it

Answer = tuple[bytes, dict[str, str], int]  # a body, its headers, and the number of rows


class Service:
    """What all requests share, and what they are answered by."""

    def __init__(self, settings: ServeSettings, journal: Journal, models: Models | None) -> None:
        self.settings, self.journal, self.figures = settings, journal, Figures()
        self._given = models
        self.models: Models
        self.crew: Crew
        self.door: Door

    @contextlib.asynccontextmanager
    async def life(self, app: Any) -> AsyncIterator[None]:
        """Read the models and look after them, until the end."""
        sys.setswitchinterval(_SWITCH)
        self.crew = Crew(self.settings.workers)
        self.models = self._given or Models(self.settings.models)
        self.figures.name_models(self.models)
        watching = asyncio.create_task(self.models.watch(self._note))
        self.journal.note("ready", process=os.getpid())
        yield
        watching.cancel()
        self.crew.close()

    def _note(self, event: str, **facts: Any) -> None:
        self.figures.name_models(self.models)
        self.journal.note(event, **facts)

    def _served(self, request: Request) -> Served:
        """Return the model that is meant, of the version that is meant if one is."""
        name, version = (request.path_params.get(key) for key in ("name", "version"))
        served = self.models.only() if name is None else self.models[name]
        if version is not None and version != served.version:
            why = f"{served.name} has version {served.version}, and no other is served."
            raise Refused(404, why)
        return served

    async def predict(self, request: Request) -> Any:
        """Answer rows in any form."""
        served, visit = self._served(request), request.scope["visit"]
        visit.model, visit.version = served.name, served.version
        said = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        kind = KINDS.get(said)
        if kind is None:
            valid = ", ".join(name for name in KINDS if name)
            raise Refused(415, f"Content-Type {said[:60]!r} is not known. Valid: {valid}.")
        wishes = from_address(request.query_params) if request.scope["query_string"] else {}
        if kind == LINES:
            return self._stream(request, served, wishes, visit)
        accepted = request.headers.get("accept", "")
        to_json = kind != CSV or (JSON in accepted and CSV not in accepted)
        work = partial(self._answer, served, kind, wishes, visit, to_json)
        return await self._respond(request, work)

    async def infer(self, request: Request) -> Response:
        """Answer a request of the Open Inference Protocol."""
        served, visit = self._served(request), request.scope["visit"]
        visit.model, visit.version = served.name, served.version
        length = request.headers.get(oip.HEADER_LENGTH)

        def work(body: bytes) -> Answer:
            return oip.infer(served, body, length, self.settings.max_rows, visit.go)

        return await self._respond(request, work)

    async def _respond(self, request: Request, work: Callable[[bytes], Answer]) -> Response:
        """Read the body, do the work here or in a thread, and pack the answer."""
        visit, headers = request.scope["visit"], request.headers
        body = await self._body(request, visit)
        encoding, accepted = (headers.get(f"{x}-encoding", "") for x in ("content", "accept"))

        def whole() -> tuple[bytes, dict[str, str]]:
            plain = unpacked(body, encoding, self.settings.max_body) if encoding else body
            answered, about, visit.rows = work(plain)
            answered, how = packed(answered, accepted)
            return answered, {**about, **how, **_names(visit)}

        is_small = len(body) <= SMALL and not encoding
        if is_small and b"explain" not in body and b"explain" not in request.scope["query_string"]:
            return Response(*_swapped(*whole()))
        return Response(*_swapped(*await self.crew.run(whole)))

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
            return said, {"Content-Type": JSON if to_json else f"{CSV}; charset=utf-8"}, n_rows
        gathered = served.rows(most)
        if kind == JSON:
            wishes = {**wishes, **bodies.parse_object(body, gathered)}
            n_rows, rows = gathered.n, gathered.take()
        else:
            rows = bodies.parse_numbers(body, gathered)
            n_rows = gathered.n
        blocks = answer(served, rows, options_of(wishes), visit.go)
        return as_json(served, blocks), {"Content-Type": JSON}, n_rows

    def _stream(
        self, request: Request, served: Served, wishes: dict[str, Any], visit: Visit
    ) -> LineStream:
        headers = request.headers
        return LineStream(
            served,
            options_of(wishes),
            self.crew,
            visit,
            encoding=headers.get("content-encoding", ""),
            accepted=headers.get("accept-encoding", ""),
            headers=_names(visit),
            most=self.settings.max_body,
            seconds=self.settings.max_seconds,
        )

    async def _body(self, request: Request, visit: Visit) -> bytes:
        """Read a body, within the limits."""
        length = request.headers.get("content-length", "0")
        if int(length) > self.settings.max_body:
            raise too_large(f"The body is larger than {self.settings.max_body:,} bytes.")
        parts, more = [], True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            if data := message.get("body", b""):
                self.door.hold(visit, len(data))
                parts.append(data)
            more = message.get("more_body", False)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def list_models(self, request: Request) -> Response:
        """Say which models there are."""
        about = [
            {
                "name": served.name,
                "version": served.version,
                "kind": served.model.kind,
                "classes": served.n_classes,
                "takes": "texts" if served.takes_text else "numbers",
                "features": served.n_features,
            }
            for served in self.models.values()
        ]
        return _json({"models": about})

    async def health(self, request: Request) -> Response:
        """Say that all is well: a server that is not ready does not listen yet."""
        versions = {name: served.version for name, served in self.models.items()}
        return _json({"status": "ok", "models": versions})

    async def live(self, request: Request) -> Response:
        """Say that the server, or a model, is there."""
        if "name" in request.path_params:
            self._served(request)
        return Response()

    async def about_server(self, request: Request) -> Response:
        """Say what this is, in the words of the protocol."""
        return _json(oip.about_server())

    async def about_model(self, request: Request) -> Response:
        """Say what a model takes and gives, in the words of the protocol."""
        return _json(oip.about_model(self._served(request)))

    async def metrics(self, request: Request) -> Response:
        """Return the figures for Prometheus."""
        text = await asyncio.to_thread(self.figures.text)  # those of all workers are read
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def openapi(self, request: Request) -> Response:
        """Describe this service for programs."""
        return _json(description(self.models, self.settings))

    async def docs(self, request: Request) -> Response:
        """Describe this service for people."""
        text = page(description(self.models, self.settings))
        policy = {"Content-Security-Policy": PAGE_POLICY}
        return Response(text, media_type="text/html", headers=policy)

    def routes(self) -> list[Route]:
        """Return all addresses."""
        post, model = ["POST"], "/v2/models/{name}"
        routes = [
            Route("/predict", self.predict, methods=post),
            Route("/models", self.list_models),
            Route("/models/{name}/predict", self.predict, methods=post),
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/openapi.json", self.openapi),
            Route("/docs", self.docs),
            Route("/v2", self.about_server),
            Route("/v2/health/live", self.live),
            Route("/v2/health/ready", self.live),
        ]
        for place in (model, f"{model}/versions/{{version}}"):
            routes += [
                Route(place, self.about_model),
                Route(f"{place}/ready", self.live),
                Route(f"{place}/infer", self.infer, methods=post),
            ]
        return routes


def make_app(settings: ServeSettings, models: Models | None = None) -> ASGIApp:
    """Make the application of one worker; models are read when it starts, unless they are given."""
    warnings.simplefilter("ignore")  # they would be about rows of clients
    journal = Journal()
    keep_remarks(journal)
    service = Service(settings, journal, models)
    router = Router(service.routes(), lifespan=service.life, redirect_slashes=False)
    service.door = Door(router, settings, service.figures, journal)
    return service.door


def _names(visit: Visit) -> dict[str, str]:
    """Return headers that say which model has answered."""
    return {"X-Model-Name": _ascii(visit.model), "X-Model-Version": visit.version}


def _ascii(name: str) -> str:
    return name.encode("ascii", "backslashreplace").decode()


def _swapped(body: bytes, headers: dict[str, str]) -> tuple[bytes, int, dict[str, str]]:
    return body, 200, headers


def _json(value: Any) -> Response:
    return Response(dumps(value).encode(), media_type=JSON)
