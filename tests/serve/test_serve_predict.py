"""Rows in all forms come back with the answers that the model gives in Python."""

import gzip
import json

import numpy as np
import pytest

TEXTS = ["a NURSE", "tram driver", "köchin", "नर्स", "cook cook nurse", "", "🙂 \ud800"]
BODY = {"inputs": TEXTS}


def lines_of(body):
    return [json.loads(line) for line in body.decode().splitlines()]


def test_texts(service, texts):
    answer = service.predict(BODY, "/models/texts/predict")
    assert answer["labels"] == texts.predict(TEXTS).tolist()
    assert answer["model"] == "texts"
    assert answer["version"] == json.loads(service.get("/health"))["models"]["texts"]


@pytest.mark.parametrize("as_sent", [np.ndarray.tolist, lambda X: (X * 0 + 1).tolist()])
def test_vectors(service, vectors, X, as_sent):
    rows = as_sent(X)
    answer = service.predict({"inputs": rows})
    assert answer["labels"] == vectors.predict(rows).tolist()
    assert set(answer) == {"model", "version", "labels"}


def test_best_labels_and_probabilities(service, vectors, X):
    labels, shares = vectors.predict_top_k(X, k=2)
    answer = service.predict({"inputs": X.tolist(), "top_k": 2, "probabilities": True})
    assert answer["labels"] == labels.tolist()
    np.testing.assert_allclose(answer["probabilities"], shares, atol=1e-6)
    answer = service.predict({"inputs": X.tolist()[:1], "probabilities": True})
    assert answer["labels"] == labels[:1, 0].tolist()
    np.testing.assert_allclose(answer["probabilities"], shares[:1, 0], atol=1e-6)
    same = service.predict({"inputs": X.tolist()[:1]}, "/models/vectors/predict?probabilities=1")
    assert same == answer
    answer = service.predict({"inputs": X.tolist()[:1], "top_k": 99})  # all that there are
    assert sorted(answer["labels"][0]) == sorted(vectors.classes_.tolist())


def test_sparse_rows(service, vectors, X):
    X = np.where(np.abs(X) < 1, 0, X)
    rows = []
    for row in X:
        indices = np.flatnonzero(row)[::-1]  # in any order
        rows.append({"indices": indices.tolist(), "values": row[indices].tolist()})
    rows.append({"indices": [], "values": []})
    expected = vectors.predict(np.vstack([X, np.zeros(4)])).tolist()
    assert service.predict({"inputs": rows})["labels"] == expected
    split = {"indices": [0, 0], "values": [1.5, 2.5]}
    assert service.predict({"inputs": [split]}) == service.predict(
        {"inputs": [{"indices": [0], "values": [4]}]}
    )


def test_arrays(service, vectors, X):
    expected = vectors.predict(X.astype(np.float32)).tolist()
    raw = {"Content-Type": "application/octet-stream"}
    body = X.astype("<f4").tobytes()
    assert service.predict(body, **raw)["labels"] == expected
    path = "/models/vectors/predict?top_k=3&probabilities=true"
    answer = service.predict(body, path, **raw)
    assert answer["labels"] == vectors.predict_top_k(X.astype("<f4"), k=3)[0].tolist()


def test_lines(service, texts):
    labels, shares = texts.predict_top_k(TEXTS, k=2)
    body = "\n".join(map(json.dumps, TEXTS)).encode()
    headers = {"Content-Type": "application/x-ndjson"}
    for options, expected in {
        "": [{"label": label} for label in labels[:, 0].tolist()],
        "?top_k=2": [{"labels": some} for some in labels.tolist()],
        "?probabilities=true": [
            {"label": label, "probability": round(share, 6)}
            for label, share in zip(labels[:, 0].tolist(), shares[:, 0].tolist(), strict=True)
        ],
    }.items():
        path = f"/models/texts/predict{options}"
        status, about, answer = service.ask("POST", path, body, headers)
        assert (status, about["content-type"]) == (200, "application/x-ndjson")
        assert lines_of(answer) == expected
        assert about["x-model-version"]


def test_lines_are_answered_while_more_are_to_come(service, texts):
    with service.socket() as connection:
        connection.sendall(
            b"POST /models/texts/predict HTTP/1.1\r\nHost: localhost\r\n"
            b"Transfer-Encoding: chunked\r\nContent-Type: application/x-ndjson\r\n\r\n"
        )
        file, expected = connection.makefile("rb"), texts.predict(TEXTS[:3]).tolist()
        for number, text in enumerate(TEXTS[:3]):
            piece = json.dumps(text).encode() + b"\n"
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            if not number:
                while file.readline() != b"\r\n":
                    pass
            file.readline()  # the length
            assert json.loads(file.readline()) == {"label": expected[number]}
            file.readline()
        connection.sendall(b"0\r\n\r\n")
        assert file.readline() == b"0\r\n"
        file.close()


def test_an_error_within_a_stream_is_its_last_line(service, texts):
    headers = {"Content-Type": "application/x-ndjson"}
    body = b'"a nurse"\n\n"cook"\n{"no": 1}\n"cook"\n'
    status, _, answer = service.ask("POST", "/models/texts/predict", body, headers)
    *good, last = lines_of(answer)
    assert status == 200
    assert [line["label"] for line in good] == texts.predict(["a nurse", "cook"]).tolist()
    assert last["error"].startswith("Line 4 has the unknown field 'no'")
    status, _, answer = service.ask("POST", "/models/texts/predict", b"[1", headers)
    assert status == 400
    assert "Line 1 is not valid JSON" in json.loads(answer)["error"]


def test_a_long_stream_comes_back_whole(service, vectors, X):
    rows = np.tile(X, (1000, 1)) + np.arange(12_000 % 7, 12_000 % 7 + len(X) * 1000)[:, None] % 5
    body = "".join(f"{json.dumps(row)}\n" for row in rows.tolist()).encode()
    headers = {"Content-Type": "application/x-ndjson", "Accept-Encoding": "gzip"}
    packed = {**headers, "Content-Encoding": "gzip"}
    for data, about in ((body, headers), (gzip.compress(body, 1), packed)):
        status, found, answer = service.ask("POST", "/models/vectors/predict", data, about)
        assert (status, found["content-encoding"]) == (200, "gzip")
        labels = [line["label"] for line in lines_of(gzip.decompress(answer))]
        assert labels == vectors.predict(rows).tolist()


def test_tables_come_back_with_columns_added(service, texts, vectors, X):
    headers = {"Content-Type": "text/csv"}
    body = b'id,text\n1,a nurse\n2,"tram, driver"\n'
    path = "/models/texts/predict"
    status, about, answer = service.ask("POST", path, body, headers)
    assert (status, about["content-type"]) == (200, "text/csv; charset=utf-8")
    first, *rows = answer.decode().splitlines()
    assert first == "id,text,prediction,probability"
    labels = texts.predict(["a nurse", "tram, driver"]).tolist()
    assert [row.split(",")[-2] for row in rows] == labels
    body = b'text\na nurse\n""\n\ntram driver\n'  # each row has its answer, or a blank one
    _, _, answer = service.ask("POST", path, body, headers)
    rows = answer.decode().splitlines()[1:]
    labels = [texts.predict([text])[0] for text in ("a nurse", "tram driver")]
    assert [row.split(",")[1] for row in rows] == [labels[0], "", "", labels[1]]
    names = "length,width,Höhe,w/h\n"
    table = names + "".join(",".join(map(str, row)) + "\n" for row in X.tolist())
    status, _, answer = service.ask("POST", "/models/vectors/predict", table.encode(), headers)
    assert status == 200, answer
    found = [line.split(",")[-2] for line in answer.decode().splitlines()[1:]]
    assert found == vectors.predict(X.astype(np.float32)).tolist()
    bad = service.predict(b"text\n\xff\n", "/models/texts/predict", 400, **headers)
    assert bad["error"].startswith("The body, line 2")
    bad = service.predict(body, "/models/texts/predict?explain=true", 400, **headers)
    assert "a table cannot hold explanations" in bad["error"]


def test_explanations(service, texts, vectors, X):
    answer = service.predict({"inputs": TEXTS[:2], "explain": True}, "/models/texts/predict")
    for got, expected in zip(answer["explanations"], texts.explain(TEXTS[:2]), strict=True):
        assert got == json.loads(json.dumps(expected.as_dict()))
    answer = service.predict({"inputs": X.tolist(), "explain": 1})
    assert [len(one["terms"]) for one in answer["explanations"]] == [1] * len(X)
    assert [one["label"] for one in answer["explanations"]] == answer["labels"]


def test_packed_bodies(service, vectors, X):
    rows = np.tile(X, (300, 1)).tolist()
    body = gzip.compress(json.dumps({"inputs": rows}).encode())
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    status, about, answer = service.ask(
        "POST", "/models/vectors/predict", body, {**headers, "Accept-Encoding": "br, gzip;q=0.5"}
    )
    assert (status, about["content-encoding"], about["vary"]) == (200, "gzip", "Accept-Encoding")
    assert json.loads(gzip.decompress(answer))["labels"] == vectors.predict(rows).tolist()
    _, about, _ = service.ask(
        "POST", "/models/vectors/predict", body, {**headers, "Accept-Encoding": "gzip;q=0"}
    )
    assert "content-encoding" not in about
    for broken in (body[:-20], body[: len(body) // 2], body + b"more", b"not gzip"):
        bad = service.predict(broken, code=400, **{"Content-Encoding": "gzip"})
        assert "packed" in bad["error"]


def test_large_bodies_are_parsed_row_by_row(service, texts, vectors):
    many = [f"{text} {i}" for i in range(6000) for text in ("a nurse", 'tram "driver", köchin')]
    body = {"probabilities": False, "inputs": many, "top_k": 1}
    answer = service.predict(body, "/models/texts/predict")
    assert sum(answer["labels"], []) == texts.predict(many).tolist()
    assert len(json.dumps(body)) > 1 << 18
    rows = (np.arange(80_000) % 17 / 4).reshape(-1, 4).tolist()
    text = json.dumps({"inputs": rows}, indent=1).encode()
    assert service.predict(text)["labels"] == vectors.predict(rows).tolist()
    broken = service.predict(text.replace(b"]", b";", 1), code=400)
    assert "not valid JSON" in broken["error"]


def test_the_last_request_of_a_kind_does_not_change_the_next(service, X):
    first = service.predict({"inputs": X.tolist()})
    for _ in range(3):
        service.predict({"inputs": X.tolist(), "top_k": 2, "probabilities": True, "explain": 2})
        assert service.predict({"inputs": X.tolist()}) == first
