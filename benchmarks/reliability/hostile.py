"""Requests of at most a megabyte, or a few connections, that would cost much if they were trusted.

What is sent is made when it is sent: some of it is large before it is packed.
"""

import bz2
import gzip
import json
import lzma
import socket
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, NamedTuple

MANY = 2200  # classes of the model "many"
TOKEN = "a-token-of-those-who-change"
_MEGABYTE = 1_000_000
_PATIENCE = 100.0  # seconds
_JSON, _LINES, _CSV = "application/json", "application/x-ndjson", "text/csv"
_BYTES = "application/octet-stream"


class Target:
    """Where a service listens; counts what it is sent."""

    def __init__(self, port: int) -> None:
        self.port, self.sent = port, 0

    def connect(self) -> socket.socket:
        """Return a connection to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE)

    def send(self, connection: socket.socket, data: bytes) -> None:
        """Send bytes; that nobody takes them any more is no error."""
        with suppress(ConnectionError):
            connection.sendall(data)
            self.sent += len(data)

    def status(self, connection: socket.socket) -> str:
        """Return the status of the answer, of which nothing is kept; "cut" where there is none."""
        begin = b""
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 20):
                begin += piece[: 12 - len(begin)]
        return begin[9:].decode() or "cut"

    def once(self, data: bytes) -> str:
        """Send a request on a connection of its own; return the status of the answer."""
        with self.connect() as connection:
            self.send(connection, data)
            try:
                return self.status(connection)
            except TimeoutError:
                return "nothing"


Send = Callable[[Target, bytes], str]  # returns how something was answered


class Hostile(NamedTuple):
    """A request, and what it may be answered with."""

    name: str
    make: Callable[[], bytes]  # takes long where much is packed
    expected: tuple[int, ...]
    send: Send = Target.once
    changes: bool = False  # whether it is sent to a service whose classes may be changed


def request(
    path: str, body: bytes = b"", kind: str = _JSON, method: str = "POST", **more: str
) -> bytes:
    """Return a request as it goes through the wire."""
    headers = {"Host": "localhost", "Connection": "close", "Content-Type": kind}
    headers |= {"Content-Length": str(len(body)), **more}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def _posted(path: str, body: bytes, kind: str = _JSON, **more: str) -> Callable[[], bytes]:
    """Return what makes a request with a small body."""
    return partial(request, path, body, kind, **more)


def _got(path: str, **more: str) -> Callable[[], bytes]:
    return partial(request, path, method="GET", **more)


def _change(body: dict[str, Any], method: str = "POST") -> Callable[[], bytes]:
    """Return what makes a change of classes."""
    data, bearer = json.dumps(body).encode(), f"Bearer {TOKEN}"
    return partial(request, _CLASSES, data, method=method, Authorization=bearer)


def _texts(inputs: Callable[[], list[Any]], **options: Any) -> Callable[[], bytes]:
    """Return what makes a request about texts."""

    def make() -> bytes:
        asked = {"inputs": inputs(), **options}
        text = json.dumps(asked, ensure_ascii=False, separators=(",", ":"))
        return request(_TEXTS, text.encode())

    return make


def _all_of(n: int) -> Callable[[], bytes]:
    """Return what asks for all classes of as many rows."""
    asked = {"inputs": ["nurse"] * n, "top_k": 10**9, "probabilities": True}
    return partial(request, _MANY, json.dumps(asked).encode())


def _packed(begin: bytes, unit: bytes, n: int, end: bytes = b"") -> bytes:
    """Return gzip of what is never in memory at once."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(begin)]
    some = unit * max(1, min(n, _MEGABYTE // len(unit)))
    whole, rest = divmod(n * len(unit), len(some))
    parts += [packer.compress(some) for _ in range(whole)]
    return b"".join([*parts, packer.compress(some[:rest]), packer.compress(end), packer.flush()])


def _bomb(path: str, kind: str, begin: bytes, unit: bytes, n: int, end: bytes = b"") -> Any:
    """Return what makes a body that is packed, and says so."""
    return lambda: request(path, _packed(begin, unit, n, end), kind, Content_Encoding="gzip")


def _disguised(pack: Callable[[bytes], bytes], row: bytes, n: int) -> Callable[[], bytes]:
    """Return what makes a table that is packed, and does not say so."""
    return lambda: request(_TEXTS, pack(b"text\n" + row * n), _CSV)


def _lines(row: bytes, n: int, path: str) -> Any:
    """Return what makes a packed stream of lines that are all the same."""
    return _bomb(path, _LINES, b"", row, n)


def _tensor(shape: Any, data: Any = ()) -> Callable[[], bytes]:
    tensor = {"name": "X", "shape": shape, "datatype": "FP32", "data": list(data)}
    return partial(request, _INFER, json.dumps({"inputs": [tensor]}).encode())


def _binary(
    shape: list[int], datatype: str, tail: bytes, path: str, **rest: Any
) -> Callable[[], bytes]:
    """Return what makes a request with a tensor in bytes."""
    tensor: dict[str, Any] = {"name": "text", "shape": shape, "datatype": datatype}
    tensor["parameters"] = {"binary_data_size": len(tail)}
    head = json.dumps({"inputs": [tensor], **rest}).encode()
    length = str(len(head))
    return _posted(path, head + tail, _BYTES, Inference_Header_Content_Length=length)


def _marks(n: int) -> str:
    """Return a letter with accents above and below, whose order is not the one of Unicode."""
    return "a" + "\u0301" * (n // 2) + "\u0316" * (n // 2)


def _in_chunks() -> bytes:
    """Return a request whose body comes in as many chunks as it has bytes."""
    head = request(_TEXTS).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    body = json.dumps({"inputs": ["a" * 150_000]}).encode()
    return head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


def _pipelined() -> bytes:
    one = b"GET /v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return one * (_MEGABYTE // len(one)) + request("/v2", method="GET")


def _beside(n: int, target: Target, begin: bytes) -> str:
    """Begin something on many connections; return what others are answered meanwhile."""
    with ExitStack() as stack:
        for _ in range(n):
            with suppress(ConnectionError):
                target.send(stack.enter_context(target.connect()), begin)
        time.sleep(1)
        return target.once(_ASKED)


def _together(n: int, target: Target, data: bytes) -> str:
    """Ask the same several times at once; return what others are answered meanwhile."""
    with ExitStack() as stack:
        asked = [stack.enter_context(target.connect()) for _ in range(n)]
        for connection in asked:
            target.send(connection, data)
        answer = target.once(_ASKED)
        for connection in asked:
            target.status(connection)
        return answer


def _slowly(target: Target, data: bytes) -> str:
    """Send the end of a body a byte at a time."""
    with target.connect() as connection:
        target.send(connection, data[:-60])
        connection.settimeout(0.5)
        for byte in data[-60:]:
            target.send(connection, bytes([byte]))
            with suppress(TimeoutError):
                return target.status(connection)
        return "in the end"


_TEXTS, _MANY = "/models/texts/predict", "/models/many/predict"
_VECTORS, _INFER = "/models/vectors/predict", "/v2/models/vectors/infer"
_INFER_TEXTS, _CLASSES = "/v2/models/texts/infer", "/models/texts/classes"
_ALL = f"?top_k={MANY}"
_ASKED = request(_TEXTS, b'{"inputs": ["a nurse"]}')
_WORDS = " ".join(f"{number:x}" for number in range(8000))
_LONG_WORDS = _texts(lambda: ["x" * 49_900] * 20, explain=True)

_TABLES = (
    Hostile("table: bzip2 of 200 MB", _disguised(bz2.compress, b"a" * _MEGABYTE, 200), (400,)),
    Hostile("table: xz of 60 MB", _disguised(lzma.compress, b"a" * _MEGABYTE, 60), (400,)),
    Hostile("table: gzip of 30 MB", _disguised(gzip.compress, b"a" * _MEGABYTE, 30), (400,)),
    Hostile("table, packed: 1 GB", _bomb(_TEXTS, _CSV, b"text\n", b"a", 10**9), (413,)),
    Hostile("table, packed: 30 million empty lines",
            _bomb(_TEXTS, _CSV, b"text\n", b"\n", 30_000_000), (200, 413, 503)),
    Hostile("table, packed: 3 million short rows",
            _bomb(_TEXTS, _CSV, b"text\n", b"a cook\n", 3_000_000), (413, 503)),
    Hostile("table, packed: 15 million columns",
            _bomb(_TEXTS, _CSV, b"text,", b"a,", 15_000_000, b"b\n"), (400, 413)),
    Hostile("table of 500,000 columns",
            _posted(_TEXTS, b"a," * 500_000 + b"text\n", _CSV), (200, 400, 413)),
    Hostile("table of a megabyte of quotes",
            _posted(_TEXTS, b"text\n" + b'"' * _MEGABYTE, _CSV), (200, 400)),
    Hostile("table of 90,000 rows",
            _posted(_TEXTS, b"text\n" + b"a cook\n" * 90_000, _CSV), (200,)),
    Hostile("table, all classes of 454 rows",
            _posted(f"{_MANY}{_ALL}&probabilities=1", b"text\n" + b"nurse\n" * 454, _CSV), (200,)),
)  # fmt: skip
_STREAMS = (
    Hostile("stream, packed: all classes of 1,500 rows",
            _lines(b'"nurse"\n', 1500, _MANY + _ALL), (200,)),
    Hostile("stream, packed: 700,000 rows", _lines(b'"nurse"\n', 700_000, _MANY), (200, 503)),
    Hostile("stream, packed: a line of 1 GB", _lines(b"a", 10**9, _TEXTS), (413,)),
    Hostile("stream, packed: 300 million empty lines",
            _lines(b"\n", 300_000_000, _TEXTS), (200, 503)),
    Hostile("stream, packed: a row of 15 million numbers",
            _bomb(_VECTORS, _LINES, b"[", b"0,", 15_000_000, b"0]"), (400, 413)),
    Hostile("stream, packed: explanations of 50 long texts",
            _lines(b'"%s"\n' % (b"nurse " * 8000), 50, f"{_TEXTS}?explain=true"), (200, 413, 503)),
    Hostile("stream: no row behind 90,000 rows",
            _posted(_TEXTS, b'"nurse"\n' * 90_000 + b"[1e400]\n", _LINES), (200,)),
    Hostile("streams whose answers nobody reads",
            _lines(b'"nurse"\n', 20_000, _MANY + _ALL), (200,), partial(_beside, 4)),
)  # fmt: skip
_BODIES = (
    Hostile("packed: a text of 1 GB", _bomb(_TEXTS, _JSON, b'{"inputs": ["', b"a", 10**9), (413,)),
    Hostile("packed: 31 million brackets",
            _bomb(_TEXTS, _JSON, b'{"inputs": ', b"[", 31_000_000), (400, 413)),
    Hostile("packed: 10 million empty texts",
            _bomb(_TEXTS, _JSON, b'{"inputs": [', b'"",', 10_000_000, b'""]}'), (413,)),
    Hostile("packed: a row of 15 million numbers",
            _bomb(_VECTORS, _JSON, b'{"inputs": [[', b"0,", 15_000_000, b"0]]}"), (400, 413)),
    Hostile("packed: 15 million features of a row",
            _bomb(_VECTORS, _JSON, b'{"inputs": [{"indices": [', b"0,", 15_000_000,
                  b'0], "values": []}]}'), (400, 413)),
    Hostile("packed: 4 million options",
            _bomb(f"{_TEXTS}{_ALL}", _JSON, b"{", b'"a":1,', 4_000_000, b'"inputs": []}'),
            (400, 413)),
    Hostile("packed: a tensor of 15 million numbers",
            _bomb(_INFER, _JSON, b'{"inputs":[{"name":"X","datatype":"FP32","shape":[1],"data":[',
                  b"0,", 15_000_000, b"0]}]}"), (400, 413)),
    Hostile("packed: 1.8 million outputs",
            _bomb(_INFER, _JSON, b'{"inputs": [], "outputs": [', b'{"name":"label"},', 1_800_000,
                  b'{"name":"label"}]}'), (400, 413)),
    Hostile("a megabyte of brackets", _posted(_TEXTS, b'{"inputs": ' + b"[" * _MEGABYTE), (400,)),
    Hostile("a megabyte of nested objects", _posted(_TEXTS, b'{"a":' * 200_000), (400,)),
    Hostile("an option of a megabyte", _texts(list, **{"x" * _MEGABYTE: 1}), (400,)),
    Hostile("one option 80,000 times",
            _posted(_TEXTS, b'{"inputs": []' + b', "top_k": 1' * 80_000 + b"}"), (200, 400)),
    Hostile("a number of a million digits",
            _posted(_VECTORS, b'{"inputs": [[1, 2, 3, %s]]}' % (b"9" * _MEGABYTE)), (400,)),
    Hostile("250,000 rows", _texts(lambda: ["a"] * 250_000), (413,)),
    Hostile("100,000 rows, probabilities and decisions",
            _texts(lambda: ["nurse"] * 100_000, probabilities=True, reject_below=0.5), (200,)),
    Hostile("as many labels as may be", _all_of(454), (200,)),
    Hostile("labels of one row more", _all_of(455), (413,)),
    Hostile("one feature 150,000 times in a row",
            _posted(_VECTORS, b'{"inputs": [{"indices": [0%s], "values": [1%s]}]}'
                    % (b",0" * 150_000, b",1" * 150_000)), (200,)),
    Hostile("feature number 2^63",
            _posted(_VECTORS, b'{"inputs": [{"indices": [9223372036854775808], "values": [1]}]}'),
            (400,)),
)  # fmt: skip
_LONG = (
    Hostile("the first text that is not ASCII", _texts(lambda: ["a nürse"]), (200,)),
    Hostile("a megabyte of combining marks", _texts(lambda: [_marks(_MEGABYTE // 2)]), (200,)),
    Hostile("combining marks in 1,200 rows", _texts(lambda: [_marks(400)] * 1200), (200,)),
    Hostile("300,000 letters that become 18 each", _texts(lambda: ["\ufdfa" * 300_000]), (200,)),
    Hostile("a word of a megabyte", _texts(lambda: ["x" * _MEGABYTE]), (200,)),
    Hostile("400,000 words", _texts(lambda: ["x " * 400_000]), (200,)),
    Hostile("explained: a word of a megabyte",
            _texts(lambda: ["x" * _MEGABYTE], explain=True), (400, 413)),
    Hostile("explained: 20 words of 50,000 letters", _LONG_WORDS, (200, 413, 503)),
    Hostile("explained: 20 texts of 8,000 words",
            _texts(lambda: [_WORDS] * 20, explain=True), (200, 413, 503)),
    Hostile("explained: 900 texts of 1,000 letters",
            _texts(lambda: ["nurse and cook " * 66] * 900, explain=1), (200, 413, 503)),
    Hostile("eight long explanations at once", _LONG_WORDS, (200,), partial(_together, 8)),
    Hostile("eight megabytes of marks at once",
            _texts(lambda: [_marks(_MEGABYTE // 2)]), (200,), partial(_together, 8)),
)  # fmt: skip
_TENSORS = (
    Hostile("tensor of shape [10^30, 0]", _tensor([10**30, 0]), (400,)),
    Hostile("tensor of shape [10^400, 0]", _tensor([10**400, 0]), (400,)),
    Hostile("tensor of shape [2^61, 0, 0]", _tensor([2**61, 0, 0]), (400,)),
    Hostile("tensor of shape [2^32, 2^32]", _tensor([2**32, 2**32]), (400,)),
    Hostile("tensor of 200,000 sizes", _tensor([1] * 200_000, [1]), (400,)),
    Hostile("tensor of 300,000 numbers", _tensor([75_000, 4], [0] * 300_000), (200,)),
    Hostile("tensor of 300,000 empty lists", _tensor([1, 4], [[]] * 300_000), (400,)),
    Hostile("tensor of NaN",
            _binary([60_000, 4], "FP32", b"\xff" * 960_000, _INFER), (400,)),
    Hostile("tensor that is nested 100,000 times",
            _posted(_INFER, b'{"inputs": [{"shape": [1], "datatype": "FP32", "data": %s}]}'
                    % (b"[" * 100_000 + b"]" * 100_000)), (400,)),
    Hostile("tensor whose text has 4 GB",
            _binary([1], "BYTES", b"\xff" * 4, _INFER_TEXTS), (400,)),
    Hostile("tensor of 240,000 empty texts",
            _binary([240_000], "BYTES", bytes(960_000), _INFER_TEXTS), (413,)),
    Hostile("tensor of 90,000 empty texts, three labels each",
            _binary([90_000], "BYTES", bytes(360_000), _INFER_TEXTS, parameters={"top_k": 3}),
            (200,)),
    Hostile("tensors behind 10^5000 bytes of JSON",
            _posted(_INFER, b"{}", Inference_Header_Content_Length="1" + "0" * 5000), (400,)),
    Hostile("numbers that are NaN", _posted(_VECTORS, b"\xff" * _MEGABYTE, _BYTES), (400, 413)),
)  # fmt: skip
_HEADS = (
    Hostile("called by another name", _got("/models", Host="evil.example"), (421,)),
    Hostile("a header of a megabyte", _got("/models", X="a" * _MEGABYTE), (431,)),
    Hostile("90,000 headers", _got("/models", **{f"X-{i}": "" for i in range(90_000)}), (431,)),
    Hostile("an address of a megabyte", _got("/" + "a" * _MEGABYTE), (431,)),
    Hostile("5,000 options in the address",
            _posted(f"{_TEXTS}?{'&'.join(f'a{i}=1' for i in range(5000))}", b"{}"), (400,)),
    Hostile("a token of 60 kB", _got("/models", Authorization=f"Bearer {'a' * 60_000}"), (200,)),
    Hostile("a body that says 2^63 bytes",
            _posted("/models/texts/predict", b"", Content_Length=str(2**63)), (400, 413)),
    Hostile("a path out of the folder", _got("/static/../../../etc/passwd"), (404,)),
    Hostile("the same, escaped", _got("/static/..%2f..%2f..%2fetc%2fpasswd"), (404,)),
    Hostile("a model that is a path", _posted("/models/..%2ftexts/predict", b"{}"), (404,)),
    Hostile("a body in 150,000 chunks", _in_chunks, (200,)),
    Hostile("25,000 requests at once on a connection", _pipelined, (200, 431)),
)  # fmt: skip
_CONNECTIONS = (
    Hostile("1,010 silent connections", bytes, (200,), partial(_beside, 1010)),
    Hostile("100 heads without an end", lambda: _ASKED[:20], (200,), partial(_beside, 100)),
    Hostile("100 bodies without an end", lambda: _ASKED[:-1], (200,), partial(_beside, 100)),
    Hostile("100 streams without an end",
            _posted(_TEXTS, b'"a"\n', _LINES, Content_Length="99"), (200,), partial(_beside, 100)),
    Hostile("a body of two bytes a second", _texts(lambda: ["a nurse" * 9]), (408,), _slowly),
)  # fmt: skip
_CHANGES = (
    Hostile("label 2^63", _change({"inputs": ["pilot"], "labels": [2**63]}), (400,)),
    Hostile("label of 4,000 digits", _change({"inputs": ["pilot"], "labels": [10**4000]}), (400,)),
    Hostile("label of a megabyte",
            _change({"inputs": ["pilot"], "labels": ["x" * _MEGABYTE]}), (200, 400)),
    Hostile("label of half a surrogate pair",
            _change({"inputs": ["pilot"], "labels": ["\ud800"]}), (200, 400)),
    Hostile("20,000 new labels at once",
            _change({"inputs": ["pilot"] * 20_000, "labels": [f"p{i}" for i in range(20_000)]}),
            (200, 413, 503)),
    Hostile("a row of combining marks",
            _change({"inputs": [_marks(100_000)], "labels": ["marks"]}), (200,)),
    Hostile("90,000 labels that are not there, removed",
            _change({"labels": [f"q{i}" for i in range(90_000)]}, "DELETE"), (400,)),
)  # fmt: skip
HOSTILE = (
    *_TABLES, *_STREAMS, *_BODIES, *_LONG, *_TENSORS, *_HEADS, *_CONNECTIONS,
    *(each._replace(changes=True) for each in _CHANGES),
)  # fmt: skip
