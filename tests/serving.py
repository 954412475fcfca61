"""Services as processes of their own, and clients that speak to them over a socket."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

GOLDEN = Path(__file__).parent / "data"
START = "from dsnc.cli import main; main()"
JSON = {"Content-Type": "application/json"}
TOKEN = "a-token-of-those-who-change"
OPEN = {"Authorization": f"Bearer {TOKEN}", **JSON}


class Service:
    """A running ``dsnc serve``; `log` has the lines that it wrote."""

    def __init__(self, folder, *arguments, wait=True):
        self.path = folder / f"log-{os.urandom(4).hex()}.jsonl"
        with self.path.open("wb") as log:
            command = [
                sys.executable,
                "-W",
                "error",
                "-c",
                START,
                "serve",
                "--port",
                "0",
                "--drain",
                "0",
            ]
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
        found = []
        for line in self.path.read_text().splitlines():
            with contextlib.suppress(ValueError):  # half a line, when the disk was full
                found.append(json.loads(line))
        return [line for line in found if isinstance(line, dict)]

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

    @property
    def workers(self):
        """The processes that answer, or did so."""
        return [line["process"] for line in self.log if line["event"] == "ready"]

    def kill(self):
        """Kill all processes at once, as a power failure would."""
        for process in {self.process.pid, *self.workers}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()


class Changing(Service):
    """A service whose classes may be changed."""

    def __init__(self, folder, *arguments, workers=2):
        (folder / "tokens").write_text(TOKEN)
        self.folder = folder
        options = ["--token-file", folder / "tokens", "--workers", workers]
        super().__init__(folder, *arguments, *options)
        while len(self.workers) < workers:
            time.sleep(0.02)

    def of(self, method, path, body=None, code=200, model="jobs"):
        """Ask about a model, as one who may change it."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        status, headers, answer = self.ask(method, f"/models/{model}{path}", data, OPEN)
        found = json.loads(answer)
        assert status == code, found
        assert code != 200 or headers["x-model-version"] == found["version"]
        return found

    def add(self, *names, code=200):
        """Add classes, each from its name."""
        return self.of("POST", "/classes", {"inputs": names, "labels": names}, code)

    def labels(self, query=""):
        """Return the labels of all classes."""
        found = self.of("GET", f"/classes?query={query}&limit=100000")
        return [one["label"] for one in found["classes"]]


class Adding:
    """Clients that add classes without a pause; `done` has those that were acknowledged."""

    def __init__(self, service, prefix, n_threads=3):
        self.service, self.prefix = service, prefix
        self.done, self.odd, self._end = [], [], threading.Event()
        self._threads = [threading.Thread(target=self._add, args=[n]) for n in range(n_threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _add(self, number):
        count = 0
        while not self._end.is_set():
            name = f"{self.prefix} {number} {count}"
            count += 1
            body = json.dumps({"inputs": [name], "labels": [name]}).encode()
            try:
                status, _, answer = self.service.ask("POST", "/models/jobs/classes", body, OPEN)
            except (OSError, http.client.HTTPException):  # it was killed: who knows?
                time.sleep(0.05)
                continue
            if status == 200:
                self.done.append(name)
            elif status != 503:
                self.odd.append((status, answer))

    def wait(self, n):
        end = time.monotonic() + 60
        while len(self.done) < n and time.monotonic() < end:
            time.sleep(0.01)
        assert len(self.done) >= n


def copied(golden, folder):
    """Copy a golden model, and nothing but that."""
    folder.mkdir(exist_ok=True)
    for file in ("model.json", "model.safetensors"):  # in place, as cp does it
        shutil.copyfile(GOLDEN / golden / file, folder / file)
    return folder


def is_whole(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head)
    return length is not None and len(body) >= int(length[1])


def status_of(answer):
    return int(answer.split(b" ", 2)[1])
