"""Malformed bodies by the hundred: each gets an error, and the service goes on answering right."""

import contextlib
import http.client
import json
import random

import pytest

GOOD = {"inputs": [[1.0, 2.0, 3.0, 4.0], [4.5, -3.0, 2e3, 1.0]], "top_k": 2}
TENSOR = {"name": "X", "shape": [2, 4], "datatype": "FP32", "data": [1, 2, 3, 4, 5, 6, 7, 8]}
KINDS = {
    "application/json": json.dumps(GOOD).encode(),
    "application/x-ndjson": b"[1, 2, 3, 4]\n[5, 6, 7, 8]\n",
    "text/csv": b"a,b,c,d\n1,2,3,4\n5,6,7,8\n",
    "application/octet-stream": bytes(range(32)),
    "v2": json.dumps({"inputs": [TENSOR], "outputs": [{"name": "label"}]}).encode(),
}
PIECES = [b"[", b"]", b"{", b"}", b'"', b",", b":", b"\\", b"\x00", b"\xff\xfe", b"1e999", b"-"]
PIECES += [
    b"null",
    b"true",
    b"NaN",
    b"\n",
    b"\r",
    b"9" * 400,
    b"[" * 2000,
    b'"inputs"',
    b"\xf0\x9f",
]


def broken(draw):
    """Return a kind of body, and one that was changed in some places, and maybe headers."""
    kind = draw.choice(list(KINDS))
    body = bytearray(KINDS[kind])
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(body) + 1)
        change = draw.randrange(4)
        if change == 0:
            body[at:at] = draw.choice(PIECES)
        elif change == 1:
            del body[at : at + draw.randint(1, 20)]
        elif change == 2:
            body[at : at + 1] = bytes([draw.randrange(256)])
        else:
            body = body[:at] + body[at:] * draw.randint(2, 3)
    headers = {} if kind == "v2" else {"Content-Type": kind}
    if draw.random() < 0.05:
        headers["Content-Encoding"] = draw.choice(["gzip", "deflate", "br", "\x7f"])
    if kind == "v2" and draw.random() < 0.3:
        headers["Inference-Header-Content-Length"] = draw.choice(["0", "10", "-1", "1e3", "99999"])
    options = draw.choice(["", "?top_k=1", "?top_k=-1", "?explain=1", "?probabilities=%ff", "?%00"])
    path = "/v2/models/vectors/infer" if kind == "v2" else f"/models/vectors/predict{options}"
    return path, bytes(body), headers


def throw(service, vectors, n, seed):
    draw = random.Random(seed)
    right = vectors.predict_top_k(GOOD["inputs"], k=2)[0].tolist()
    statuses = {}
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
    with contextlib.closing(connection):
        for number in range(n):
            path, body, headers = broken(draw)
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
            statuses[answer.status] = statuses.get(answer.status, 0) + 1
            assert answer.status in (200, 400, 413, 415), (answer.status, path, body, said)
            if answer.status != 200:
                assert set(json.loads(said)) == {"error"}
            if number % 50 == 0:
                connection.request("POST", "/models/vectors/predict", json.dumps(GOOD))
                assert json.loads(connection.getresponse().read())["labels"] == right
    assert statuses[400] > n / 2
    assert "Traceback" not in service.path.read_text()


def test_some_hundred_malformed_bodies(service, vectors):
    throw(service, vectors, 300, seed=0)


@pytest.mark.slow
def test_ten_thousand_malformed_bodies(service, vectors):
    throw(service, vectors, 10_000, seed=1)
