"""The Open Inference Protocol, from its specification: JSON and binary tensors."""

import gzip
import json

import numpy as np
import pytest

TEXTS = ["a NURSE", "tram driver", "köchin 🙂", ""]
LENGTH = "Inference-Header-Content-Length"


def infer(service, model, request, tail=b"", code=200, length=True, **headers):
    """Send a request; return what came back as an object, and tensors by their names."""
    text = json.dumps(request).encode()
    headers |= {LENGTH: str(len(text))} if length and tail else {}
    path = f"/v2/models/{model}/infer"
    status, about, body = service.ask("POST", path, text + tail, headers)
    assert status == code, body
    if code != 200:
        return json.loads(body)["error"]
    about = {name.lower(): value for name, value in about.items()}
    size = int(about.get(LENGTH.lower(), len(body)))
    said, rest = json.loads(body[:size]), body[size:]
    values = {}
    for output in said["outputs"]:
        n = output.get("parameters", {}).get("binary_data_size")
        values[output["name"]] = output["data"] if n is None else unpack(output, rest[:n])
        rest = rest[n or 0 :]
    assert rest == b""
    return said, values


def pack(texts):
    encoded = [text.encode() for text in texts]
    return b"".join(len(text).to_bytes(4, "little") + text for text in encoded)


def unpack(output, data):
    types = {"INT64": "<i8", "FP32": "<f4"}
    if output["datatype"] != "BYTES":
        return np.frombuffer(data, types[output["datatype"]]).tolist()
    found = []
    while data:
        size = int.from_bytes(data[:4], "little")
        found.append(data[4 : 4 + size].decode())
        data = data[4 + size :]
    return found


def text_tensor(texts, **more):
    return {"name": "text", "shape": [len(texts)], "datatype": "BYTES", **more}


def test_the_server_and_its_models_introduce_themselves(service, texts):
    assert json.loads(service.get("/v2"))["extensions"] == ["binary_tensor_data"]
    about = json.loads(service.get("/v2/models/texts"))
    version = json.loads(service.get("/health"))["models"]["texts"]
    assert (about["name"], about["versions"]) == ("texts", [version])
    assert about["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert [one["name"] for one in about["outputs"]] == ["label", "probability"]
    vectors = json.loads(service.get("/v2/models/vectors"))
    assert vectors["inputs"] == [{"name": "X", "datatype": "FP32", "shape": [-1, 4]}]
    for path in ("", "/ready"):
        service.get(f"/v2/models/texts{path}")
        service.get(f"/v2/models/texts/versions/{version}{path}")
        for other in ("nothing", "texts/versions/0123456789abcdef"):
            status, _, body = service.ask("GET", f"/v2/models/{other}{path}")
            assert status == 404 and set(json.loads(body)) == {"error"}


@pytest.mark.parametrize("binary_in", [False, True])
@pytest.mark.parametrize("binary_out", [False, True])
def test_texts(service, texts, binary_in, binary_out):
    labels, shares = texts.predict_top_k(TEXTS, k=2)
    tail = pack(TEXTS) if binary_in else b""
    more = {"parameters": {"binary_data_size": len(tail)}} if binary_in else {"data": TEXTS}
    outputs = [
        {"name": name, "parameters": {"binary_data": binary_out}}
        for name in ("probability", "label")
    ]
    request = {"id": "42", "inputs": [text_tensor(TEXTS, **more)], "outputs": outputs}
    said, values = infer(service, "texts", request, tail)
    assert (said["model_name"], said["id"]) == ("texts", "42")
    assert [output["shape"] for output in said["outputs"]] == [[4], [4]]
    assert values["label"] == labels[:, 0].tolist()
    np.testing.assert_allclose(values["probability"], shares[:, 0], atol=1e-6)
    said, values = infer(service, "texts", {**request, "parameters": {"top_k": 2}}, tail)
    assert [output["shape"] for output in said["outputs"]] == [[4, 2], [4, 2]]
    assert values["label"] == labels.ravel().tolist()


def test_texts_may_be_nested(service, texts):
    tensor = {**text_tensor(TEXTS), "shape": [2, 2], "data": [TEXTS[:2], TEXTS[2:]]}
    _, values = infer(service, "texts", {"inputs": [tensor]})
    assert values["label"] == texts.predict(TEXTS).tolist()
    for data in ([TEXTS[:2], *TEXTS[2:]], [TEXTS[:1], TEXTS[1:]], [[], TEXTS], [TEXTS[:3], [{}]]):
        request = {"inputs": [{**tensor, "data": data}]}
        assert "inputs[0].data holds a value" in infer(service, "texts", request, code=400)


@pytest.mark.parametrize("datatype", ["FP32", "FP64", "FP16", "INT32"])
def test_vectors(service, vectors, X, datatype):
    dtype = {"FP32": "<f4", "FP64": "<f8", "FP16": "<f2", "INT32": "<i4"}[datatype]
    X = X.astype(dtype)
    expected = vectors.predict(X.astype(float)).tolist()
    tensor = {"name": "X", "shape": list(X.shape), "datatype": datatype}
    wanted = {"outputs": [{"name": "label"}]}
    for data in (X.tolist(), X.ravel().tolist()):
        said, values = infer(service, "vectors", {"inputs": [{**tensor, "data": data}], **wanted})
        assert values == {"label": expected}
        assert said["model_version"]
    tail = X.tobytes()
    binary = {**tensor, "parameters": {"binary_data_size": len(tail)}}
    request = {"inputs": [binary], "parameters": {"binary_data_output": True}}
    assert infer(service, "vectors", request, tail)[1]["label"] == expected


def test_packed_requests(service, texts):
    tail = pack(TEXTS)
    tensor = text_tensor(TEXTS, parameters={"binary_data_size": len(tail)})
    text = json.dumps({"inputs": [tensor]}).encode()
    headers = {LENGTH: str(len(text)), "Content-Encoding": "gzip"}
    body = gzip.compress(text + tail)
    status, _, answer = service.ask("POST", "/v2/models/texts/infer", body, headers)
    assert status == 200
    assert json.loads(answer)["outputs"][0]["data"] == texts.predict(TEXTS).tolist()


ONE = {"name": "X", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ([], "must be an object"),
        ({}, "inputs is missing"),
        ({"inputs": []}, "a list of one tensor, 'X'"),
        ({"inputs": [ONE, ONE]}, "a list of one tensor"),
        ({"inputs": [{**ONE, "shape": [2, 4]}]}, "4 elements, but its shape is [2, 4]"),
        ({"inputs": [{**ONE, "shape": [4]}]}, "shape (4,); expected (rows, 4)"),
        ({"inputs": [{**ONE, "shape": [1, -4]}]}, "inputs[0].shape[1]: Expected int >= 0"),
        ({"inputs": [{**ONE, "shape": "1"}]}, "inputs[0].shape: Expected array, got str"),
        (
            {"inputs": [{**ONE, "datatype": "FP31"}]},
            "inputs[0].datatype: 'FP31' is not known. Did you mean 'FP32'? Valid: BOOL, UINT8,",
        ),
        ({"inputs": [{**ONE, "datatype": ["FP32"]}]}, "inputs[0].datatype: Expected str, got"),
        ({"inputs": [{**ONE, "data": None}]}, "inputs[0].data: Expected array, got null"),
        ({"inputs": [{k: v for k, v in ONE.items() if k != "data"}]}, "neither a list 'data' nor"),
        (
            {"inputs": [{**ONE, "shape": [10**30, 0], "data": []}]},
            "inputs[0].shape[0]: Expected int",
        ),
        ({"inputs": [{**ONE, "shape": [2**61, 0, 0], "data": []}]}, "but its shape is"),
        ({"inputs": [{**ONE, "shape": [0] * 70, "data": []}]}, "but its shape is"),
        ({"inputs": [{**ONE, "data": [1, 2, 3, "a"]}]}, "not an array of FP32"),
        ({"inputs": [{**ONE, "data": [[1, 2], [3]]}]}, "not an array of FP32"),
        ({"inputs": [{**ONE, "data": [1, 2, 3, 1e300]}]}, "NaN, infinity"),
        ({"inputs": [{**ONE, "parameters": []}]}, "parameters: Expected object, got array"),
        ({"inputs": [{**ONE, "parameters": {"binary_data_size": 7}}]}, "0 bytes follow"),
        ({"inputs": [{**ONE, "datatype": "BYTES"}]}, "a value that is not a text"),
        ({"inputs": [ONE], "outputs": [{"name": "codes"}]}, "Valid: label, probability"),
        ({"inputs": [ONE], "outputs": ["label"]}, "outputs[0]: Expected object"),
        (
            {"inputs": [ONE], "parameters": {"unknown": "x"}},
            "'unknown' is not known. Valid: top_k, reject_below, binary_data_output.",
        ),
        ({"inputs": [ONE], "parameters": {"binary_data_output": 1}}, "Expected bool, got int"),
        ({"inputs": [ONE], "parameters": {"top_k": -1}}, "top_k=-1: Expected int >= 1"),
    ],
)
def test_errors_have_the_form_of_the_protocol(service, request_, message):
    assert message in infer(service, "vectors", request_, code=400)


@pytest.mark.parametrize("tail", [b"\x05\x00\x00\x00abc", b"\x01\x00\x00\x00\xff", b"\x01\x00"])
def test_broken_texts(service, tail):
    tensor = text_tensor([""], parameters={"binary_data_size": len(tail)})
    assert "inputs[0]" in infer(service, "texts", {"inputs": [tensor]}, tail, code=400)


@pytest.mark.parametrize("length", ["999999", "-1", "x", "1" * 50, "0" * 5000])
def test_a_wrong_length_of_the_header(service, length):
    body = json.dumps({"inputs": [ONE]}).encode()
    status, _, answer = service.ask("POST", "/v2/models/vectors/infer", body, {LENGTH: length})
    assert status == 400 and "error" in json.loads(answer)
