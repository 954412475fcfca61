"""A model that reads several columns: over HTTP, a row is an object or a list of its texts."""

import json

import pytest

from serving import OPEN, Changing
from two_texts import RECORD, two_texts

COLUMNS = ["title", "note"]
ONE_TEXT = 'is one text, but the model reads \'title\', \'note\'. Give a row as {"title": "...", "n'


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    two_texts(folder / "a.csv").save(folder / "jobs")
    service = Changing(folder, folder / "jobs", workers=1)
    yield service
    assert service.stop() == 0
    assert "Traceback" not in service.path.read_text()


def test_the_columns_are_named(service):
    (about,) = json.loads(service.get("/models", **OPEN))["models"]
    assert about["columns"] == COLUMNS
    facts = json.loads(service.get("/models/jobs/page/facts", **OPEN))
    assert facts["columns"] == COLUMNS and ["columns", "title, note"] in facts["about"]
    about = json.loads(service.get("/v2/models/jobs", **OPEN))
    assert about["inputs"] == [tensor(name) for name in COLUMNS]


@pytest.mark.parametrize("row", [RECORD, list(RECORD.values()), dict(reversed(RECORD.items()))])
def test_records_are_rows(service, row):
    found = service.of("POST", "/predict", {"inputs": [row, row], "explain": 1})
    assert found["labels"] == ["nurse", "nurse"]
    many = service.of("POST", "/predict", {"inputs": [row] * 4000})  # parsed row by row
    assert many["labels"] == ["nurse"] * 4000
    lines = f"{json.dumps(row)}\n{json.dumps(row)}\n".encode()
    headers = OPEN | {"Content-Type": "application/x-ndjson"}
    answer = service.ask("POST", "/predict", lines, headers)[2]
    assert answer.decode() == '{"label":"nurse"}\n' * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("night nurse", f"inputs[1] {ONE_TEXT}"),
        (
            {"title": "a", "nota": "b"},
            "inputs[1] has 'nota', but the model reads 'title', 'note'. D",
        ),
        ({"title": "a"}, "inputs[1] has no 'note', but the model reads"),
        (["a"], "inputs[1] is a list of 1, but the model reads"),
        ([1, 2], "inputs[1] has a value that is not a text in column 'title': '1'"),
        (7, "inputs[1] holds a value that is not a number"),
    ],
)
def test_what_is_no_record_is_refused(service, row, message):
    found = service.of("POST", "/predict", {"inputs": [RECORD, row]}, 400)
    assert message in found["error"]
    found = service.of("POST", "/classes", {"inputs": [RECORD, row], "labels": ["a", "a"]}, 400)
    assert message in found["error"]


def test_a_line_alone_is_refused(service):
    headers = OPEN | {"Content-Type": "application/x-ndjson"}
    status, _, answer = service.ask("POST", "/predict", b'"night nurse"\n', headers)
    assert status == 400 and f"Line 1 {ONE_TEXT}" in json.loads(answer)["error"]


def test_classes_come_from_records(service):
    rows = [{"title": "tow boat", "note": "bus driver"}, ["tow rope", "sushi cook"]]
    found = service.of("POST", "/classes", {"inputs": rows, "labels": ["tow", "tow"]})
    assert (found["added"], found["rows"]) == (["tow"], 2)
    found = service.of("POST", "/predict", {"inputs": [["a tow", "bus driver"]]})
    assert found["labels"] == ["tow"]


def test_a_table_without_its_columns_is_told_what_to_do(service):
    headers = OPEN | {"Content-Type": "text/csv"}
    status, _, answer = service.ask("POST", "/predict", b"night nurse\nbus driver\n", headers)
    message = "The body: has 1 columns without names, and the model reads 'title', 'note'."
    assert status == 400 and message in json.loads(answer)["error"]


def tensor(name, **more):
    return {"name": name, "datatype": "BYTES", "shape": [-1], **more}


def infer(service, *tensors, tail=b"", code=200):
    head = json.dumps({"inputs": tensors}).encode()
    headers = OPEN | {"Inference-Header-Content-Length": str(len(head))}
    status, _, answer = service.ask("POST", "/v2/models/jobs/infer", head + tail, headers)
    assert status == code, answer
    return json.loads(answer)


def test_a_tensor_for_each_column(service):
    rows = [["bus driver", "night nurse"], ["sushi cook", "drone pilot"], ["", ""]]
    expected = service.of("POST", "/predict", {"inputs": rows})["labels"]
    pairs = list(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    plain = [tensor(name, shape=[3], data=texts) for name, texts in pairs]
    assert infer(service, *plain)["outputs"][0]["data"] == expected
    assert infer(service, *reversed(plain))["outputs"][0]["data"] == expected
    packed = {
        name: b"".join(len(text).to_bytes(4, "little") + text.encode() for text in texts)
        for name, texts in pairs
    }
    sized = [
        tensor(name, shape=[3], parameters={"binary_data_size": len(packed[name])})
        for name in COLUMNS
    ]
    tail = b"".join(packed.values())
    assert infer(service, *sized, tail=tail)["outputs"][0]["data"] == expected
    assert (
        infer(service, sized[0], plain[1], tail=packed["title"])["outputs"][0]["data"] == expected
    )
    error = infer(service, *sized, tail=tail + b"x", code=400)["error"]
    assert "inputs[1]: binary_data_size=" in error


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([tensor("text", shape=[1], data=["a"])], "one tensor for each column, 'title', 'note'"),
        (
            [tensor(name, shape=[1], data=["a"]) for name in ("title", "nota")],
            "one tensor for each",
        ),
        ([tensor(name, shape=[1], data=["a"]) for name in ("title", "title")], "one tensor for"),
        (
            [tensor("title", shape=[1], data=["a"]), tensor("note", shape=[2], data=["a", "b"])],
            "inputs have different numbers of rows",
        ),
        (
            [tensor("title", shape=[1], data=["a"]), tensor("note", shape=[2], data=["a"])],
            "inputs[1] has 1 elements, but its shape is [2]",
        ),
    ],
)
def test_wrong_tensors(service, tensors, message):
    assert message in infer(service, *tensors, code=400)["error"]
