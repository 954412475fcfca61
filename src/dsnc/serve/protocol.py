"""HTTP as uvicorn speaks it, for clients that are slow on purpose or by accident."""

import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CONNECTIONS = 1000  # of a worker
_HEAD = 1 << 16  # bytes of the head of a request
_LINGER = 1.0  # seconds in which a client may use a connection that is about to be closed
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
_LONG = _refusal(
    "431 Request Header Fields Too Large", f"The head of a request may have {_HEAD:,} bytes."
)


class Patience(HttpToolsProtocol):
    """Hangs up where no request comes, its head does not end, or the rest of one that was answered.

    It waits `seconds` for each of these. Where there are too many connections, the one that has
    been silent for longest makes room for a new one, so that silence shuts nobody out.
    """

    def __init__(self, *args: Any, seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seconds = seconds
        self._seen: tuple[Any, float] = (None, 0.0)  # what we waited for, and since when
        self._moved = self.loop.time()  # when the last bytes came
        self._head = 0  # bytes of a head that is not complete

    def connection_made(self, transport: Any) -> None:
        """Look after all connections while there are any."""
        super().connection_made(transport)
        connections: Any = self.connections
        if len(connections) == 1:
            self.loop.call_later(self.seconds / _LOOKS, _sweep, self)
        if len(connections) <= _CONNECTIONS:
            return
        silent = [each for each in connections if each is not self and each.waits_for_client]
        if silent:
            min(silent, key=lambda each: each._moved).transport.abort()
        else:
            transport.write(_FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes, but no head without an end."""
        self._moved = self.loop.time()
        super().data_received(data)
        self._head = self._head + len(data) if self._in_head else 0
        if self._head > _HEAD and not self.transport.is_closing():
            self.transport.write(_LONG)
            self.transport.close()

    def shutdown(self) -> None:
        """Close a connection that nobody uses, but not before a request on its way has come."""
        if self.cycle is None or self.cycle.response_complete:
            self.loop.call_later(_LINGER, super().shutdown)
        else:
            super().shutdown()

    @property
    def _in_head(self) -> bool:
        """Whether the head of a request has begun, or must begin."""
        cycle: Any = self.cycle
        return cycle is None or self.scope is not cycle.scope

    @property
    def waits_for_client(self) -> bool:
        """Whether nothing is being answered here."""
        cycle: Any = self.cycle
        return self._in_head or cycle.response_complete or cycle.more_body

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all other errors."""
        self.transport.write(_BROKEN)
        self.transport.close()

    def waits_too_long(self, now: float) -> bool:
        """Tell whether we have waited for one thing of the client for too long.

        While a request is answered we wait for nothing: the application has a clock of its own.
        """
        cycle: Any = self.cycle
        scope: Any = self.scope
        waited_for: Any = None
        if self._in_head:
            waited_for = scope or self
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
