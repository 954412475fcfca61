"""``dsnc serve`` beside a bare Starlette app and FastAPI with scikit-learn; overload; memory.

One connection asks services in turns, for one row or a thousand. The bar: at most 1.2 times what a
bare app takes that parses and answers the same bodies, and what the prediction takes: the
difference between that app and the same one with a prediction in it. Then 200 connections ask two
workers for more than they can do, classes are added one after another while some ask, and a
million rows go through one worker.

    python benchmarks/bench_serve.py              all of it
    python benchmarks/bench_serve.py --only speed
"""

import argparse
import asyncio
import contextlib
import json
import os
import pickle
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import dsnc
from dsnc.data.synthetic import make_dense_codes, make_sparse_topics
from harness import report

N_CLASSES, N_FEATURES, MANY, LEARNED = 200, 100, 1000, 4000
CONNECTIONS, OVERLOAD_SECONDS, MILLION = 200, 15, 1_000_000
ASKING, CHANGES, FIRST = 8, 60, 10  # connections that ask while so many classes are added
MAIN = "from dsnc.cli import main; main()"
PEERS = ("fastapi",) if find_spec("fastapi") else ()  # pip install '.[bench]'
APPS = Path(__file__).with_name("serve_apps.py")


def make_models(folder: Path) -> dict[str, Any]:
    """Train models of texts and of vectors, and scikit-learn's; return rows to ask about."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    topics = make_sparse_topics(LEARNED + MANY, N_CLASSES, 5000, words_per_row=6)
    texts = [" ".join(f"w{j}" for j in row.indices) for row in topics.X]
    dense = make_dense_codes(LEARNED + MANY, N_CLASSES, N_FEATURES)
    rows = {"texts": texts, "vectors": np.round(dense.X, 4)}
    for name, y in (("texts", topics.y), ("vectors", dense.y)):
        X = rows[name]
        dsnc.DSNCClassifier(n_bits=64, max_epochs=5).fit(X[:LEARNED], y[:LEARNED]).save(
            folder / name
        )
        steps = [TfidfVectorizer()] if name == "texts" else []
        peer = make_pipeline(*steps, SGDClassifier(max_iter=3, tol=None))
        peer.fit(X[:LEARNED], y[:LEARNED])
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(peer))
        rows[name] = X[LEARNED:]
    return rows


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[int]:
    """Run a service until the end; yield the number of its process."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            for _ in range(1200):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()
            process.wait()


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def request_of(body: bytes, kind: str, more: str = "", path: str = "/predict") -> bytes:
    """Return a whole request."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def bodies_of(name: str, rows: Any) -> dict[str, tuple[bytes, int]]:
    """Return requests by what they hold, and how many of them make a turn."""
    of_json: Callable[[Any], bytes] = lambda some: request_of(  # noqa: E731
        json.dumps({"inputs": some}).encode(), "application/json"
    )
    if name == "texts":
        one, many = rows[:1], rows[:MANY]
        return {"1 text": (of_json(one), 200), "1,000 texts": (of_json(many), 10)}
    numbers = rows[:MANY].astype("<f4").tobytes()
    return {
        "1 vector of 100": (of_json(rows[:1].astype(float).round(4).tolist()), 200),
        "1,000 vectors": (of_json(rows[:MANY].astype(float).round(4).tolist()), 10),
        "1,000 vectors, bytes": (request_of(numbers, "application/octet-stream"), 20),
    }


class Client:
    """A connection that is kept, and asks one thing after another."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """Return the body of the answer."""
        self.socket.sendall(request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self.socket.recv(1 << 20)
        head, _, body = data.partition(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < size:
            body += self.socket.recv(1 << 20)
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"{head!r} {body[:300]!r}")
        return body


def cpu_seconds(process: int) -> float:
    """Return what a process has used of the processor."""
    threads = Path(f"/proc/{process}/task").glob("*/schedstat")
    return 1e-9 * sum(int(thread.read_text().split()[0]) for thread in threads)


def measure(services: dict[str, tuple[int, int]], request: bytes, turn: int, turns: int) -> Any:
    """Ask services in turns; return seconds of each request, and of processors, by service."""
    clients = {name: Client(port) for name, (port, _) in services.items()}
    times: dict[str, list[list[float]]] = {name: [] for name in services}
    cpu = dict.fromkeys(services, float("inf"))
    for client in clients.values():
        for _ in range(10):
            client.ask(request)
    for _ in range(turns):
        for name, client in clients.items():
            before, some = cpu_seconds(services[name][1]), []
            for _ in range(turn):
                start = time.perf_counter()
                client.ask(request)
                some.append(time.perf_counter() - start)
            cpu[name] = min(cpu[name], (cpu_seconds(services[name][1]) - before) / turn)
            times[name].append(some)
    return times, cpu


def bench_speed(folder: Path, rows: dict[str, Any], turns: int) -> list[dict[str, object]]:
    """Compare services, model by model and body by body."""
    table: list[dict[str, object]] = []
    for name, some in rows.items():
        with contextlib.ExitStack() as stack:
            services: dict[str, tuple[int, int]] = {}
            for who in ("ours", "bare", "bare_predicts", *PEERS):
                port = free_port()
                model = folder / (f"{name}.pickle" if who == "fastapi" else name)
                command = [sys.executable, str(APPS), who, str(port), str(model)]
                if who == "ours":
                    command = [sys.executable, "-c", MAIN, "serve", str(model), "--port", str(port)]
                services[who] = port, stack.enter_context(running(command, port))
            for what, (request, turn) in bodies_of(name, some).items():
                asked = dict(services)
                if "bytes" in what:
                    asked.pop("fastapi", None)  # takes JSON alone
                check_answers(asked, request, folder / name)
                table.append(row_of(what, *measure(asked, request, turn, turns)))
    return table


def check_answers(services: dict[str, tuple[int, int]], request: bytes, model: Path) -> None:
    """Compare what ours answers with the model's own predictions."""
    answers = {who: json.loads(Client(services[who][0]).ask(request)) for who in services}
    if answers["ours"]["labels"] != answers["bare_predicts"]["labels"]:
        raise SystemExit(f"the answers of {model.name} differ")


def row_of(what: str, times: Any, cpu: dict[str, float]) -> dict[str, object]:
    """Return a row of the table: times of the best turn, and of processors in the best one."""

    def best(who: str, share: float) -> float:
        return min(sorted(turn)[int(share * len(turn))] for turn in times[who])

    row: dict[str, object] = {"body": what}
    for who, told in {"ours": "dsnc", "bare": "bare", "fastapi": "fastapi"}.items():
        is_there = who in times
        row[f"{told} p50 us"] = 1e6 * best(who, 0.5) if is_there else float("nan")
        row[f"{told} p99 us"] = 1e6 * best(who, 0.99) if is_there else float("nan")
    fastest = {who: min(map(statistics.fmean, some)) for who, some in times.items()}
    row["dsnc requests/s"] = 1 / fastest["ours"]
    row["fastapi requests/s"] = 1 / fastest["fastapi"] if "fastapi" in times else float("nan")
    for told, value in (("p50", lambda who: best(who, 0.5)), ("cpu", cpu.__getitem__)):
        prediction = max(value("bare_predicts") - value("bare"), 0)
        row[f"{told} of the bar"] = value("ours") / (1.2 * value("bare") + prediction)
    return row


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> Any:
    """Send a request; return status and body of the answer."""
    writer.write(request)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
    return int(head[9:12]), await reader.readexactly(size)


async def overload(port: int, requests: list[tuple[bytes, list[Any]]], seconds: float) -> Any:
    """Ask on many connections at once; return statuses, times, and what went wrong."""
    statuses: Counter[Any] = Counter()
    times: list[float] = []
    end = time.monotonic() + seconds

    async def one(draw: random.Random) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        while time.monotonic() < end:
            request, labels = requests[0] if draw.random() < 0.9 else requests[1]
            start = time.perf_counter()
            status, body = await ask(reader, writer, request)
            statuses[status] += 1
            if status == 200:
                times.append(time.perf_counter() - start)
                statuses["wrong"] += json.loads(body)["labels"] != labels
            else:
                await asyncio.sleep(0.05)
        writer.close()

    async with asyncio.TaskGroup() as group:
        for number in range(CONNECTIONS):
            group.create_task(one(random.Random(number)))
    return statuses, sorted(times)


def bench_overload(folder: Path, texts: list[str]) -> list[dict[str, object]]:
    """Let 200 connections ask two workers, one row or a thousand."""
    model, port = dsnc.load(folder / "texts"), free_port()
    requests = []
    for some in (texts[:1], texts[:MANY]):
        body = json.dumps({"inputs": some}).encode()
        requests.append((request_of(body, "application/json"), model.predict(some).tolist()))
    command = [sys.executable, "-c", MAIN, "serve", str(folder / "texts"), "--port", str(port)]
    with running([*command, "--workers", "2"], port):
        statuses, times = asyncio.run(overload(port, requests, OVERLOAD_SECONDS))
    others = sum(n for status, n in statuses.items() if status not in (200, 503, 429, "wrong"))
    return [
        {
            "connections": CONNECTIONS,
            "workers": 2,
            "answered/s": statuses[200] / OVERLOAD_SECONDS,
            "refused/s": (statuses[503] + statuses[429]) / OVERLOAD_SECONDS,
            "wrong": statuses["wrong"],
            "other errors": others,
            "p50 ms": 1e3 * times[len(times) // 2],
            "p99 ms": 1e3 * times[int(0.99 * len(times))],
        }
    ]


async def asked_while_changed(port: int, question: bytes, changes: list[bytes]) -> Any:
    """Ask on some connections while classes are added; return the times of both."""
    asked: list[float] = []
    changed: list[float] = []
    is_over = asyncio.Event()

    async def one() -> None:
        streams = await asyncio.open_connection("127.0.0.1", port)
        while not is_over.is_set():
            start = time.perf_counter()
            await ask(*streams, question)
            asked.append(time.perf_counter() - start)
            await asyncio.sleep(0.005)
        streams[1].close()

    async with asyncio.TaskGroup() as group:
        for _ in range(ASKING):
            group.create_task(one())
        streams = await asyncio.open_connection("127.0.0.1", port)
        for change in changes:
            start = time.perf_counter()
            status, body = (
                await ask(*streams, change) if change else (200, await asyncio.sleep(0.1))
            )
            if status != 200:
                raise SystemExit(f"{status} {body!r}")
            changed.append(time.perf_counter() - start)
        is_over.set()
        streams[1].close()
    return sorted(asked), sorted(changed)


def bench_changes(folder: Path, texts: list[str]) -> list[dict[str, object]]:
    """Add classes one after another while eight connections ask for one row, and without."""
    token, port = "0123456789abcdef", free_port()
    (folder / "tokens").write_text(token)
    command = [sys.executable, "-c", MAIN, "serve", str(folder / "texts"), "--port", str(port)]
    secret = f"Authorization: Bearer {token}\r\n"
    question = request_of(json.dumps({"inputs": texts[:1]}).encode(), "application/json", secret)
    changes = []
    for number in range(CHANGES):
        said = {"inputs": texts[number : number + 2], "labels": [N_CLASSES + number] * 2}
        body = json.dumps(said).encode()
        changes.append(request_of(body, "application/json", secret, "/classes"))
    table: list[dict[str, object]] = []
    with running([*command, "--workers", "2", "--token-file", str(folder / "tokens")], port):
        for change in changes[:FIRST]:  # whichever worker is asked loads scikit-learn
            asyncio.run(asked_while_changed(port, question, [change]))
        for what, some in {"none": [b""] * 50, "one after another": changes[FIRST:]}.items():
            asked, changed = asyncio.run(asked_while_changed(port, question, some))
            row: dict[str, object] = {"classes added": what, "asked/s": len(asked) / sum(changed)}
            row |= {f"p{p} ms": 1e3 * asked[len(asked) * p // 100] for p in (50, 99)}
            changed = changed if any(some) else [float("nan")]
            row |= {f"change p{p} ms": 1e3 * changed[len(changed) * p // 100] for p in (50, 99)}
            table.append(row)
    return table


def resident(process: int) -> float:
    """Return the memory of a process in MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096e-6


def bench_memory(folder: Path, rows: dict[str, Any]) -> list[dict[str, object]]:
    """Send a million rows, a thousand at a time, and look at the memory."""
    table: list[dict[str, object]] = []
    for name, some in rows.items():
        port = free_port()
        command = [sys.executable, "-c", MAIN, "serve", str(folder / name), "--port", str(port)]
        with running(command, port) as process:
            client = Client(port)
            requests = [request for request, _ in bodies_of(name, some).values()][1:]
            seen: dict[str, object] = {"rows": f"{name}, 1,000 a request"}
            for done in range(0, MILLION, MANY):
                if done == MILLION // 10:
                    seen["MB after 100,000"] = resident(process)
                client.ask(requests[done // MANY % len(requests)])
            seen["MB after 1,000,000"] = resident(process)
            seen["growth %"] = 100 * (resident(process) / float(str(seen["MB after 100,000"])) - 1)
            table.append(seen)
    return table


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["speed", "overload", "changes", "memory"])
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = make_models(folder)
        if options.only in (None, "speed"):
            report("serve", bench_speed(folder, rows, options.turns))
        if options.only in (None, "overload"):
            report("serve_overload", bench_overload(folder, rows["texts"]))
        if options.only in (None, "changes"):
            report("serve_changes", bench_changes(folder, rows["texts"]))
        if options.only in (None, "memory"):
            report("serve_memory", bench_memory(folder, rows))


if __name__ == "__main__":
    main()
