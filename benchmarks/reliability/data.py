"""Data files that are damaged or hostile: read, or refused in words that name file and line.

What is packed is damaged outside, or inside and packed again, so that its checksums are right.
"""

import bz2
import gzip
import io
import json
import lzma
import random
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from dsnc.data import load_dataset
from dsnc.errors import DataFileError, DsncError
from reliability.mutants import VALUES, mutate_bytes, mutate_json
from reliability.trials import REFUSED, WORKS, Verdict, WrongError, refusal

_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lambda data: lzma.compress(data),
}
_TOKENS = (
    *b"nan inf -inf 1e39 1:1e39 1e999 -1 0 1e-400 99999999999999999999 2147483647".split(),
    *b"2147483648 4294967296 1:1 0:1 :1 1: 1:1:1 1,2 , ,, 0x10 1_000 +1 .5 5. ++1 1e".split(),
    *b"1:nan 99999999999:1 # qid:1 __label__ __label__a null true NaN Infinity".split(),
    *(b" ", b"\t", b"\n", b"\r", b"\r\n", b"\n\n\n", b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b'"', b'""', b'",', b"\xc3", b"\xe2\x80\xa8", b"\x0b", b"\x1a", b"{", b"}", b"[", b"]"),
    *(b'"\\ud800"', b"[" * 5000, b'{"a":' * 3000, b"9" * 5000, b"1e" + b"9" * 400),
    *(b"a" * 100_000, b"1 1 1\n", b"3 2000000000 9000000000000\n"),
)
"""What stands in bad files of people, and in those of their enemies."""


_SHAPES: tuple[Any, ...] = (
    *((), (0,), (1,), (-1,), (6,), (24,), (6, 4), (4, 6), (3, 8), (1, 24), (24, 1), (6, 4, 1)),
    *((2**31, 2), (2**62, 4), (0, 2**62), (2**33,), (10**30,)),
    *((6.0, 4), ("6", 4), [6, 4], None, (True, 24)),
)
_TYPES: tuple[Any, ...] = (
    *("<f4", ">f4", "<f8", "<f2", "|b1", "|i1", "<i4", "<i8", "<u8", ">i2", "<c8", "|O", "<U1"),
    *("|S4", "|V4", "<M8[D]", [("a", "<f4")], "x", "", None, 3, "<f4,<f4", "<f16"),
)
"""What the head of a .npy file may say instead."""


class Source(NamedTuple):
    """A sound file, or a folder of them."""

    name: str
    files: dict[str, bytes]
    has_lines: bool
    options: dict[str, Any]


def sources() -> list[Source]:
    """Return small files of every format, the same whenever this is called."""
    texts = {
        "svmlight": (
            "a.svm",
            b"3 1:0.5 7:1\n-1 2:1e-3 5:2\n3 1:4 # note\n8 qid:1 3:0.25 6:1 9:7\n",
        ),
        "LSHTC": ("a.txt", b"33, 101 5:2 9:1\n7 1:1 2:2\n33 3:1 4:1 5:9\n"),
        "XMC": ("xc.txt", b"4 10 5\n0,4 1:0.5 7:1\n2 0:1\n 3:1 4:2\n1,2,3 9:0.125\n"),
        "csv": (
            "a.csv",
            _utf8('label,text\nnurse,"triage, at ""night"""\ndriver,bus\nnurse,käthe\n'),
        ),
        "csv of numbers": ("b.csv", b"x,y,color,label\n1,2.5,red,a\n3,4e-2,blue,b\n-5,6,red,a\n"),
        "csv, semicolons": ("c.csv", b"id;x;z;class\n1;0,5;2;a\n2;1,5;3;b\n3;2,5;4;a\n"),
        "tsv": ("a.tsv", b'label\ttext\nnurse\ttriage "x"\ndriver\ttruck\ndriver\tbus\n'),
        "fastText": (
            "a.txt",
            _utf8("__label__a one two\n__label__b __label__c drei fünf\n__label__a\n"),
        ),
        "JSON lines": (
            "a.jsonl",
            b'{"label": "a", "text": "one"}\n{"label": "b", "text": "\\u00fc"}\n',
        ),
        "JSON lines, sets": (
            "b.jsonl",
            b'{"tags": ["a", "b"], "text": "x"}\n{"tags": [], "text": "y"}\n',
        ),
        "JSON lines, numbers": (
            "c.jsonl",
            b'{"label": 1, "x": 0.5, "y": 2}\n{"label": 2, "x": 1.5, "y": 3}\n',
        ),
        "JSON array": (
            "d.json",
            b'[{"label": "a", "text": "one"},\n {"label": "b", "text": "two"}]\n',
        ),
    }
    found = [Source(name, {file: text}, True, {}) for name, (file, text) in texts.items()]
    separated = {"label_separator": "|"}
    csv_sets = b"tags,text\ncat|pet,my old cat\n,nothing\npet,parrot\n"
    found.append(Source("csv, sets", {"sets.csv": csv_sets}, True, separated))
    for ending, pack in _PACKERS.items():
        for name in ("svmlight", "csv", "JSON lines"):
            file, text = texts[name]
            found.append(Source(f"{name}, {ending}", {f"{file}.{ending}": pack(text)}, True, {}))
    return [*found, *_parquet(), *_folders()]


def _utf8(text: str) -> bytes:
    return text.encode()


def _parquet() -> list[Source]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = {
        "Parquet": {"label": ["a", "b", "a", "c"], "text": ["one", "two", "drei", ""]},
        "Parquet, sets": {"tags": [["a", "b"], [], ["b"]], "text": ["one", "two", "drei"]},
        "Parquet, numbers": {"label": [1, 2, 1], "x": [0.5, 1.5, 2.5], "y": [1.0, 2.0, 3.0]},
    }
    found = []
    for name, columns in tables.items():
        for packed in ("none", "snappy", "zstd"):
            file = io.BytesIO()
            pq.write_table(pa.table(columns), file, compression=packed)
            file_name = {f"{name.replace(', ', '_')}.parquet": file.getvalue()}
            found.append(Source(f"{name}, {packed}", file_name, False, {}))
    return found


def _folders() -> list[Source]:
    X = np.arange(24, dtype=np.float32).reshape(6, 4) % 5
    y, split = np.arange(6) % 3, np.array([0, 0, 0, 1, 2, 2], np.int8)
    sparse, sets = sp.csr_array(X), sp.csr_array(np.eye(6, 3, dtype=np.int8))
    classes = json.dumps(["ant", "bée", "cat"]).encode()
    meta = json.dumps({"image_shape": [2, 2]}).encode()
    parts = {"y.npy": _npy(y), "split.npy": _npy(split), "classes.json": classes}
    return [
        Source("folder, npy", {"X.npy": _npy(X), **parts, "meta.json": meta}, False, {}),
        Source("folder, npz", {"X.npz": _npz(X=X), **parts}, False, {}),
        Source("folder, sparse", {"X.npz": _saved(sparse), "y.npy": _npy(y)}, False, {}),
        Source("folder, sets", {"X.npz": _saved(sparse), "Y.npz": _saved(sets)}, False, {}),
    ]


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _saved(matrix: Any) -> bytes:
    file = io.BytesIO()
    sp.save_npz(file, matrix)
    return file.getvalue()


def mutant_of(dice: random.Random, source: Source, others: list[Source]) -> dict[str, bytes]:
    """Return the files of a source, one or two of them changed."""
    files = dict(source.files)
    foreign = [content for other in others for content in other.files.values()]
    for name in dice.sample(sorted(files), min(len(files), dice.choice((1, 1, 2)))):
        files[name] = _changed(dice, name, files[name], foreign)
    return files


def _changed(dice: random.Random, name: str, content: bytes, foreign: list[bytes]) -> bytes:
    """Damage a file as its format asks for."""
    ending = name.rpartition(".")[2]
    inside = dice.random() < 0.7
    if ending in _PACKERS and inside:
        unpack = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}[ending]
        return _PACKERS[ending](mutate_bytes(dice, unpack(content), foreign, _TOKENS))
    if ending == "npz" and inside:
        return _other_archive(dice, content)
    if ending == "npy" and inside:
        return _other_npy(dice, content)
    if ending in ("json", "jsonl") and dice.random() < 0.5:
        return _other_json(dice, content)
    if ending in ("npy", "npz", "parquet", *_PACKERS):
        return mutate_bytes(dice, content, foreign)
    return mutate_bytes(dice, content, foreign, _TOKENS)


def _other_json(dice: random.Random, content: bytes) -> bytes:
    """Exchange values in one of the lines, or in all of a file that is one array."""
    try:
        return json.dumps(mutate_json(dice, json.loads(content))).encode()
    except ValueError:
        lines = content.splitlines()
        place = dice.randrange(len(lines))
        lines[place] = json.dumps(mutate_json(dice, json.loads(lines[place]))).encode()
        return b"\n".join(lines) + b"\n"


def _other_archive(dice: random.Random, content: bytes) -> bytes:
    """Damage one of the arrays of an archive, and make the archive anew."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = dice.choice(sorted(members))
    members[name] = _other_npy(dice, members[name])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, member in members.items():
            archive.writestr(key, member)
    return file.getvalue()


def _other_npy(dice: random.Random, content: bytes) -> bytes:
    """Change what the head of a .npy file says, or its data."""
    if dice.random() < 0.3:
        return mutate_bytes(dice, content)
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    shape, order, dtype = np.lib.format.read_array_header_1_0(file)
    head = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": order, "shape": shape}
    data = bytearray(file.read())
    how = dice.choice(("shape", "shape", "type", "order", "value", "data"))
    if how == "shape":
        head["shape"] = dice.choice(_SHAPES)
    elif how == "type":
        head["descr"] = dice.choice(_TYPES)
    elif how == "order":
        head["fortran_order"] = dice.choice((True, 1, None, "x"))
    elif how == "value":
        head[dice.choice((*head, "more"))] = dice.choice(VALUES)
    elif data:
        place = dice.randrange(len(data))
        data[place : place + 8] = dice.choice(
            (b"\xff" * 8, bytes(8), b"\0\0\xc0\x7f" * 2, b"\0\0\x80\x7f")
        )
    text = repr(head).encode("latin-1", "backslashreplace") + b"\n"
    return b"\x93NUMPY\x01\0" + min(len(text), 65535).to_bytes(2, "little") + text + bytes(data)


def trial(all_sources: list[Source], folder: Path) -> Callable[[random.Random], Verdict]:
    """Return what makes and reads a mutant."""

    def attempt(dice: random.Random) -> Verdict:
        source = dice.choice(all_sources)
        files = mutant_of(dice, source, all_sources)
        target = folder / "mutant"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name, content in files.items():
            (target / name).write_bytes(content)
        path = target if len(files) > 1 else target / next(iter(files))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubts about headers and rows that are left out
            return _read(path, source)

    return attempt


def _read(path: Path, source: Source) -> Verdict:
    try:
        dataset = load_dataset(path, **source.options)
    except DsncError as error:
        words = refusal(error, (DsncError,))
        if words is None:
            raise
        if str(path) not in words:
            raise WrongError(f"the error does not name the file: {words[:120]}") from error
        line = getattr(error, "line", None)
        where = ", line named" if line is not None else ""
        kind = "" if isinstance(error, DataFileError) else f", {type(error).__name__}"
        unnamed = f": {words.replace(str(path), '')[:90]}" if source.has_lines and not where else ""
        return Verdict(REFUSED, f"{source.name}{where}{kind}{unnamed}")
    _look_at(dataset, has_numbers=not dataset.is_text and not path.is_dir())
    return Verdict(WORKS, source.name)


def _look_at(dataset: Any, *, has_numbers: bool) -> None:
    """Check that rows and labels are what they say; arrays may hold NaN, which `fit` refuses."""
    n = len(dataset)
    if dataset.X.shape[0] != n or n == 0:
        raise WrongError(f"{n} rows, and X has {dataset.X.shape}")
    if dataset.y is not None:
        if not ((dataset.y >= 0) & (dataset.y < len(dataset.classes))).all():
            raise WrongError("a class number is none")
        dataset.take([0, n - 1]).labels.tolist()
    else:
        dataset.label_lists()
    if has_numbers:
        values = dataset.X.data if sp.issparse(dataset.X) else np.asarray(dataset.X)
        if not np.isfinite(values).all():
            raise WrongError("a value is not finite")
    dataset.summary()
