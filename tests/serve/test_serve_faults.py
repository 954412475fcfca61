"""Services that are killed, find no room, or get half of it while classes are changed."""

import contextlib
import http.client
import json
import os
import random
import resource
import signal
import socket
import threading
import time

import pytest

import dsnc
from serving import OPEN, TOKEN, Adding, Changing, copied

HEAD = f"POST /classes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
KNOWN = ["cook", "driver", "nurse"]
PIECES = [b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"\xff", b"1e999", b"null", b"[" * 2000]
PIECES += [b"NaN", b'"inputs"', b'"labels"', b'"x"', b"\xf0\x9f", b'"\\ud800"', b"true", b"-0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    copied("golden_text", folder / "jobs")
    return folder


@pytest.fixture(scope="module")
def service(folder):
    service = Changing(folder, folder / "jobs", workers=1)
    yield service
    service.kill()
    assert "Traceback" not in service.path.read_text()


def test_a_full_disk_changes_nothing_and_predictions_go_on(service):
    first = service.add("pilot")
    (worker,) = service.workers
    limits = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    for room in (0, 1000, 4000):  # for nothing, some of the model, almost all of it
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (room, limits[1]))
        assert "nothing was changed" in service.add("keeper", code=503)["error"]
        answer = service.of("POST", "/predict", {"inputs": ["pilot", "a nurse"]})
        assert answer["version"] == first["version"] and answer["labels"][1] == "nurse"
    resource.prlimit(worker, resource.RLIMIT_FSIZE, limits)
    assert service.labels() == [*KNOWN, "pilot"]
    assert service.add("keeper")["added"] == ["keeper"]
    assert service.labels() == [*KNOWN, "pilot", "keeper"]


def test_half_a_change_is_none(service):
    body = json.dumps({"inputs": ["glazier"], "labels": ["glazier"]}).encode()
    head, before = HEAD + b"Content-Length: %d\r\n\r\n" % len(body), service.labels()
    for cut in (0, 1, len(body) // 2, len(body) - 1):
        with service.socket() as connection:
            connection.sendall(head + body[:cut])
            connection.shutdown(socket.SHUT_WR)
            connection.recv(4096)
    assert service.labels() == before
    with service.socket() as connection:
        connection.sendall(head + body)  # and gone: what has begun is done
    while service.labels() == before:
        time.sleep(0.02)
    assert service.labels() == [*before, "glazier"]


def throw(service, n, seed):
    """Send malformed changes; what was answered was done, and nothing else."""
    draw, known = random.Random(seed), set(service.labels())
    for number in range(n):
        method = draw.choice(["POST", "POST", "DELETE"])
        wish = {"labels": draw.choice([["cook"], ["new", "new"], ["a", "b"]])}
        if method == "POST":
            wish["inputs"] = ["some text"] * len(wish["labels"])
        body = bytearray(json.dumps(wish).encode())
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(body) + 1)
            body[at : at + draw.choice([0, 1, 5])] = draw.choice(PIECES)
        headers = OPEN | ({"Content-Encoding": "gzip"} if draw.random() < 0.1 else {})
        status, _, answer = service.ask(method, "/classes", bytes(body), headers)
        said = json.loads(answer)
        assert status in (200, 400), (status, body, said)
        assert (set(said) == {"error"}) == (status == 400)
        known |= set(said.get("added", []))
        known -= set(said.get("removed", []))
        if number % 50 == 0:
            assert set(service.labels()) == known
    assert set(service.labels()) == known


def test_malformed_changes(service):
    throw(service, 100, seed=0)


@pytest.mark.slow
def test_thousands_of_malformed_changes(service):
    throw(service, 5000, seed=1)


def check(service, before, done):
    """All that was acknowledged is there and predicted, whichever worker is asked."""
    names = service.labels()
    assert names[: len(before)] == before and set(done) <= set(names[len(before) :])
    answers = [service.of("POST", "/predict", {"inputs": names}) for _ in range(6)]
    assert all(answer == answers[0] for answer in answers)


def add_until_killed(service, prefix, seconds):
    with Adding(service, prefix) as adding:
        adding.wait(5)
        time.sleep(seconds)
        service.kill()
    assert adding.odd == []
    return adding.done


def test_all_is_killed_while_classes_are_added(service, folder):
    before = service.labels()
    done = add_until_killed(service, "job", 0.1)
    again = Changing(folder, folder / "jobs", workers=1)
    try:
        check(again, before, done)
        assert again.stop() == 0
    finally:
        again.kill()
    assert set(done) <= set(dsnc.load(folder / "jobs").classes_)


@pytest.mark.slow
def test_all_is_killed_again_and_again(tmp_path):
    draw, done = random.Random(1), []
    copied("golden_text", tmp_path / "jobs")
    for number in range(6):
        service = Changing(tmp_path, tmp_path / "jobs", workers=2)
        try:
            check(service, KNOWN, done)  # what was acknowledged in all rounds so far
            done += add_until_killed(service, f"job {number}", draw.uniform(0, 1))
        finally:
            service.kill()


@pytest.mark.slow
def test_no_answer_is_older_than_what_was_acknowledged_before(tmp_path):
    copied("golden_text", tmp_path / "jobs")
    service = Changing(tmp_path, tmp_path / "jobs", workers=2)
    places = {service.of("POST", "/predict", {"inputs": []})["version"]: 0}
    acknowledged, answers, is_over = [0], [], threading.Event()

    def ask():
        while not is_over.is_set():
            least = acknowledged[-1]
            with contextlib.suppress(OSError, http.client.HTTPException):  # of the one that dies
                answer = service.of("POST", "/predict", {"inputs": ["a nurse"]})
                answers.append((least, answer["version"], answer["labels"]))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    try:
        for thread in threads:
            thread.start()
        for number in range(1, 41):
            places[service.add(f"job {number}")["version"]] = number
            acknowledged.append(number)
            if number == 20:
                os.kill(service.workers[0], signal.SIGKILL)
                time.sleep(0.2)  # nobody is let in by it any more
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        service.kill()
    assert all(least <= places[version] for least, version, _ in answers)
    assert {tuple(labels) for _, _, labels in answers} == {("nurse",)}
    assert len({version for _, version, _ in answers}) > 20
