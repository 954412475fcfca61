"""A real HTTP server on 127.0.0.1 that can misbehave when told to."""

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass
class Page:
    """One file of the server, and how it is served; may be changed between requests."""

    content: bytes
    length: bool = True  # send Content-Length (else chunked)
    break_after: int | None = None  # bytes of a body after which the connection is dropped
    break_times: int | None = None  # how many times; None: always
    status: int | None = None  # answer this instead
    status_times: int | None = None  # how many times; None: always


class Server:
    """Use as a context manager; `pages` maps a path such as ``"/a.bin"`` to its `Page`."""

    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        self.requests: list[str] = []
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
                with server._lock:
                    server.requests.append(self.path)
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
        http.send_response(200)
        if page.length:
            http.send_header("Content-Length", str(len(page.content)))
        else:
            http.send_header("Transfer-Encoding", "chunked")
        http.end_headers()
        self._send_body(http, page)

    def _send_body(self, http: BaseHTTPRequestHandler, page: Page) -> None:
        broken = page.break_after is not None and self._due(page, "break")
        sent = page.content[: page.break_after] if broken else page.content
        if page.length:
            http.wfile.write(sent)
        else:
            http.wfile.write(f"{len(sent):x}\r\n".encode() + sent + b"\r\n")
            http.wfile.write(b"" if broken else b"0\r\n\r\n")
        http.wfile.flush()

    def _due(self, page: Page, what: str) -> bool:
        """Tell whether the page misbehaves this time, and count it."""
        if what == "status" and page.status is None:
            return False
        with self._lock:
            left = getattr(page, f"{what}_times")
            if left is not None:
                setattr(page, f"{what}_times", max(0, left - 1))
            return left is None or left > 0
