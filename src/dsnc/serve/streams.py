"""A line in, a line out, for as long as the client likes; memory does not grow."""

import asyncio
import sys
from collections import deque
from contextlib import suppress
from functools import partial

from starlette.types import Message, Receive, Scope, Send

from dsnc.serve.answers import answer, as_lines, dumps
from dsnc.serve.bodies import parse_value
from dsnc.serve.crew import SMALL, Crew
from dsnc.serve.options import Options
from dsnc.serve.packing import Packer, Unpacker, wants_gzip
from dsnc.serve.refusals import Refused, too_large
from dsnc.serve.served import Served
from dsnc.serve.visits import STRICT, Headers, Visit

LINES = b"application/x-ndjson"
_WAITS = 1 << 30  # seconds: a stream that has begun waits for a thread


class LineStream:
    """Answers lines of JSON, while they come: a response of Starlette.

    Answers wait until the client takes them, up to as many bytes as a body may have: a client that
    reads nothing before it has sent everything gets along, if it is not too much.
    """

    def __init__(
        self,
        served: Served,
        options: Options,
        crew: Crew,
        visit: Visit,
        *,
        headers: Headers,
        most: int,
        seconds: float,
    ) -> None:
        self.served, self.options, self.crew, self.visit = served, options, crew, visit
        self.most, self.seconds = most, seconds
        self._unpacker = Unpacker(visit.header(b"content-encoding"))
        self._packer = Packer() if wants_gzip(visit.header(b"accept-encoding")) else None
        headers = {**STRICT, b"content-type": LINES, b"vary": b"Accept-Encoding", **headers}
        if self._packer is not None:
            headers[b"content-encoding"] = b"gzip"
        raw = list(headers.items())
        self._start: Message = {"type": "http.response.start", "status": 200, "headers": raw}
        self._rows, self._lines = served.rows(sys.maxsize), 0
        self._rest: list[bytes] = []  # of a line whose end has not come
        self._length = 0
        self._answers: deque[bytes | None] = deque()
        self._kept = 0  # bytes of them
        self._changed = asyncio.Event()
        self.failed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read, and send at the same time."""
        sender = asyncio.create_task(self._send(send))
        try:
            await self._read()
            await sender
        finally:
            sender.cancel()
            with suppress(asyncio.CancelledError):
                await sender

    async def _read(self) -> None:
        more = True
        while more and not self.failed:
            data, more = await self.visit.read()
            if len(data) <= SMALL and not self.options.explain:
                found = self._feed(data, more)
            else:
                found = await self.crew.run(partial(self._feed, data, more), _WAITS)
            if found:
                self.visit.more_time(self.seconds)
                self._answers.append(found)
                self._kept += len(found)
                self._changed.set()
            while self._kept > self.most:
                self._changed.clear()
                await self._changed.wait()
        self._answers.append(None)
        self._changed.set()

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
                end = b"" if self._packer is None else self._packer.close()
                await send({"type": "http.response.body", "body": end})
                return
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self.visit.more_time(self.seconds)
            self._kept -= len(piece)
            self._changed.set()

    def _feed(self, data: bytes, more: bool) -> bytes:
        """Return the answers for all lines that are complete now."""
        answers: list[bytes] = []
        try:
            for piece in self._unpacker.pieces(data):
                self._gather(piece, answers)
            if not more:
                self._unpacker.close()
                self._gather(b"\n", answers)
        except Refused as refused:
            if not self.visit.rows:
                raise  # nothing was sent: it can be told by the status
            self.failed = True
            answers.append(f"{dumps({'error': refused.message})}\n".encode())
        found = b"".join(answers)
        return self._packer.add(found) if self._packer is not None and found else found

    def _gather(self, data: bytes, answers: list[bytes]) -> None:
        """Answer lines; those before one that cannot be read are answered, too."""
        *lines, rest = data.split(b"\n")
        if lines:  # only then is copied what has come of a line
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._length = [], 0
        self._rest.append(rest)
        self._length += len(rest)
        try:
            for line in lines:
                self._lines += 1
                if line.strip():
                    self._rows.add(parse_value(line, self._lines), self._lines)
            if self._length > self.most:
                raise too_large(f"Line {self._lines + 1:,} is longer than {self.most:,} bytes.")
        finally:
            if n_rows := self._rows.n:
                blocks = answer(self.served, self._rows.take(), self.options, self.visit.go)
                answers += [as_lines(block, self.options) for block in blocks]
                self.visit.rows += n_rows
