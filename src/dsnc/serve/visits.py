"""One request and its reply, as all that answer see them."""

import asyncio
import time
from typing import Any

from starlette.types import Receive, Scope, Send

from dsnc.serve.refusals import Gone, busy

Headers = dict[bytes, bytes]


class Visit:
    """What is known of a request, while it is answered."""

    __slots__ = (
        "begin",
        "end",
        "expired",
        "handler",
        "headers",
        "held",
        "model",
        "params",
        "receive",
        "rows",
        "scope",
        "sent",
        "status",
        "task",
        "version",
    )

    def __init__(self, scope: Scope, receive: Receive, seconds: float) -> None:
        self.scope, self.receive = scope, receive
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.params: dict[str, str] = {}
        self.handler, self.model, self.version = "none", "", ""
        self.rows = self.sent = self.status = self.held = 0
        self.expired = False
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

    def expire(self) -> None:
        """End it, wherever it waits."""
        self.expired = True
        self.task.cancel()

    async def read(self) -> tuple[bytes, bool]:
        """Return a piece of the body, and whether there is more."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise Gone
        return message.get("body", b""), message.get("more_body", False)


class Reply:
    """A whole answer."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, body: bytes, headers: Headers, status: int = 200) -> None:
        self.body, self.status = body, status
        self.headers = [*headers.items(), (b"content-length", b"%d" % len(body))]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})
