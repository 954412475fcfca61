"""The door that every request passes: who may come in, for how long, and what is noted of it."""

import asyncio
import re
import traceback
from time import perf_counter
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dsnc.serve.answers import dumps
from dsnc.serve.figures import Figures
from dsnc.serve.journal import Journal
from dsnc.serve.refusals import Gone, Refused, busy, too_large
from dsnc.serve.settings import ServeSettings

HEALTH = ("/health", "/v2/health/live", "/v2/health/ready")  # open to all, at any time
_HANGS_UP = 499  # what nginx calls a client that has gone
_HELD = 4  # times max_body that bodies may take together
_ID = re.compile(rb"[A-Za-z0-9_.:-]{1,64}")
SAFE_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
_STRICT = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")


class Visit:
    """What is known of one request."""

    __slots__ = ("clock", "end", "held", "model", "rows", "sent", "status", "version")

    def __init__(self, end: float) -> None:
        self.end, self.clock = end, None
        self.model = self.version = ""
        self.rows = self.sent = self.status = self.held = 0

    clock: asyncio.Timeout | None

    def go(self) -> None:
        """Refuse to go on when the time is over; threads cannot be told otherwise."""
        if perf_counter() > self.end:
            raise busy("The request took too long.")

    def more_time(self, seconds: float) -> None:
        """Let the time begin anew, for a stream that moves."""
        self.end = perf_counter() + seconds
        if self.clock is not None:
            self.clock.reschedule(asyncio.get_running_loop().time() + seconds)


class Door:
    """An application around the application."""

    def __init__(
        self, app: ASGIApp, settings: ServeSettings, figures: Figures, journal: Journal
    ) -> None:
        self.app, self.settings, self.figures, self.journal = app, settings, figures, journal
        self.in_flight = self.held = 0
        self._seconds: dict[str, Any] = {}
        self._counted: dict[tuple[str, int], Any] = {}
        figures.in_flight.set(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = perf_counter()
        visit = scope["visit"] = Visit(begin + self.settings.max_seconds)
        scope["app"] = self  # for Starlette: errors of routing are raised, and told here
        headers = dict(scope["headers"])
        known = self._headers(headers)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                own = message["headers"] = [*message.get("headers", ()), *known]
                if not any(name == _STRICT[0] for name, _ in own):
                    own.append(_STRICT)
            else:
                visit.sent += len(message.get("body", b""))
            await send(message)

        counts = scope["path"] not in HEALTH
        self.in_flight += counts
        self.figures.in_flight.set(self.in_flight)
        try:
            if counts:
                self._check(headers)
            async with asyncio.timeout(self.settings.max_seconds) as visit.clock:
                await self.app(scope, receive, answer)
        except Gone:
            visit.status = _HANGS_UP
        except Exception as error:
            await self._fail(error, scope, answer, visit)
        finally:
            self.in_flight -= counts
            self.held -= visit.held
            self._note(scope, visit, headers, perf_counter() - begin)

    def hold(self, visit: Visit, n_bytes: int) -> None:
        """Count bytes of a body that are kept in memory."""
        visit.held += n_bytes
        self.held += n_bytes
        if visit.held > self.settings.max_body:
            raise too_large(f"The body is larger than {self.settings.max_body:,} bytes.")
        if self.held > _HELD * self.settings.max_body:
            raise busy("Too many large requests are being read.")

    def _check(self, headers: dict[bytes, bytes]) -> None:
        if not self.settings.lets_in(headers.get(b"authorization", b"").decode("latin-1")):
            why = "This needs a token: send the header 'Authorization: Bearer TOKEN'."
            raise Refused(401, why, {"WWW-Authenticate": "Bearer"})
        if self.in_flight > self.settings.max_in_flight:
            raise busy("Too many requests are being answered.")

    def _headers(self, headers: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        number = headers.get(b"x-request-id", b"")
        named = [(b"x-request-id", number)] if _ID.fullmatch(number) else []
        return SAFE_HEADERS + named

    async def _fail(self, error: Exception, scope: Scope, send: Send, visit: Visit) -> None:
        """Answer with an error; where an answer has begun, the connection is cut."""
        if isinstance(error, HTTPException):
            error = Refused(error.status_code, f"{error.detail}.", error.headers)
        elif isinstance(error, TimeoutError):
            error = busy("The request took too long.")
        elif not isinstance(error, Refused):
            told = "".join(traceback.format_exception(error))
            self.journal.note("failed", level="error", traceback=told)
            error = Refused(500, "Something went wrong here; the log says what.")
        if not visit.status:
            await refuse(error, send)
            return
        visit.status = _HANGS_UP
        if "abort" in scope:
            scope["abort"]()

    def _note(
        self, scope: Scope, visit: Visit, headers: dict[bytes, bytes], seconds: float
    ) -> None:
        handler, status = getattr(scope.get("endpoint"), "__name__", "none"), visit.status
        if handler not in self._seconds:
            self._seconds[handler] = self.figures.seconds.labels(handler)
        if (handler, status) not in self._counted:
            self._counted[handler, status] = self.figures.requests.labels(handler, status)
        self._seconds[handler].observe(seconds)
        self._counted[handler, status].inc()
        self.figures.in_flight.set(self.in_flight)
        if visit.rows and visit.model:
            self.figures.rows.labels(visit.model).inc(visit.rows)
        if self.settings.access_log:
            facts: dict[str, Any] = {
                "method": scope["method"],
                "path": scope["path"][:200],  # and no query, where a secret might stand
                "status": status,
                "ms": round(1000 * seconds, 3),
                "sent": visit.sent,
                "client": (scope.get("client") or [""])[0],
            }
            if visit.model:
                facts |= {"model": visit.model, "version": visit.version, "rows": visit.rows}
            if _ID.fullmatch(headers.get(b"x-request-id", b"")):
                facts["id"] = headers[b"x-request-id"].decode()
            self.journal.note("request", **facts)


async def refuse(refused: Refused, send: Send) -> None:
    """Send an error as JSON."""
    body = dumps({"error": refused.message}).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **refused.headers,
    }
    raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
