"""Who comes in, and how many at a time: the application itself, with clients that do not read."""

import asyncio
import json
import threading

import pytest

from dsnc.serve import ServeSettings, app
from dsnc.serve.app import make_app
from dsnc.serve.log import Log
from dsnc.serve.models import Models
from serving import copied


@pytest.fixture
def make(folders):
    def make(**limits):
        settings = ServeSettings(models={"vectors": folders / "vectors"}, **limits)
        return make_app(settings, Models(settings, Log()))

    return make


class Client:
    """Sends a request, and takes the answer when it wants to."""

    def __init__(self, app, path, *, method="GET", headers=(), reads=True):
        self.messages, self.reads = [], asyncio.Event()
        if reads:
            self.reads.set()
        pairs = [(b"host", b"localhost"), *headers]
        names = {name for name, _ in headers}
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": b"",
            "headers": pairs[b"host" in names :],
            "client": ("127.0.0.1", 1),
        }
        self.task = asyncio.create_task(app(scope, self.receive, self.send))

    async def receive(self):
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(self, message):
        await self.reads.wait()
        self.messages.append(message)

    async def answer(self):
        await self.task
        body = b"".join(message.get("body", b"") for message in self.messages)
        return self.messages[0]["status"], json.loads(body)


async def run_in(app, work):
    """Do the work while the application lives."""
    steps = asyncio.Queue()
    lifespan = asyncio.create_task(app({"type": "lifespan"}, steps.get, _ignore))
    await steps.put({"type": "lifespan.startup"})
    await asyncio.sleep(0.05)
    try:
        return await work()
    finally:
        await steps.put({"type": "lifespan.shutdown"})
        await lifespan


async def _ignore(message):
    pass


def test_one_too_many_is_sent_away_and_health_is_always_answered(make):
    app = make(max_in_flight=2)

    async def work():
        slow = [Client(app, "/models", reads=False) for _ in range(2)]
        await asyncio.sleep(0.05)
        refused = await Client(app, "/models").answer()
        healthy = await Client(app, "/health").answer()
        for client in slow:
            client.reads.set()
        answers = [await client.answer() for client in slow]
        return refused, healthy, answers, await Client(app, "/models").answer()

    refused, healthy, answers, after = asyncio.run(run_in(app, work))
    assert refused == (429, {"error": refused[1]["error"]})
    assert healthy[0] == 200
    assert [status for status, _ in answers] == [200, 200]
    assert after[0] == 200


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        (b"localhost", True),
        (b"LOCALHOST:8000", True),
        (b"127.0.0.1:8000", True),
        (b"[::1]:8000", True),
        (b"10.1.2.3", True),
        (b"a.localhost", True),
        (b"mine.example:80", True),
        (b"MINE.example.", True),
        (b"evil.example", False),
        (b"evil.example:8000", False),
        (b"localhost.evil.example", False),
        (b"127.0.0.1.evil.example", False),
    ],
)
def test_only_names_of_this_machine_are_answered_where_there_are_no_tokens(make, host, allowed):
    app = make(allowed_hosts=("mine.example",))

    async def work():
        return await Client(app, "/models", headers=[(b"host", host)]).answer()

    status, answer = asyncio.run(run_in(app, work))
    assert status == (200 if allowed else 421)
    assert allowed or "--allowed-host" in answer["error"]


@pytest.mark.parametrize("settings", [{"tokens": {"t" * 20: "change"}}, {"allowed_hosts": ("*",)}])
def test_any_name_will_do_with_tokens_or_if_that_is_wished(make, settings):
    app = make(**settings)
    headers = [(b"host", b"any.example"), (b"authorization", b"Bearer " + b"t" * 20)]

    async def work():
        return await Client(app, "/models", headers=headers).answer()

    assert asyncio.run(run_in(app, work))[0] == 200


def test_two_tokens_in_one_request_are_refused(make):
    app = make(tokens={"t" * 20: "change"})
    headers = [(b"authorization", b"Bearer " + b"t" * 20), (b"authorization", b"Bearer x")]

    async def work():
        return await Client(app, "/models", headers=headers).answer()

    status, answer = asyncio.run(run_in(app, work))
    assert status == 400 and "several headers 'Authorization'" in answer["error"]


def test_health_names_models_only_to_those_who_may_ask_them(make):
    app = make(tokens={"t" * 20: "predict"})
    token = [(b"authorization", b"Bearer " + b"t" * 20)]

    async def work():
        return [await Client(app, "/health", headers=h).answer() for h in ([], token)]

    (_, stranger), (_, known) = asyncio.run(run_in(app, work))
    assert stranger == {"status": "ok"}
    assert set(known["models"]) == {"vectors"}


def test_a_token_that_may_only_predict_changes_nothing(make):
    app = make(tokens={"t" * 20: "predict"})
    token = [(b"authorization", b"Bearer " + b"t" * 20)]

    async def work():
        return await Client(app, "/classes", method="DELETE", headers=token).answer()

    assert asyncio.run(run_in(app, work)) == (
        403,
        {"error": "This token may predict, but not change classes."},
    )


def test_a_packed_change_is_not_unpacked_where_all_others_wait(tmp_path, monkeypatch):
    threads, unpacked, token = [], app.unpacked, "0123456789abcdef"

    def unpack(*body):
        threads.append(threading.current_thread())
        return unpacked(*body)

    monkeypatch.setattr(app, "unpacked", unpack)
    path = copied("golden_text", tmp_path / "jobs")
    settings = ServeSettings(models={"jobs": path}, tokens={token: "change"})
    service = make_app(settings, Models(settings, Log()))
    headers = [
        (b"authorization", f"Bearer {token}".encode()),
        (b"content-encoding", b"gzip"),
    ]

    async def work():
        return await Client(service, "/classes", method="POST", headers=headers).answer()

    status, told = asyncio.run(run_in(service, work))
    assert status == 400 and "damaged" in told["error"]
    assert threads and threading.main_thread() not in threads
