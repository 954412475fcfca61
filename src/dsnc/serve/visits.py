"""One request and its reply, as all that answer see them."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from dsnc.serve.limits import Gone, Limits, busy

Headers = dict[bytes, bytes]
SAFE = {
    b"x-content-type-options": b"nosniff",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
_ID, _ID_HEADER = re.compile(rb"[A-Za-z0-9_.:-]{1,64}"), b"x-request-id"


class Visit:
    """What is known of a request, while it is answered."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, seconds: float) -> None:
        self.scope, self.receive, self._send = scope, receive, send
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.params: dict[str, str] = {}
        self.handler, self.model, self.version = "none", "", ""
        self.rows = self.sent = self.status = self.held = 0
        self.expired = self.is_coming = self.is_in_flight = False
        self.role: str | None = None
        self.number = self.headers.get(_ID_HEADER)
        if self.number is not None and not _ID.fullmatch(self.number):
            self.number = None  # not fit for a log
        self.task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]
        self.begin = time.perf_counter()
        self.end = self.begin + seconds

    def header(self, name: bytes) -> str:
        """Return a header, or nothing."""
        return self.headers.get(name, b"").decode("latin-1")

    def go(self) -> None:
        """Refuse to go on when the time is over; threads cannot be told otherwise."""
        if time.perf_counter() > self.end:
            raise busy("The request took too long.")

    def more_time(self, seconds: float) -> None:
        """Let the time begin anew, for a stream that moves."""
        self.end = time.perf_counter() + seconds

    async def body(self, limits: Limits, hold: Callable[["Visit", int], None]) -> bytes:
        """Return the whole body, which must come in time; its bytes are held meanwhile."""
        limits.check_body(int(self.headers.get(b"content-length", b"0")))
        end, self.is_coming = self.end, True
        parts, more = [], True
        while more:
            self.end = limits.body_ends(self.begin, time.perf_counter(), self.held)
            data, more = await self.read()
            hold(self, len(data))
            parts.append(data)
        self.end, self.is_coming = end, False
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def expire(self) -> None:
        """End it, wherever it waits."""
        self.expired = True
        self.task.cancel()

    async def send(self, message: Message) -> None:
        """Send a piece of an answer, with the headers that all have."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if self.number is not None:
                message["headers"].append((_ID_HEADER, self.number))
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def read(self) -> tuple[bytes, bool]:
        """Return a piece of the body, and whether there is more."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        return message.get("body", b""), message.get("more_body", False)


class Reply:
    """A whole answer."""

    def __init__(self, body: bytes, headers: Headers, status: int = 200) -> None:
        self.body, self.status = body, status
        all_headers = {b"content-length": b"%d" % len(body), **SAFE, **headers}
        self.headers = list(all_headers.items())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})
