"""The door that every request passes: who may come in, for how long, and what is noted of it."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from dsnc.errors import shorten
from dsnc.serve.answers import to_json
from dsnc.serve.figures import Figures
from dsnc.serve.limits import Gone, Refused, busy
from dsnc.serve.log import Log, line
from dsnc.serve.protocol import abort
from dsnc.serve.settings import ServeSettings
from dsnc.serve.visits import Reply, Visit

HEALTH = ("/health", "/v2/health/live", "/v2/health/ready")  # open to all, at any time
_PAGE = "/", "/static/"  # files of the page, which are the same for all and say nothing of models
_HANGS_UP = 499  # what nginx calls a client that has gone
_LATER = 0.1  # seconds after which requests are noted

Handler = Callable[[Visit], Awaitable[ASGIApp]]


class Door:
    """An application around the application.

    `app` knows all addresses, and `direct` those that are asked all the time, with what stands in
    them: routing takes as long as predicting.
    """

    def __init__(
        self,
        app: ASGIApp,
        direct: Mapping[str, tuple[Handler, dict[str, str]]],
        settings: ServeSettings,
        figures: Figures,
        log: Log,
    ) -> None:
        self.app, self.direct, self.settings = app, direct, settings
        self.figures, self.log = figures, log
        self.in_flight = self.held = 0
        self._guarded = bool(settings.tokens)
        self._noted: list[tuple[Visit, float, float]] = []
        self._visits: set[Visit] = set()
        self._is_waiting = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit = scope["visit"] = Visit(scope, receive, send, self.settings.max_seconds)
        scope["app"] = self  # for Starlette: errors of routing are raised, and told here
        self._visits.add(visit)
        if not self._is_waiting:
            self._is_waiting = True
            visit.task.get_loop().call_later(_LATER, self._look)
        try:
            self._check(visit)
            await self._enter(visit)
        except Gone:
            visit.status = _HANGS_UP
        except asyncio.CancelledError:
            if not visit.expired:
                raise
            visit.task.uncancel()
            slow = Refused(408, "The body came too slowly, or not to its end.")
            late = busy("The request took too long.")
            await self._fail(slow if visit.is_coming else late, visit)
        except Exception as error:
            await self._fail(error, visit)
        finally:
            self._visits.discard(visit)
            self.in_flight -= visit.is_in_flight
            self.held -= visit.held
            self._noted.append((visit, time.perf_counter() - visit.begin, time.time()))

    def hold(self, visit: Visit, n_bytes: int) -> None:
        """Count bytes of a body that are kept in memory."""
        visit.held += n_bytes
        self.held += n_bytes
        self.settings.check_body(visit.held)
        self.settings.check_held(self.held)

    def admit(self, visit: Visit) -> None:
        """Count a request that has come whole and is answered now, if there are not too many."""
        visit.is_in_flight = True
        self.in_flight += 1
        self.settings.check_in_flight(self.in_flight)

    def _check(self, visit: Visit) -> None:
        """Refuse who must not come in."""
        path, headers = visit.scope["path"], visit.scope["headers"]
        if not self.settings.is_called(visit.header(b"host")):
            name = shorten(visit.header(b"host"))
            raise Refused(421, f"This is not {name}; start it with --allowed-host for that name.")
        if self._guarded and sum(name == b"authorization" for name, _ in headers) > 1:
            raise Refused(400, "The request has several headers 'Authorization'; send one.")
        visit.role = self.settings.role_of(visit.header(b"authorization"))
        is_open = path in HEALTH or path == _PAGE[0] or path.startswith(_PAGE[1])
        if visit.role is None and not is_open:
            why = "This needs a token: send the header 'Authorization: Bearer TOKEN'."
            raise Refused(401, why, {b"www-authenticate": b"Bearer"})

    async def _enter(self, visit: Visit) -> None:
        scope, receive, send = visit.scope, visit.receive, visit.send
        found = self.direct.get(scope["path"])
        if found is None or scope["method"] != "POST":
            if scope["method"] in ("GET", "HEAD") and scope["path"] not in HEALTH:
                self.admit(visit)
            await self.app(scope, receive, send)
            return
        handle, visit.params = found
        visit.handler = handle.__name__
        reply = await handle(visit)
        await reply(scope, receive, send)

    async def _fail(self, error: Exception, visit: Visit) -> None:
        """Answer with an error; where an answer has begun, the connection is cut."""
        if isinstance(error, HTTPException):
            allowed = {k.encode(): v.encode() for k, v in (error.headers or {}).items()}
            error = Refused(error.status_code, f"{error.detail}.", allowed)
        elif not isinstance(error, Refused):
            told = "".join(traceback.format_exception(error))
            self.log.note("failed", level="error", traceback=told)
            error = Refused(500, "Something went wrong on the server; its log says what.")
        if not visit.status:
            body = to_json({"error": error.message})
            headers = {b"content-type": b"application/json", **error.headers}
            await Reply(body, headers, error.status)(visit.scope, visit.receive, visit.send)
            return
        visit.status = _HANGS_UP
        abort(visit.receive)

    def _look(self) -> None:
        """End what takes too long, and note what is over; again and again while there is work."""
        now = time.perf_counter()
        for visit in [visit for visit in self._visits if visit.end < now and not visit.expired]:
            visit.expire()
        self.flush()
        self._is_waiting = bool(self._visits)
        if self._is_waiting:
            asyncio.get_running_loop().call_later(_LATER, self._look)

    def flush(self) -> None:
        """Count requests, and write lines about them: many at once take a fraction of the time."""
        noted, self._noted, lines = self._noted, [], []
        self.figures.in_flight.set(self.in_flight)
        for visit, seconds, when in noted:
            scope, client = visit.scope, visit.scope.get("client")
            self.figures.count(visit, seconds)
            if not self.settings.access_log:
                continue
            facts: dict[str, Any] = {
                "method": scope["method"],
                "path": scope["path"][:200],  # and no query, where a secret might stand
                "status": visit.status,
                "ms": round(1000 * seconds, 3),
                "sent": visit.sent,
                "client": client[0] if client else "",
            }
            if visit.model:
                facts |= {"model": visit.model, "version": visit.version, "rows": visit.rows}
            if visit.number is not None:
                facts["id"] = visit.number.decode()
            lines.append(line(when, "request", facts))
        if lines:
            self.log.write(lines)
