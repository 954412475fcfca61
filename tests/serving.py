"""Services as processes of their own, and clients that speak to them over a socket."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

GOLDEN = Path(__file__).parent / "data"
START = "from dsnc.cli import main; main()"
JSON = {"Content-Type": "application/json"}


class Service:
    """A running ``dsnc serve``; `log` has the lines that it wrote."""

    def __init__(self, folder, *arguments, wait=True):
        self.path = folder / f"log-{os.urandom(4).hex()}.jsonl"
        with self.path.open("wb") as log:
            command = [sys.executable, "-W", "error", "-c", START, "serve", "--port", "0"]
            self.process = subprocess.Popen(
                [*command, *map(str, arguments)], stderr=log, stdin=subprocess.DEVNULL
            )
        if wait:
            address = self.wait_for("starting")["address"]
            self.port = int(address.rpartition(":")[2])
            self.wait_for("ready")
            self._connect()

    @property
    def log(self):
        lines = self.path.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def wait_for(self, event, seconds=120, **facts):
        """Return the first line about an event."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.log:
                if line["event"] == event and facts.items() <= line.items():
                    return line
            assert self.process.poll() is None, self.path.read_text()
            time.sleep(0.02)
        raise AssertionError(f"no {event!r} in {self.path.read_text()[-2000:]}")

    def _connect(self):
        for _ in range(200):  # it says that it is ready just before it listens
            try:
                self.socket().close()
                return
            except ConnectionRefusedError:
                time.sleep(0.02)

    def socket(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def ask(self, method, path, body=None, headers=None):
        """Send one request; return status, headers and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        status, _, body = self.ask("GET", path, headers=headers)
        assert status == 200, body
        return body

    def predict(self, body, path="/models/vectors/predict", code=200, **headers):
        """Ask for predictions; what is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        status, _, answer = self.ask("POST", path, data, {**JSON, **headers})
        assert status == code, answer
        return json.loads(answer)

    def raw(self, data, *, to_end=False):
        """Send bytes as they are; return the answer, or all until the server hangs up."""
        found = b""
        with self.socket() as connection, contextlib.suppress(ConnectionError):
            connection.sendall(data)
            while (to_end or not is_whole(found)) and (piece := connection.recv(65536)):
                found += piece
        return found

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(30)

    def kill(self):
        self.process.kill()
        self.process.wait()


def is_whole(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return length is not None and len(body) >= int(length[1])


def status_of(answer):
    return int(answer.split(b" ", 2)[1])
