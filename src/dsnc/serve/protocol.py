"""HTTP as uvicorn speaks it, for clients that are slow on purpose or by accident."""

import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CONNECTIONS = 1000  # of a worker
_LOOKS = 8  # at all connections, in the time that they have


def _refusal(status: str, message: str) -> bytes:
    """Return an answer to who has asked nothing that the application could see."""
    body = json.dumps({"error": message})
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
    return f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


_FULL = _refusal(
    "503 Service Unavailable\r\nretry-after: 1", "There are too many connections; try again."
)
_BROKEN = _refusal("400 Bad Request", "This is not a valid HTTP request.")


class Patience(HttpToolsProtocol):
    """Hangs up where no request comes, its head does not end, or the rest of one that was answered.

    It waits `seconds` for each of these.
    """

    def __init__(self, *args: Any, seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seconds = seconds
        self._seen: tuple[Any, float] = (None, 0.0)  # what we waited for, and since when

    def connection_made(self, transport: Any) -> None:
        """Look after all connections while there are any."""
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.write(_FULL)
            transport.close()
        elif len(self.connections) == 1:
            self.loop.call_later(self.seconds / _LOOKS, _sweep, self)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all other errors."""
        self.transport.write(_BROKEN)
        self.transport.close()

    def waits_too_long(self, now: float) -> bool:
        """Tell whether we have waited for one thing of the client for too long.

        While a request is answered we wait for nothing: the application has a clock of its own.
        """
        scope: Any = self.scope
        cycle: Any = self.cycle
        waited_for: Any = None
        if cycle is None or scope is not cycle.scope:
            waited_for = scope or self  # the head of a request
        elif cycle.response_complete and cycle.more_body:
            waited_for = cycle  # the rest of it
        if waited_for is not self._seen[0]:
            self._seen = waited_for, now
        return waited_for is not None and now - self._seen[1] >= self.seconds


def _sweep(any_one: Patience) -> None:
    """Hang up where we have waited too long; a timer for each request would cost as much as it."""
    connections: Any = any_one.connections
    for each in list(connections):
        if each.waits_too_long(any_one.loop.time()):
            each.transport.abort()
    if connections:
        any_one.loop.call_later(any_one.seconds / _LOOKS, _sweep, any_one)


def abort(receive: Any) -> None:
    """Cut the connection that an application receives from; its answer cannot be completed."""
    cycle = getattr(receive, "__self__", None)  # of uvicorn; another server has its own ways
    if cycle is not None and hasattr(cycle, "transport"):
        cycle.transport.abort()
