"""The Open Inference Protocol, version 2, with its extension for binary tensors.

Texts go as BYTES and rows as numbers into one tensor; of a model that reads several columns, each
goes as BYTES into a tensor of its name. Out come ``label`` and ``probability``. What the
specification leaves open: ``top_k``, ``unknown`` and ``unknown_share`` are parameters of the
request. A row that is unknown has the probability 0.
"""

import json
from typing import Any, NamedTuple

import numpy as np

import dsnc
from dsnc.errors import shorten
from dsnc.serve.answers import Go, answer, dumps
from dsnc.serve.bodies import Rows, checked
from dsnc.serve.options import Options, options_of
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served

HEADER_LENGTH = b"inference-header-content-length"
OUTPUTS = ("label", "probability")
_TYPES = {
    "BOOL": "?",
    "UINT8": "<u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "<i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
}
_LABELS = {"i": "INT64", "u": "UINT64", "f": "FP64", "b": "BOOL"}
_OURS = ("top_k", "unknown", "unknown_share")
_OF_PROTOCOL = ("binary_data_output",)  # parameters that are not ours


class Asked(NamedTuple):
    """What a request for inference asks for."""

    rows: Any
    options: Options
    outputs: dict[str, bool]  # name to whether it comes as bytes
    id: str | None


def about_server() -> dict[str, Any]:
    """Return what ``GET /v2`` says."""
    return {"name": "dsnc", "version": dsnc.__version__, "extensions": ["binary_tensor_data"]}


def about_model(served: Served) -> dict[str, Any]:
    """Return what ``GET /v2/models/{name}`` says."""
    rows: dict[str, Any] = {"name": "X", "datatype": "FP32", "shape": [-1, served.n_features]}
    columns = served.model.records.names if served.takes_text else []
    names = ["text"] if served.takes_lines else columns
    texts = [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in names]
    return {
        "name": served.name,
        "versions": [served.version],
        "platform": "dsnc",
        "inputs": texts or [rows],
        "outputs": [
            {"name": "label", "datatype": _label_type(served), "shape": [-1]},
            {"name": "probability", "datatype": "FP32", "shape": [-1]},
        ],
    }


def infer(
    served: Served, body: bytes, header_length: bytes | None, most: int, go: Go
) -> tuple[bytes, dict[bytes, bytes], int]:
    """Answer a request; return the body, headers, and the number of rows."""
    asked = _asked(served, body, header_length, served.rows(most))
    options, n_rows = asked.options, len(asked.rows)
    if served.has_sets and options.top_k is None:
        raise Refused(400, "Sets of labels have no fixed shape; give the parameter top_k.")
    _check_unknown(served, options)
    labels: list[Any] = []
    shares: list[Any] = []
    for block in answer(served, asked.rows, options, go):
        labels += block.labels
        shares += [0.0 if share is None else share for share in block.probabilities or []]
    shape = [n_rows] if options.top_k is None else [n_rows, min(options.k, served.n_classes)]
    values = {"label": (_label_type(served), labels), "probability": ("FP32", shares)}
    outputs, tail = [], b""
    for name, is_binary in asked.outputs.items():
        datatype, data = values[name]
        output: dict[str, Any] = {"name": name, "datatype": datatype, "shape": shape}
        flat = [item for row in data for item in row] if options.top_k else data
        if is_binary:
            octets = _to_bytes(flat, datatype)
            output["parameters"] = {"binary_data_size": len(octets)}
            tail += octets
        else:
            output["data"] = [str(item) for item in flat] if datatype == "BYTES" else flat
        outputs.append(output)
    said: dict[str, Any] = {"model_name": served.name, "model_version": served.version}
    said |= {"id": asked.id} if asked.id is not None else {}
    text = dumps({**said, "outputs": outputs}).encode()
    if not any(asked.outputs.values()):
        return text, {b"content-type": b"application/json"}, n_rows
    headers = {b"content-type": b"application/octet-stream", HEADER_LENGTH: b"%d" % len(text)}
    return text + tail, headers, n_rows


def _check_unknown(served: Served, options: Options) -> None:
    """Refuse a label for unknown rows that the tensors cannot hold."""
    if options.unknown is None:
        return
    if options.top_k is not None:
        raise Refused(400, "Unknown rows have one label; give either top_k or unknown.")
    datatype = _label_type(served)
    fits: dict[str, tuple[type, ...]] = {"INT64": (int,), "UINT64": (int,), "FP64": (int, float)}
    if datatype != "BYTES" and not isinstance(options.unknown, fits.get(datatype, ())):
        raise Refused(400, f"unknown={shorten(options.unknown)} is not of the type {datatype}.")
    if datatype in ("INT64", "UINT64"):
        limits = np.iinfo(_TYPES[datatype])
        if not limits.min <= options.unknown <= limits.max:
            raise Refused(400, f"unknown={options.unknown} is not of the type {datatype}.")


def _asked(served: Served, body: bytes, header_length: bytes | None, rows: Rows) -> Asked:
    """Parse a request: JSON, and behind it the bytes of tensors."""
    length = len(body)
    if header_length is not None:
        if not header_length.isdigit() or int(header_length[:20]) > len(body):
            raise Refused(
                400, f"{HEADER_LENGTH.decode()} is not a number of bytes within the body."
            )
        length = int(header_length)
    request = _object(body[:length])
    X = _rows(_tensors(served, request.get("inputs"), body[length:]), rows)
    parameters = _parameters(request)
    outputs = _outputs(request, bool(parameters.get("binary_data_output", False)))
    wishes = {name: v for name, v in parameters.items() if name in _OURS}
    for name in parameters:
        if name not in wishes and name not in _OF_PROTOCOL:
            valid = ", ".join(_OURS)
            raise Refused(400, f"parameters: {shorten(name)} is not known. Valid: {valid}.")
    options = options_of({**wishes, "probabilities": "probability" in outputs})
    number = request.get("id")
    return Asked(X, options, outputs, None if number is None else str(number))


def _tensors(served: Served, inputs: Any, tail: bytes) -> dict[str, Any]:
    """Return the tensors that the model takes, by name; one alone may have any."""
    wanted = [tensor["name"] for tensor in about_model(served)["inputs"]]
    is_list = isinstance(inputs, list) and all(isinstance(tensor, dict) for tensor in inputs)
    names = [tensor.get("name") for tensor in inputs] if is_list else []
    names = wanted if len(names) == len(wanted) == 1 else names
    if sorted(map(str, names)) != sorted(wanted):
        each = "one tensor" if len(wanted) == 1 else "one tensor for each column"
        raise Refused(400, f"inputs must be a list of {each}, {', '.join(map(repr, wanted))}.")
    found = {}
    for place, (name, tensor) in enumerate(zip(names, inputs, strict=True)):
        where, size = f"inputs[{place}]", _parameters(tensor).get("binary_data_size")
        if size is None:
            found[name] = _from_json(tensor, where)
            continue
        most, least = len(tail), len(tail) if place == len(names) - 1 else 0
        if type(size) is not int or not least <= size <= most:
            said = f"{where}: binary_data_size={shorten(size)}, but {most:,} bytes follow."
            raise Refused(400, said)
        found[name], tail = _from_bytes(tensor, tail[:size], where), tail[size:]
    return found


def _rows(tensors: dict[str, Any], rows: Rows) -> Any:
    """Return rows as the model takes them."""
    columns = list(tensors.values())
    if len(columns) == 1 and not isinstance(columns[0], list):
        return checked(columns[0], rows)
    if len({len(column) for column in columns}) > 1:
        raise Refused(400, "inputs have different numbers of rows; send equally many in each.")
    for values in zip(*columns, strict=True):
        rows.add(values[0] if len(values) == 1 else dict(zip(tensors, values, strict=True)))
    return rows.take() if rows.n else columns[0]


def _object(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"The request is not valid JSON ({str(error)[:80]}).") from None
    if not isinstance(value, dict):
        raise Refused(400, 'The request must be an object, such as {"inputs": [...]}.')
    return value


def _parameters(part: dict[str, Any]) -> dict[str, Any]:
    found = part.get("parameters", {})
    if not isinstance(found, dict):
        raise Refused(400, "parameters must be an object.")
    return found


def _outputs(request: dict[str, Any], binary: bool) -> dict[str, bool]:
    """Return the outputs that are wanted, all if none is named, and how."""
    wanted = request.get("outputs") or [{"name": name} for name in OUTPUTS]
    found = {}
    if not isinstance(wanted, list) or not all(isinstance(each, dict) for each in wanted):
        raise Refused(400, "outputs must be a list of objects.")
    for each in wanted:
        name = each.get("name")
        if name not in OUTPUTS:
            raise Refused(
                400, f"outputs: {shorten(name)} is not known. Valid: {', '.join(OUTPUTS)}."
            )
        found[name] = bool(_parameters(each).get("binary_data", binary))
    return found


def _shape(tensor: dict[str, Any], n: int, where: str) -> list[int]:
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise Refused(400, f"{where}.shape={shorten(shape)} must be a list of sizes.")
    if np.prod(shape, dtype=np.float64) != n:
        raise Refused(400, f"{where} has {n:,} elements, but its shape is {shape}.")
    return shape


def _type(tensor: dict[str, Any]) -> str:
    datatype = tensor.get("datatype")
    if not isinstance(datatype, str) or (datatype != "BYTES" and datatype not in _TYPES):
        valid = ", ".join([*_TYPES, "BYTES"])
        raise Refused(400, f"datatype={shorten(datatype)} is not known. Valid: {valid}.")
    return datatype


def _from_json(tensor: dict[str, Any], where: str) -> Any:
    datatype, data = _type(tensor), tensor.get("data")
    if not isinstance(data, list):
        raise Refused(400, f"{where} has neither a list 'data' nor 'binary_data_size'.")
    if datatype == "BYTES":
        while data and isinstance(data[0], list):
            if not all(isinstance(part, list) for part in data):
                raise Refused(400, f"{where}.data is nested unevenly.")
            data = [item for part in data for item in part]
        if not all(isinstance(item, str) for item in data):
            raise Refused(400, f"{where}.data holds a value that is not a text.")
        _shape(tensor, len(data), where)
        return data
    try:
        with np.errstate(over="ignore"):
            values = np.array(data, dtype=_TYPES[datatype])
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise Refused(400, f"{where}.data is not an array of {datatype}.") from None
    return values.reshape(_shape(tensor, values.size, where))


def _from_bytes(tensor: dict[str, Any], octets: bytes, where: str) -> Any:
    datatype = _type(tensor)
    if datatype != "BYTES":
        dtype = np.dtype(_TYPES[datatype])
        n, left = divmod(len(octets), dtype.itemsize)
        if left:
            raise Refused(400, f"{where} has {len(octets):,} bytes, which do not fit {datatype}.")
        return np.frombuffer(octets, dtype=dtype).reshape(_shape(tensor, n, where))
    texts, at = [], 0
    while at < len(octets):  # each with its length before it
        size = int.from_bytes(octets[at : at + 4], "little")
        at += 4
        if at + size > len(octets):
            raise Refused(400, f"{where} ends within a text.")
        try:
            texts.append(octets[at : at + size].decode())
        except UnicodeDecodeError:
            raise Refused(400, f"{where}: text {len(texts):,} is not UTF-8.") from None
        at += size
    _shape(tensor, len(texts), where)
    return texts


def _to_bytes(flat: list[Any], datatype: str) -> bytes:
    if datatype != "BYTES":
        return np.array(flat, dtype=_TYPES[datatype]).tobytes()
    parts = []
    for item in flat:
        octets = str(item).encode("utf-8", "surrogatepass")
        parts += [len(octets).to_bytes(4, "little"), octets]
    return b"".join(parts)


def _label_type(served: Served) -> str:
    return _LABELS.get(served.model.classes_.dtype.kind, "BYTES")
