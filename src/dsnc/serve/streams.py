"""A line in, a line out, for as long as the client likes; memory does not grow."""

import asyncio
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from starlette.types import Message, Receive, Scope, Send

from dsnc.serve.answers import answer, as_lines, check, cost, to_json
from dsnc.serve.bodies import Rows
from dsnc.serve.crew import FEW, SMALL, Crew
from dsnc.serve.door import Door
from dsnc.serve.limits import Refused
from dsnc.serve.options import Options
from dsnc.serve.packing import Unpacker, new_packer, wants_gzip
from dsnc.serve.served import Served
from dsnc.serve.visits import SAFE, Visit

LINES = b"application/x-ndjson"
_WAITS = 1 << 30  # seconds: a stream that has begun waits for a thread


class LineStream:
    """Answers lines of JSON, while they come: a response of Starlette.

    Answers wait until the client takes them, those of all streams up to as many bytes as a body may
    have: a client that reads nothing before it has sent everything gets along, if it is not too
    much. `door` counts the bytes of a line whose end has not come, and `streams` are those of now.
    """

    def __init__(
        self,
        served: Served,
        options: Options,
        visit: Visit,
        crew: Crew,
        door: Door,
        streams: set["LineStream"],
    ) -> None:
        check(served, options)
        self.served, self.options, self.visit = served, options, visit
        self.crew, self.door, self.streams = crew, door, streams
        self.limits = door.settings
        encoding = visit.header(b"content-encoding")
        self._unpacker, self._is_packed = Unpacker(encoding), bool(encoding)
        self._packer = new_packer() if wants_gzip(visit.header(b"accept-encoding")) else None
        headers = {**SAFE, b"content-type": LINES, b"vary": b"Accept-Encoding"}
        headers[b"x-model-version"] = visit.version.encode()
        if self._packer is not None:
            headers[b"content-encoding"] = b"gzip"
        raw = list(headers.items())
        self._start: Message = {"type": "http.response.start", "status": 200, "headers": raw}
        self._rows, self._lines = Rows(served.model, None), 0
        self._rest: list[bytes] = []  # of a line whose end has not come
        self._length = 0
        self._answers: deque[bytes | None] = deque()
        self._kept = 0  # bytes of them
        self._changed = asyncio.Event()
        self.failed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, and send at the same time."""
        sender = asyncio.create_task(self._send(send))
        self.streams.add(self)
        try:
            await self._read()
            await sender
        finally:
            self.streams.discard(self)
            sender.cancel()
            with suppress(asyncio.CancelledError):
                await sender

    async def _read(self) -> None:
        more = True
        while more and not self.failed:
            data, more = await self.visit.read()
            found = self._feed(data, more)
            take = partial(next, found, None)
            is_small = self._is_small(data)
            while (piece := take() if is_small else await self.crew.run(take, _WAITS)) is not None:
                await self._keep(piece)
            self.door.hold(self.visit, self._length - self.visit.held)
        self._answers.append(None)
        self._changed.set()

    def _is_small(self, data: bytes) -> bool:
        """Tell whether lines are answered in no time."""
        if self._is_packed or len(data) > SMALL:
            return False
        return cost(self.served, data.count(b"\n") + 1, self.options) <= FEW

    async def _keep(self, piece: bytes) -> None:
        """Keep an answer until it is sent; wait while there are too many."""
        self.visit.more_time(self.limits.max_seconds)
        self._answers.append(piece)
        self._kept += len(piece)
        self._changed.set()
        while self._kept > self.limits.max_body // len(self.streams):
            self._changed.clear()
            await self._changed.wait()

    async def _send(self, send: Send) -> None:
        begun = False
        while True:
            while not self._answers:
                self._changed.clear()
                await self._changed.wait()
            piece = self._answers.popleft()
            if not begun:
                await send(self._start)
                begun = True
            if piece is None:
                end = b"" if self._packer is None else self._packer.flush()
                await send({"type": "http.response.body", "body": end})
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self.visit.more_time(self.limits.max_seconds)
            self._kept -= len(piece)
            self._changed.set()

    def _feed(self, data: bytes, more: bool) -> Iterator[bytes]:
        """Yield the answers for all lines that are complete now, some at a time."""
        for found in self._answered(data, more):
            if self._packer is None:
                yield found
            else:  # so that each piece can be unpacked when it comes
                yield self._packer.compress(found) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def _answered(self, data: bytes, more: bool) -> Iterator[bytes]:
        try:
            for piece in self._unpacker.pieces(data):
                self.visit.go()
                yield from self._gather(piece)
            if not more:
                self._unpacker.close()
                yield from self._gather(b"\n")
        except Refused as refused:
            if not self.visit.rows:
                raise  # nothing was sent: it can be told by the status
            self.failed = True
            yield to_json({"error": refused.message}) + b"\n"

    def _gather(self, data: bytes) -> Iterator[bytes]:
        """Answer lines; those before one that cannot be read are answered, too."""
        *lines, rest = data.split(b"\n")
        if lines:  # only then is copied what has come of a line
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._length = [], 0
        self._rest.append(rest)
        self._length += len(rest)
        refused = None
        try:
            for line in lines:
                self._lines += 1
                if line := line.strip():
                    if self._is_packed:
                        self.limits.check_values(line, 0)
                    self._rows.add(line, self._lines)
            self.limits.check_body(self._length, f"Line {self._lines + 1:,}")
        except Refused as problem:
            refused = problem
        if self._rows.n:
            for block in answer(self.served, self._rows.take(), self.options, self.visit.go):
                self.visit.rows += len(block.labels)
                yield as_lines(block, self.options)
        if refused is not None:
            raise refused
