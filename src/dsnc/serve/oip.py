"""The Open Inference Protocol, version 2, with its extension for binary tensors.

Texts go as BYTES and rows as numbers into one tensor; of a model that reads several columns, each
goes as BYTES into a tensor of its name. Out come ``label`` and ``probability``. What the
specification leaves open: ``top_k`` and ``reject_below`` are parameters of the request; with
``reject_below``, ``decision`` comes out, too. A set of labels, and its probabilities, are lists in
JSON, as BYTES.
"""

import contextlib
import math
from itertools import chain
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from dsnc.errors import shorten
from dsnc.serve.answers import Go, answer, to_json
from dsnc.serve.bodies import Rows, checked
from dsnc.serve.bodies import parse as parse_json
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.options import Count, Options, Share, as_struct, name_not_known
from dsnc.serve.served import Served

HEADER_LENGTH = b"inference-header-content-length"
OUTPUTS, DECISION = ("label", "probability"), "decision"
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
Datatypes = (*_TYPES, "BYTES")
_DIMENSIONS = 8
_LABELS = {"i": "INT64", "u": "UINT64", "f": "FP64", "b": "BOOL"}


class Tensor(Struct, kw_only=True):
    """Rows, or a column of texts: in `data`, or as bytes behind the JSON."""

    name: str = ""
    shape: list[Annotated[int, Meta(ge=0, lt=1 << 62)]]
    datatype: Annotated[str, Meta(extra_json_schema={"enum": Datatypes})]
    data: list[Any] | UnsetType = UNSET
    parameters: dict[str, Any] = {}


class Output(Struct):
    """An output that is wanted."""

    name: str
    parameters: dict[str, Any] = {}


class Wishes(Struct, kw_only=True, forbid_unknown_fields=True):
    """What a request asks for: two options as everywhere, and one of the protocol."""

    top_k: Count | None = None
    reject_below: Share | None = None
    binary_data_output: bool = False


class Inference(Struct, kw_only=True):
    """A request for inference."""

    inputs: list[Tensor]
    outputs: list[Output] = []
    parameters: Annotated[
        dict[str, Any], Meta(description=", ".join(Wishes.__struct_fields__))
    ] = {}
    id: str | int | None = None


class Answered(Struct, omit_defaults=True):
    """An output: in `data`, or as bytes behind the JSON."""

    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, int] | None = None
    data: list[Any] | None = None


class Inferred(Struct, omit_defaults=True):
    """The answer to a request for inference."""

    model_name: str
    model_version: str
    outputs: list[Answered]
    id: str | None = None


class Asked(NamedTuple):
    """What a request for inference asks for."""

    rows: Any
    options: Options
    outputs: dict[str, bool]  # name to whether it comes as bytes
    id: str | None


def about_model(served: Served) -> dict[str, Any]:
    """Return what ``GET /v2/models/{name}`` says."""
    rows: dict[str, Any] = {"name": "X", "datatype": "FP32", "shape": [-1, served.n_features]}
    columns = served.model.records.names if served.takes_text else []
    names = ["text"] if served.takes_lines else columns
    texts = [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in names]
    label, share = ("BYTES", "BYTES") if served.has_sets else (_label_type(served), "FP32")
    return {
        "name": served.name,
        "versions": [served.version],
        "platform": "dsnc",
        "inputs": texts or [rows],
        "outputs": [
            {"name": "label", "datatype": label, "shape": [-1]},
            {"name": "probability", "datatype": share, "shape": [-1]},
        ],
    }


def infer(
    served: Served, asked: Asked, go: Go, limits: Limits
) -> tuple[bytes, dict[bytes, bytes], int]:
    """Answer a request; return the body, headers, and the number of rows."""
    options, n_rows = asked.options, len(asked.rows)
    gives_sets = served.has_sets and options.top_k is None
    labels: list[Any] = []
    shares: list[Any] = []
    decisions: list[str] = []
    for block in answer(served, asked.rows, options, go, limits):
        if gives_sets:
            labels += [to_json(some).decode() for some in block.labels]
            shares += [to_json(some).decode() for some in block.probabilities or []]
            continue
        labels += block.labels
        shares += block.probabilities or []
        decisions += block.decisions or []
    shape = [n_rows]
    if options.top_k is not None:
        shape.append(min(options.k, served.n_classes))
        labels, shares = (list(chain.from_iterable(rows)) for rows in (labels, shares))
    values = {
        "label": ("BYTES" if gives_sets else _label_type(served), shape, labels),
        "probability": ("BYTES" if gives_sets else "FP32", shape, shares),
        DECISION: ("BYTES", [n_rows], decisions),
    }
    outputs, tail = [], b""
    for name, is_binary in asked.outputs.items():
        datatype, sizes, flat = values[name]
        output = Answered(name, datatype, sizes)
        if is_binary:
            octets = _to_bytes(flat, datatype)
            output.parameters = {"binary_data_size": len(octets)}
            tail += octets
        else:
            output.data = [str(item) for item in flat] if datatype == "BYTES" else flat
        outputs.append(output)
    text = to_json(Inferred(served.name, served.version, outputs, asked.id))
    if not any(asked.outputs.values()):
        return text, {b"content-type": b"application/json"}, n_rows
    headers = {b"content-type": b"application/octet-stream", HEADER_LENGTH: b"%d" % len(text)}
    return text + tail, headers, n_rows


def parse(served: Served, body: bytes, header_length: bytes | None, limits: Limits) -> Asked:
    """Parse a request: JSON, and behind it the bytes of tensors."""
    length = len(body)
    if header_length is not None:
        digits = header_length[:20]
        if not digits.isdigit() or len(header_length) > len(digits) or int(digits) > length:
            raise Refused(
                400, f"{HEADER_LENGTH.decode()} is not a number of bytes within the body."
            )
        length = int(digits)
    request = parse_json(body[:length], Inference)
    rows = _rows(_tensors(served, request.inputs, body[length:]), Rows(served.model, limits))
    wishes = as_struct(request.parameters, Wishes)
    outputs = _outputs(request, wishes)
    options = Options(
        top_k=wishes.top_k,
        reject_below=wishes.reject_below,
        probabilities="probability" in outputs,
    )
    return Asked(rows, options, outputs, None if request.id is None else str(request.id))


def _tensors(served: Served, inputs: list[Tensor], tail: bytes) -> dict[str, Any]:
    """Return the tensors that the model takes, by name; one alone may have any."""
    wanted = [tensor["name"] for tensor in about_model(served)["inputs"]]
    names = [tensor.name for tensor in inputs]
    names = wanted if len(names) == len(wanted) == 1 else names
    if sorted(names) != sorted(wanted):
        each = "one tensor" if len(wanted) == 1 else "one tensor for each column"
        raise Refused(400, f"inputs must be a list of {each}, {', '.join(map(repr, wanted))}.")
    found = {}
    for place, (name, tensor) in enumerate(zip(names, inputs, strict=True)):
        where, size = f"inputs[{place}]", tensor.parameters.get("binary_data_size")
        _check_name(tensor.datatype, Datatypes, f"{where}.datatype")
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
        row = values[0] if len(values) == 1 else dict(zip(tensors, values, strict=True))
        rows.add_value(row)
    return rows.take() if rows.n else columns[0]


def _outputs(request: Inference, wishes: Wishes) -> dict[str, bool]:
    """Return which outputs are wanted, all if none is named, and whether as bytes."""
    valid = OUTPUTS if wishes.reject_below is None else (*OUTPUTS, DECISION)
    found = {}
    for each in request.outputs or [Output(name) for name in valid]:
        _check_name(each.name, valid, "outputs")
        found[each.name] = bool(each.parameters.get("binary_data", wishes.binary_data_output))
    return found


def _check_name(name: str, valid: tuple[str, ...], where: str) -> None:
    if name not in valid:
        raise Refused(400, f"{where}: {name_not_known(name, valid)}")


def _shaped(values: Any, tensor: Tensor, where: str) -> Any:
    """Return an array in the shape that a tensor says; of texts, a list of them all."""
    n = len(values)
    if math.prod(tensor.shape) == n and len(tensor.shape) <= _DIMENSIONS:
        with contextlib.suppress(ValueError):  # of sizes beside a 0
            found = values.reshape(tensor.shape)
            return values.tolist() if tensor.datatype == "BYTES" else found
    raise Refused(400, f"{where} has {n:,} elements, but its shape is {shorten(tensor.shape)}.")


def _from_json(tensor: Tensor, where: str) -> Any:
    if tensor.data is UNSET:
        raise Refused(400, f"{where} has neither a list 'data' nor 'binary_data_size'.")
    try:
        with np.errstate(over="ignore"):
            values = np.array(tensor.data, dtype=_TYPES.get(tensor.datatype, object)).ravel()
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise Refused(400, f"{where}.data is not an array of {tensor.datatype}.") from None
    if tensor.datatype == "BYTES" and not all(isinstance(item, str) for item in values):
        raise Refused(400, f"{where}.data holds a value that is not a text.")
    return _shaped(values, tensor, where)


def _from_bytes(tensor: Tensor, octets: bytes, where: str) -> Any:
    datatype = tensor.datatype
    if datatype != "BYTES":
        dtype = np.dtype(_TYPES[datatype])
        if len(octets) % dtype.itemsize:
            raise Refused(400, f"{where} has {len(octets):,} bytes, which do not fit {datatype}.")
        return _shaped(np.frombuffer(octets, dtype=dtype), tensor, where)
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
    return _shaped(np.array(texts, dtype=object), tensor, where)


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
