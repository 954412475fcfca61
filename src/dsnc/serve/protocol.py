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
    """Hangs up where no request comes, or its head does not end; and lets itself be cut off.

    Parameters
    ----------
    seconds : float
        For the head of a request, and for the rest of one that was answered before its end.
    """

    def __init__(self, *args: Any, seconds: float, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seconds, self._is_whole = seconds, True
        self._since: float | None = None  # when we began to wait for the client

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.write(_FULL)
            transport.close()
            return
        self._since = self.loop.time()
        if len(self.connections) == 1:
            self._sweep_later()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all other errors."""
        self.transport.write(_BROKEN)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the end of the head."""
        super().on_message_begin()
        self._is_whole, self._since = False, self.loop.time()

    def on_headers_complete(self) -> None:
        """Leave the rest to the application, which has a clock of its own."""
        self._since = None
        self.scope["abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Know that nothing more will come."""
        self._is_whole, self._since = True, None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the rest of a request that was refused before its end."""
        super().on_response_complete()
        if not self._is_whole:
            self._since = self.loop.time()

    def _sweep_later(self) -> None:
        self.loop.call_later(self._seconds / _LOOKS, _sweep, self)


def _sweep(any_one: Patience) -> None:
    """Hang up where we have waited too long; a timer for each request would cost as much as it."""
    connections: Any = any_one.connections
    too_early = any_one.loop.time() - any_one._seconds
    for each in list(connections):
        if each._since is not None and each._since < too_early:
            each.transport.abort()
    if connections:
        any_one._sweep_later()
