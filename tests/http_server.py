"""A real HTTP server on 127.0.0.1 that knows ranges, and that can misbehave when told to."""

import email.utils
import hashlib
import socket
import struct
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Request(NamedTuple):
    """What a client asked for."""

    path: str
    range: str | None
    if_range: str | None
    encoding: str | None


@dataclass
class Page:
    """One file of the server, and how it is served; may be changed between requests."""

    content: bytes
    ranges: bool = True
    etag: bool = True
    weak: bool = False  # the ETag is a weak one
    modified: bool = False  # send Last-Modified
    length: bool = True  # send Content-Length (else chunked)
    break_after: int | None = None  # bytes of a body after which the connection is dropped
    break_times: int | None = None  # how many times; None: always
    reset: bool = False  # drop by a reset instead of a close
    status: int | None = None  # answer this instead
    status_times: int | None = None  # how many times; None: always
    hold: bool = False  # after break_after bytes, send nothing more and keep the connection
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def tag(self) -> str:
        tag = f'"{hashlib.md5(self.content).hexdigest()}"'
        return "W/" + tag if self.weak else tag

    @property
    def date(self) -> str:
        return email.utils.formatdate(len(self.content) + sum(self.content[:64]), usegmt=True)


class Server:
    """Use as a context manager; `pages` maps a path such as ``"/a.bin"`` to its `Page`."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[Request] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False  # joined at the end: no socket is left open
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def add(self, path: str, content: bytes, **how: Any) -> str:
        """Serve `content` under `path`; return its URL."""
        self.pages[path] = Page(content, **how)
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self._http.server_port}{path}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                asked = (self.headers.get(h) for h in ("Range", "If-Range", "Accept-Encoding"))
                with server._lock:
                    server.requests.append(Request(self.path, *asked))
                self.close_connection = True
                server._answer(self)

        return Handler

    def _answer(self, http: BaseHTTPRequestHandler) -> None:
        page = self.pages.get(http.path)
        if page is None or self._due(page, "status"):
            http.send_response(404 if page is None else page.status or 500)
            http.send_header("Content-Length", "0")
            http.end_headers()
            return
        start = self._start(http, page)
        if start is not None and start >= len(page.content):
            http.send_response(416)
            http.send_header("Content-Range", f"bytes */{len(page.content)}")
            http.send_header("Content-Length", "0")
            http.end_headers()
            return
        body = page.content[start or 0 :]
        http.send_response(200 if start is None else 206)
        if start is not None:
            last, total = len(page.content) - 1, len(page.content)
            http.send_header("Content-Range", f"bytes {start}-{last}/{total}")
        self._send_headers(http, page, body)
        self._send_body(http, page, body)

    def _start(self, http: BaseHTTPRequestHandler, page: Page) -> int | None:
        asked, condition = http.headers.get("Range"), http.headers.get("If-Range")
        if not (page.ranges and asked):
            return None
        strong = [page.tag] * (page.etag and not page.weak) + [page.date] * page.modified
        if condition is not None and condition not in strong:
            return None
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def _send_headers(self, http: BaseHTTPRequestHandler, page: Page, body: bytes) -> None:
        if page.etag:
            http.send_header("ETag", page.tag)
        if page.modified:
            http.send_header("Last-Modified", page.date)
        if page.length:
            http.send_header("Content-Length", str(len(body)))
        else:
            http.send_header("Transfer-Encoding", "chunked")
        for name, value in page.headers.items():
            http.send_header(name, value)
        http.end_headers()

    def _send_body(self, http: BaseHTTPRequestHandler, page: Page, body: bytes) -> None:
        broken = page.break_after is not None and self._due(page, "break")
        sent = body[: page.break_after] if broken else body
        try:
            if page.length:
                http.wfile.write(sent)
            else:
                http.wfile.write(f"{len(sent):x}\r\n".encode() + sent + b"\r\n")
                http.wfile.write(b"" if broken else b"0\r\n\r\n")
            http.wfile.flush()
        except ConnectionError:
            return  # the client was killed: that is what the test is about
        if broken and page.hold:
            self.released.wait(30)
        elif broken and page.reset:
            # Lingering for zero seconds turns the close into a reset.
            option = struct.pack("ii", 1, 0)
            http.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
            http.connection.close()

    def _due(self, page: Page, what: str) -> bool:
        """Tell whether the page misbehaves this time, and count it."""
        if what == "status" and page.status is None:
            return False
        with self._lock:
            left = getattr(page, f"{what}_times")
            if left is not None:
                setattr(page, f"{what}_times", max(0, left - 1))
            return left is None or left > 0
