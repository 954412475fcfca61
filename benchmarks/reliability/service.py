"""A service under hostile requests: what each costs those who only ask whether it is healthy.

While a request of `hostile` is answered, a process of its own asks for ``/health`` without a pause.
The slowest of these answers counts, and the most memory that the service has had meanwhile.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

import dsnc
from memory import now, peak
from reliability.hostile import HOSTILE, MANY, TOKEN, Hostile, Target

_SECONDS, _MEGABYTES = 0.2, 200.0  # that a request may delay others, and that it may take
_ATTEMPTS = 3  # a machine is slow now and then, a hole always
_START = "from dsnc.cli import main; main()"
_STARTING = 180.0  # seconds
_QUIET = 0.3  # seconds of /health before a request is sent
_PROBE = """
import select, socket, sys, time
slowest, wrong = 0.0, 0
request = b"GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n"
while not select.select([sys.stdin], [], [], 0.005)[0]:
    begin, answer = time.perf_counter(), b""
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=100) as connection:
            connection.sendall(request)
            while piece := connection.recv(65536):
                answer += piece
    except OSError:
        pass
    wrong += not answer.startswith(b"HTTP/1.1 200 ")
    slowest = max(slowest, time.perf_counter() - begin)
print(slowest, wrong)
"""


class Cost(NamedTuple):
    """What a request came to, and what it cost."""

    answer: str
    n_bytes: int  # sent
    seconds: float  # of the slowest /health
    wrong: int  # answers of /health that were not 200
    megabytes: float

    def trouble(self, expected: tuple[int, ...]) -> str:
        """Say what must not be; nothing where all is well."""
        if self.answer not in map(str, expected):
            return f"answered {self.answer}, and not {' or '.join(map(str, expected))}"
        if self.wrong or self.seconds > _SECONDS:
            return f"/health took {self.seconds:.2f} s, and failed {self.wrong} times"
        if self.megabytes > _MEGABYTES:
            return f"took {self.megabytes:.0f} MB"
        return ""


def models(folder: Path) -> list[Path]:
    """Make the models that are asked: a small one, and one of as many classes as a business has."""
    settings: dict[str, Any] = {"n_bits": 32, "max_epochs": 3, "random_state": 0}
    small = ["night nurse", "ward nurse", "bus driver", "truck driver", "cook", "pastry cook"] * 20
    labels = [text.split()[-1] for text in small]
    made = {"texts": dsnc.DSNCClassifier(**settings).fit(small, labels)}
    names = [f"{place % 53:x}on{place % 47:x}er {place:x}" for place in range(MANY)]
    made["many"] = dsnc.DSNCClassifier(**settings).fit(names * 2, [*range(MANY)] * 2)
    X = np.eye(4, dtype=np.float32)[np.arange(80) % 4]
    made["vectors"] = dsnc.DSNCClassifier(**settings).fit(X, np.arange(80) % 4)
    for name, model in made.items():
        model.save(folder / name, overwrite=True)
    return [folder / name for name in made]


class Running:
    """A running service; with tokens, its classes may be changed."""

    def __init__(self, folders: list[Path], work: Path, *options: str) -> None:
        self.log = work / f"log-{os.urandom(4).hex()}.jsonl"
        words = ["serve", *map(str, folders), "--port", "0", *options]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen([sys.executable, "-c", _START, *words], stderr=log)
        self.target = Target(self._port())

    def _port(self) -> int:
        """Wait until it answers; return where."""
        end = time.monotonic() + _STARTING
        while time.monotonic() < end and self.process.poll() is None:
            said = self.log.read_text(encoding="utf-8")
            if (found := re.search(r"127\.0\.0\.1:(\d+)", said)) and '"ready"' in said:
                try:
                    socket.create_connection(("127.0.0.1", int(found[1]))).close()
                    return int(found[1])
                except ConnectionRefusedError:
                    pass  # it says so just before it listens
            time.sleep(0.05)
        raise RuntimeError(self.log.read_text(encoding="utf-8")[-2000:])

    def __enter__(self) -> Self:
        """Take part in a block, at the end of which it stops."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.process.kill()
        self.process.wait()

    @property
    def n_failed(self) -> int:
        """Requests whose error the log knows, and no client."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return sum(json.loads(line)["event"] == "failed" for line in lines if line[:1] == "{")

    def cost(self, hostile: Hostile) -> Cost:
        """Send a hostile request, and look what it costs."""
        data = hostile.make()
        before, failed = now(self.process.pid), self.n_failed
        command = [sys.executable, "-S", "-c", _PROBE, str(self.target.port)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen(command, **pipes, text=True) as probe:
            time.sleep(_QUIET)
            self.target.sent = 0
            answer = hostile.send(self.target, data)
            seconds, wrong = probe.communicate("over\n")[0].split()
        if self.n_failed > failed:
            answer = f"{answer}, and a traceback in the log"
        megabytes = peak(self.process.pid) - before
        if self.process.poll() is not None:
            answer = f"{answer}, and the service died"
        return Cost(answer, self.target.sent, float(seconds), int(wrong), megabytes)


def campaign(
    work: Path, attempts: int = _ATTEMPTS, hostile: Sequence[Hostile] = HOSTILE
) -> Iterator[dict[str, Any]]:
    """Send hostile requests; yield a row about each."""
    folders = models(work / "models")
    for is_open in (False, True):  # whose classes may be changed
        some = [each for each in hostile if each.changes == is_open]
        options = ["--token-file", str(work / "tokens")] if is_open else []
        (work / "tokens").write_text(TOKEN)
        if some:
            yield from _asked(some, folders, work, options, attempts)


def _asked(
    hostile: list[Hostile], folders: list[Path], work: Path, options: list[str], attempts: int
) -> Iterator[dict[str, Any]]:
    """Send requests to one service; after trouble, again to a new one."""
    running = Running(folders, work, *options)
    try:
        for each in hostile:
            for _ in range(attempts):
                cost = running.cost(each)
                if not (trouble := cost.trouble(each.expected)):
                    break
                running.__exit__()
                running = Running(folders, work, *options)
            yield {
                "what": each.name,
                "answer": cost.answer,
                "sent kB": cost.n_bytes / 1000,
                "health s": cost.seconds,
                "MB": max(0.0, cost.megabytes),
                "failed": int(bool(trouble)),
                "trouble": trouble,
            }
    finally:
        running.__exit__()
