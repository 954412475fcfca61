"""HTTP as uvicorn speaks it, for clients that are slow on purpose or by accident."""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_CONNECTIONS = 1000  # of a worker


def _refusal(status: str, message: str) -> bytes:
    """Return an answer to who has asked nothing that the application could see."""
    body = json.dumps({"error": message})
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nretry-after: 1\r\n"
    return f"{head}connection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


_FULL = _refusal("503 Service Unavailable", "There are too many connections; try again.")
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
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        if len(self.connections) > _CONNECTIONS:
            transport.write(_FULL)
            transport.close()
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all other errors."""
        self.transport.write(_BROKEN)
        self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the end of the head."""
        super().on_message_begin()
        self._is_whole = False
        self._wait()

    def on_headers_complete(self) -> None:
        """Leave the rest to the application, which has a clock of its own."""
        self._stop_waiting()
        self.scope["abort"] = self.transport.abort  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Know that nothing more will come."""
        self._is_whole = True
        if self.cycle is not None and self.cycle.response_complete:
            self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the rest of a request that was refused before its end."""
        super().on_response_complete()
        if not self._is_whole:
            self._wait()

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self._seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
