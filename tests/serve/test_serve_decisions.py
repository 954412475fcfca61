"""Rows that are not sure enough are left to a person, in all forms of requests and answers."""

import csv
import io
import json

import pytest

LINES = {"Content-Type": "application/x-ndjson"}
CSV = {"Content-Type": "text/csv"}
TEXTS = ["night nurse", "forklift", "pilot of an airplane", "zzz"]


@pytest.fixture(scope="module")
def rows(texts):
    """Rows with their labels and decisions, and a line between probabilities."""
    labels, shares = texts.predict_top_k(TEXTS, 2)
    least = sorted(shares[:, 0].tolist())[2]
    decisions = ["answer" if share >= least else "person" for share in shares[:, 0].tolist()]
    assert sorted(set(decisions)) == ["answer", "person"]
    return least, labels.tolist(), decisions


def ask(service, path, body, headers):
    status, _, answer = service.ask("POST", path, body.encode(), headers)
    assert status == 200, answer
    return answer.decode()


@pytest.mark.parametrize("top_k", [None, 2])
def test_json_and_lines(service, rows, top_k):
    least, labels, decisions = rows
    expected = labels if top_k else [row[0] for row in labels]
    asked = {"inputs": TEXTS, "reject_below": least} | ({"top_k": top_k} if top_k else {})
    found = service.predict(asked, "/models/texts/predict")
    assert (found["labels"], found["decisions"]) == (expected, decisions)
    assert "probabilities" not in found
    for place, text in enumerate(TEXTS):
        found = service.predict({**asked, "inputs": [text]}, "/models/texts/predict")
        assert found["decisions"] == [decisions[place]]
    path = f"/models/texts/predict?reject_below={least!r}" + (f"&top_k={top_k}" if top_k else "")
    lines = ask(service, path, "".join(json.dumps(text) + "\n" for text in TEXTS), LINES)
    found = [json.loads(line) for line in lines.splitlines()]
    assert [row["labels" if top_k else "label"] for row in found] == expected
    assert [row["decision"] for row in found] == decisions


@pytest.mark.parametrize("top_k", [None, 2])
def test_tables(service, rows, top_k):
    least, labels, decisions = rows
    body = io.StringIO()
    csv.writer(body).writerows([["text", "n"], *((text, 1) for text in TEXTS), ["", 2]])
    path = f"/models/texts/predict?reject_below={least!r}"
    path += f"&top_k={top_k}" if top_k else ""
    found = list(csv.DictReader(io.StringIO(ask(service, path, body.getvalue(), CSV))))
    assert [row["decision"] for row in found] == [*decisions, "person"]
    assert list(found[0])[-1] == "decision"
    best = [row["prediction_1" if top_k else "prediction"] for row in found]
    assert best == [*(row[0] for row in labels), ""]


@pytest.mark.parametrize("binary", [False, True])
def test_tensors(service, rows, binary):
    least, labels, decisions = rows
    tensor = {"name": "text", "shape": [len(TEXTS)], "datatype": "BYTES", "data": TEXTS}
    wishes = {"reject_below": least, "top_k": 2, "binary_data_output": binary}
    asked = {"inputs": [tensor], "parameters": wishes}
    if binary:
        asked["outputs"] = [{"name": "decision"}]
    _, _, answer = service.ask("POST", "/v2/models/texts/infer", json.dumps(asked))
    if binary:
        text = b"".join(len(word).to_bytes(4, "little") + word.encode() for word in decisions)
        assert answer.endswith(text)
        return
    said = {output["name"]: output for output in json.loads(answer)["outputs"]}
    assert list(said) == ["label", "probability", "decision"]
    assert said["decision"]["shape"] == [len(TEXTS)] and said["label"]["shape"] == [len(TEXTS), 2]
    assert said["decision"]["data"] == decisions
    assert said["label"]["data"] == sum(labels, [])


def test_a_tensor_of_decisions_needs_a_line(service):
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": TEXTS[:1]}
    asked = json.dumps({"inputs": [tensor], "outputs": [{"name": "decision"}]})
    status, _, answer = service.ask("POST", "/v2/models/texts/infer", asked)
    assert status == 400 and "Valid: label, probability." in answer.decode()


def test_what_is_no_probability_is_refused(service):
    for wrong in ("2", "-0.5", "much", "nan"):
        path = f"/models/texts/predict?reject_below={wrong}"
        said = service.predict({"inputs": TEXTS}, path, code=400)["error"]
        assert f"reject_below='{wrong}': Expected float" in said
