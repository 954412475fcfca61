"""The processes that answer: they leave gently, and one that dies is replaced."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from uvicorn import Config, Server
from uvicorn.supervisors import multiprocess

_AGAIN = 0.05  # seconds between two looks whether somebody is in a hurry
IS_DRAINING = "is_draining"  # in the state that requests see


class DrainConfig(Config):
    """Settings of uvicorn, and how long it still answers when it has been told to stop."""

    drain: float = 0.0  # seconds


class DrainServer(Server):
    """A server that says that it is going before it goes: it is not ready, and keeps nobody.

    Every answer from then on closes its connection, so that no client sends a request to one that
    is about to be closed.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, after a while in which everything is still answered."""
        self.lifespan.state[IS_DRAINING] = True
        state = self.server_state
        state.default_headers = [*state.default_headers, (b"connection", b"close")]
        end = time.monotonic() + getattr(self.config, "drain", 0.0)
        while time.monotonic() < end and not self.force_exit:
            await asyncio.sleep(_AGAIN)
        last = asyncio.create_task(self._admit([*_waiting(sockets or [])]))
        await super().shutdown(sockets)
        await last

    async def _admit(self, connections: list[socket.socket]) -> None:
        """Answer those who came last."""
        loop, state = asyncio.get_running_loop(), self.lifespan.state
        make: Any = self.config.http_protocol_class
        make = partial(make, config=self.config, server_state=self.server_state, app_state=state)
        for connection in connections:
            _, protocol = await loop.connect_accepted_socket(make, connection)
            protocol.shutdown()


def _waiting(listeners: list[socket.socket]) -> Iterator[socket.socket]:
    """Accept those who wait to be; when nobody listens any more, they are cut."""
    for listener in listeners:
        listener.settimeout(0)
        with suppress(OSError):  # nobody is left
            while True:
                yield listener.accept()[0]


class Worker(multiprocess.Process):
    """A process with such a server."""

    @property
    def server(self) -> Server:
        """The server, made in the process itself."""
        if self._server is None:
            self._server = DrainServer(self.config)
        return self._server


multiprocess.Process = Worker  # type: ignore[misc]  # uvicorn has no other place to say it


class Workers(multiprocess.Multiprocess):
    """Workers of uvicorn, whose death is always seen at once.

    Twice a second each is asked whether it lives, and may take a long time to answer, as when it
    starts. As long as the parent holds the worker's end of the pipe, too, a worker that is killed
    just then looks like one that is slow.
    """

    def keep_subprocess_alive(self) -> None:
        """Replace those that are dead, or silent for too long."""
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()

    def terminate_all(self) -> None:
        """Let the workers go; who connects when none listens any more is told so at once."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()
