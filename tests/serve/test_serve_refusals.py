"""What cannot be answered gets an error that says why, and nothing of the machine."""

import http.client
import json

import numpy as np
import pytest

ROW = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not valid JSON"),
        (b"[1, 2]", 'must be an object such as {"inputs"'),
        (b"{}", "inputs is missing."),
        (b'{"inputs": [[1, 2, 3, 4]', "not valid JSON"),
        (b'{"inputs": [[1, 2, 3, 4]],}', "not valid JSON"),
        (b'{"inputs": [[1, 2, 3, NaN]]}', "NaN and Infinity are not JSON numbers"),
        (b'{"inputs": [[1, 2, 3, 1e999]]}', "too large"),
        (b'{"inputs": "one"}', 'inputs="one": Expected array, got str'),
        (b'{"inputs": [1, 2, 3, 4]}', "inputs[0] holds a number instead of a row"),
        (b'{"inputs": ["a text"]}', "inputs[0] is a text, but the model was trained on rows of 4"),
        (
            b'{"inputs": [[1, 2, 3, 4], [1, 2]]}',
            "inputs[1] has 2 numbers; the model expects 4 per row",
        ),
        (b'{"inputs": [[1, 2, 3, "4"]]}', "inputs[0] holds a value that is not a number"),
        (b'{"inputs": [[1, 2, 3, null]]}', "inputs[0] holds a value that is not a number"),
        (b'{"inputs": [[1, 2, 3, [4]]]}', "inputs[0] holds a value that is not a number"),
        (b'{"inputs": [[1, 2, 3, 4], "a"]}', "inputs[1] holds rows of two kinds"),
        (b'{"inputs": [{"a": 1}]}', "inputs[0] has the unknown field 'a'"),
        (b'{"inputs": [{"indices": [4], "values": [1]}]}', "not from 0 to 3"),
        (b'{"inputs": [{"indices": [-1], "values": [1]}]}', "not from 0 to 3"),
        (b'{"inputs": [{"indices": [1], "values": []}]}', "of equal length"),
        (b'{"inputs": [{"indices": [1.5], "values": [1]}]}', "a value that is not a number"),
        (b'{"inputs": [[1,2,3,4]], "topk": 3}', "'topk' is not known. Did you mean 'top_k'?"),
        (b'{"inputs": [[1,2,3,4]], "top_k": 0}', "top_k=0: Expected int >= 1"),
        (b'{"inputs": [[1,2,3,4]], "top_k": true}', "top_k=true: Expected int | null, got bool"),
        (b'{"inputs": [[1,2,3,4]], "probabilities": "yes"}', 'probabilities="yes": Expected bool'),
        (b'{"inputs": [[1,2,3,4]], "explain": 0}', "explain=0: Expected int >= 1"),
        (b'{"inputs": [[1,2,3,' + b"9" * 5000 + b"]]}", "too large"),
        (b'{"inputs": ' + b"[" * 100_000, "not valid JSON"),
        (b'\xff{"inputs": []}', "not valid JSON (invalid character (byte 0))"),
    ],
)
def test_bad_bodies_are_explained(service, body, message):
    assert message in service.predict(body, code=400)["error"]


def test_an_option_of_the_address_is_checked_although_the_body_has_it_too(service):
    path = "/models/vectors/predict?top_k=0"
    answer = service.predict({"inputs": [ROW], "top_k": 2}, path, 400)
    assert answer["error"].startswith("top_k='0': Expected int")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"12345", "5 bytes, which is not a multiple of 16"),
        (np.array([1, np.nan, 3, 4], "<f4").tobytes(), "NaN, infinity"),
    ],
)
def test_bad_arrays_are_explained(service, body, message):
    headers = {"Content-Type": "application/octet-stream"}
    assert message in service.predict(body, code=400, **headers)["error"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "message"),
    [
        ("POST", "/predict", {}, 404, "use one of /models/texts/predict, /models/vectors/predict"),
        ("POST", "/models/vector/predict", {}, 404, "Did you mean 'vectors'?"),
        ("POST", "/nothing", {}, 404, "Not Found."),
        ("GET", "/models/vectors/predict", {}, 405, "Method Not Allowed."),
        ("POST", "/models/vectors/predict", {"Content-Type": "image/png"}, 415, "image/png"),
        ("POST", "/models/vectors/predict", {"Content-Encoding": "br"}, 415, "send gzip"),
        (
            "POST",
            "/models/vectors/predict?top_k=x",
            {},
            400,
            "top_k='x': Expected int",
        ),
        ("POST", "/models/vectors/predict?token=secret", {}, 400, "'token' is not known"),
    ],
)
def test_bad_addresses_are_explained(service, method, path, headers, status, message):
    body = json.dumps({"inputs": [ROW]}).encode()
    headers = {"Content-Type": "application/json", **headers}
    found, about, answer = service.ask(method, path, body, headers)
    assert (found, about["content-type"]) == (status, "application/json")
    assert message in json.loads(answer)["error"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/models/vectors/predict", {"POST"}),
        ("/models/vectors/classes", {"GET", "HEAD", "POST", "DELETE"}),
    ],
)
def test_a_wrong_method_is_told_which_there_are(service, path, methods):
    status, headers, _ = service.ask("PUT", path, b"")
    assert (status, set(headers["allow"].split(", "))) == (405, methods)


def test_no_rows_are_no_error(service):
    assert service.predict({"inputs": []})["labels"] == []
    headers = {"Content-Type": "application/x-ndjson"}
    assert service.ask("POST", "/models/vectors/predict", b"\n\n", headers)[::2] == (200, b"")


def test_headers_are_safe_and_nothing_is_said_about_the_machine(service, folders):
    answers = [
        service.ask("POST", "/models/vectors/predict", b"{", {"X-Request-Id": "a-1"}),
        service.ask("GET", "/models/vectors/predict"),
        service.ask("GET", "/models", headers={"Origin": "https://example.org"}),
        service.ask("GET", "/openapi.json"),
        service.ask("POST", "/models/vectors/predict", b"a,b\n1,2\n", {"Content-Type": "text/csv"}),
    ]
    for _, headers, body in answers:
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["content-security-policy"].startswith("default-src 'none'; ")
        assert "server" not in headers and "access-control-allow-origin" not in headers
        text = body.decode()
        assert str(folders.parent) not in text and "/tmp" not in text and "Traceback" not in text
    assert answers[0][1]["x-request-id"] == "a-1"


def test_many_requests_share_a_connection_whatever_becomes_of_them(service, vectors):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=20)
    label = vectors.predict([ROW]).tolist()
    good, bad = json.dumps({"inputs": [ROW]}), json.dumps({"inputs": [ROW, ROW[:1]]})
    for number in range(30):
        connection.request("POST", "/models/vectors/predict", bad if number % 3 else good)
        answer = connection.getresponse()
        said = json.loads(answer.read())
        assert (said["labels"] == label) if answer.status == 200 else ("error" in said)
    connection.close()


def test_requests_are_logged_without_what_they_hold(service):
    service.predict({"inputs": [ROW]}, "/models/vectors/predict?top_k=1", **{"X-Request-Id": "q7"})
    line = service.wait_for("request", id="q7")
    assert (line["method"], line["path"], line["status"]) == (
        "POST",
        "/models/vectors/predict",
        200,
    )
    assert (line["model"], line["rows"], line["client"]) == ("vectors", 1, "127.0.0.1")
    assert line["ms"] > 0 and line["sent"] > 0 and line["version"]
