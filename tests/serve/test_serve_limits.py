"""A service with narrow limits and a token: it refuses, hangs up, and lives on."""

import contextlib
import gzip
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from serving import Service, status_of

TOKENS = ["first-token-0123456789", "second-token-987654321"]
ROW = [1.0, 2.0, 3.0, 4.0]
BODY = json.dumps({"inputs": [ROW]}).encode()
GOOD = {"Authorization": f"Bearer {TOKENS[1]}"}
HEAD = f"Host: localhost\r\nAuthorization: Bearer {TOKENS[0]}\r\n".encode()
POST = b"POST /predict HTTP/1.1\r\n" + HEAD


@pytest.fixture(scope="module")
def strict(folders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("strict")
    (folder / "tokens").write_text(f"# who may come in\n{TOKENS[0]}\n\n{TOKENS[1]}\n")
    limits = "--max-body 0.05 --max-rows 20 --max-seconds 1 --max-in-flight 4 --read-only".split()
    service = Service(folder, folders / "vectors", "--token-file", folder / "tokens", *limits)
    yield service
    assert service.stop() == 0
    log = service.path.read_text()
    assert not any(token in log for token in TOKENS)
    assert "Traceback" not in log


@pytest.fixture(autouse=True)
def lives(strict):
    yield
    answer = strict.predict({"inputs": [ROW]}, "/predict", **GOOD)
    assert answer["labels"] == strict.predict({"inputs": [ROW]}, "/predict", **GOOD)["labels"]


@pytest.mark.parametrize(
    "header", ["", "Bearer", f"Bearer {TOKENS[0]}x", f"Basic {TOKENS[0]}", "Bearer \xff", TOKENS[0]]
)
@pytest.mark.parametrize("path", ["/predict", "/v2/models/vectors/infer"])
def test_without_a_token_nothing_is_done(strict, header, path):
    status, about, body = strict.ask("POST", path, BODY, {"Authorization": header})
    assert (status, about["www-authenticate"]) == (401, "Bearer")
    assert json.loads(body)["error"].startswith("This needs a token")


@pytest.mark.parametrize("token", TOKENS)
def test_with_a_token_everything_is_open(strict, token):
    for path in ("/models", "/metrics", "/openapi.json", "/v2", "/v2/models/vectors"):
        assert strict.ask("GET", path)[0] == 401
        strict.get(path, Authorization=f"Bearer {token}")
    assert b"securitySchemes" in strict.get("/openapi.json", Authorization=f"bearer {token}")


def test_a_read_only_service_changes_nothing(strict, folders):
    body = json.dumps({"labels": ["ant"]}).encode()
    status, _, answer = strict.ask("DELETE", "/classes", body, GOOD)
    said = json.loads(answer)["error"]
    assert status == 403
    assert said == "The service is read-only; start it without --read-only to change classes."
    assert not (folders / ".vectors.serve").exists()
    (model,) = json.loads(strict.get("/models", **GOOD))["models"]
    assert model["changeable"] is False


def test_health_needs_no_token(strict):
    assert json.loads(strict.get("/health"))["status"] == "ok"
    assert strict.get("/v2/health/live") == strict.get("/v2/health/ready") == b""


def test_too_many_rows(strict):
    for body in (json.dumps({"inputs": [ROW] * 21}).encode(), b"1" * 16 * 21):
        kind = "application/json" if body[:1] == b"{" else "application/octet-stream"
        answer = strict.predict(body, "/predict", 413, **GOOD, **{"Content-Type": kind})
        assert "rows" in answer["error"]
    table = b"a,b,c,d\n" + b"1,2,3,4\n" * 21
    answer = strict.predict(table, "/predict", 413, **GOOD, **{"Content-Type": "text/csv"})
    assert "more than 20 rows" in answer["error"]


def test_too_large_a_body(strict):
    large = b" " * 60_000 + BODY
    assert "larger than 50,000 bytes" in strict.predict(large, "/predict", 413, **GOOD)["error"]
    bomb = {**GOOD, "Content-Encoding": "gzip"}
    assert "larger" in strict.predict(gzip.compress(b" " * 10**8), "/predict", 413, **bomb)["error"]
    pieces = b"".join(b"1000\r\n" + b" " * 4096 + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"
    answer = strict.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n" + pieces)
    assert status_of(answer) == 413
    line = POST + b"Content-Type: application/jsonl\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces
    assert status_of(strict.raw(line)) == 413


def test_who_sends_no_head_or_half_a_body_is_given_up(strict):
    lines = POST + b"Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n[1,2,3,4]\n"
    half = POST + b"Content-Length: 1000\r\n\r\n" + BODY
    heads = [b"", b"POST /pre", POST, POST + b"Content-Length: 9999"]
    with ThreadPoolExecutor(6) as pool:
        *heads, half, lines = pool.map(partial(strict.raw, to_end=True), [*heads, half, lines])
    assert heads == [b""] * 4
    assert status_of(half) == 408
    assert b"came too slowly" in half
    assert status_of(lines) == 200 and b'{"label":' in lines  # answered as far as it goes


def test_who_hangs_up_is_forgotten(strict):
    for _ in range(20):
        with strict.socket() as connection:
            connection.sendall(POST + b"Content-Length: 1000\r\n\r\n" + BODY)
    strict.wait_for("request", status=499)


def test_who_sends_half_a_body_takes_nobodys_place(strict):
    with contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(strict.socket()) for _ in range(40)]  # 4 may be in flight
        for connection in waiting:
            connection.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(BODY))
        for _ in range(5):
            assert strict.ask("POST", "/predict", BODY, GOOD)[0] == 200
        for connection in waiting:
            connection.sendall(BODY)
        answers = [status_of(connection.recv(4096)) for connection in waiting]
    assert set(answers) <= {200, 408, 503}


def test_who_does_not_read_is_cut_off(strict):
    head = POST + b"X-Request-Id: deaf\r\nContent-Type: application/x-ndjson\r\n"
    head += b"Transfer-Encoding: chunked\r\n\r\n"
    with socket.socket() as connection:
        connection.settimeout(60)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", strict.port))
        piece = b"[1,2,3,4]\n" * 3000
        try:
            connection.sendall(head)
            for _ in range(2000):
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        except ConnectionError:
            assert strict.wait_for("request", id="deaf")["status"] == 499
        else:  # a machine so busy that some piece is not answered in time: then it says so
            assert strict.wait_for("request", id="deaf")["status"] in (200, 503)


def test_what_is_no_http_is_refused(strict):
    assert (
        status_of(strict.raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\r\n\r\n")) == 400
    )
    assert strict.raw(b"GET / HTTP/9.9\r\n\r\n")[:12] in (b"HTTP/1.1 400", b"")
    two = POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n123456"
    assert status_of(strict.raw(two)) == 400
    assert strict.raw(two).endswith(b'{"error": "This is not a valid HTTP request."}')


def test_small_requests_pass_large_ones(service, X):
    rows = X.tolist() * 4000
    done = threading.Event()

    def large():
        service.predict({"inputs": rows, "top_k": 2, "probabilities": True})
        done.set()

    thread = threading.Thread(target=large)
    thread.start()
    answered = 0
    while not done.is_set():
        service.predict({"inputs": [ROW]})
        answered += not done.is_set()
    thread.join()
    assert answered > 0
