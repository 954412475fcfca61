"""Small files that ask for a lot: what they cost before they are refused, or read."""

import gzip
import hashlib
import io
import json
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

import dsnc
from dsnc.data import load_dataset
from dsnc.errors import DsncError
from reliability.models import Base, described_arrays
from reliability.trials import REFUSED, WORKS, Trial, Verdict

_MEGABYTE = 1 << 20


def cases(bases: list[Base]) -> dict[str, Callable[[Path], None]]:
    """Return what each hostile input is called, and what writes it into a folder."""
    return {**_of_lines(), **_of_arrays(), **_of_models({base.name: base for base in bases})}


def _of_lines() -> dict[str, Callable[[Path], None]]:
    million = 1_000_000
    wide = b"1," * million
    return {
        "svmlight.gz, a GiB of zeros": _packed("a.svm.gz", b"\0" * 1024, 1024),
        "csv.gz, a GiB of zeros": _packed("a.csv.gz", b"\0" * 1024, 1024),
        "jsonl.gz, a line of a GiB": _packed("a.jsonl.gz", b"{" + b"x" * 1023, 1024),
        "csv.gz, 16 MiB of empty lines": _packed("a.csv.gz", b"\n" * 1024, 16),
        "csv, a million columns": _plain("a.csv", wide + b"label\n" + wide + b"a\n"),
        "JSON lines, a million brackets": _plain("a.jsonl", b'{"label":' + b"[" * million),
        "JSON lines, a million digits": _plain("a.jsonl", b'{"x": ' + b"9" * million + b"}\n"),
        "svmlight, a million digits": _plain("a.svm", b"1 " + b"9" * million + b"x:1\n"),
        "svmlight, feature 2^31 - 1": _plain("a.svm", b"1 2147483647:1\n2 1:1\n"),
        "XMC header, 10^17 labels": _plain("xc.txt", b"1 5 100000000000000000\n0 1:1\n"),
        "XMC header, 10^17 features": _plain("xc.txt", b"1 100000000000000000 5\n0 1:1\n"),
    }


def _of_arrays() -> dict[str, Callable[[Path], None]]:
    claimed = (2**20, 2**20)
    return {
        "y.npy with class 10^15": lambda folder: _arrays(folder, y=np.array([0, 10**15])),
        "X.npy that says 8 TiB": lambda folder: _arrays(folder, claimed=claimed),
        "X.npz that says 8 TiB": lambda folder: _arrays(folder, claimed=claimed, packed=True),
        "X.npz, 2 GiB of zeros": _zeros,
    }


def _of_models(by_name: dict[str, Base]) -> dict[str, Callable[[Path], None]]:
    soft, texts, lists = by_name["soft"], by_name["texts"], 8 * _MEGABYTE // 4
    wide = [1, 32]
    return {
        "model.json, a million brackets": _header(soft, b'{"data":' + b"[" * 1_000_000),
        "model.json, two million empty lists": _with_data(soft, [[]] * lists),
        "model.json of a TiB": _sparse_header(soft),
        "model.safetensors, a table of 16 MiB": _table(soft),
        "model, 2^28 buckets of texts": _changed(texts, "features.n_hashes", 2**28),
        "model, n-grams of up to 32 letters": _changed(texts, "features.characters", wide),
        "model, 2^32 - 2 classes": _changed(by_name["nearest"], "decoder.n_classes", 2**32 - 2),
        "model, 2^62 candidates": _changed(by_name["shortlist of training"], "decoder.size", 2**62),
        "model, 2^40 probes": _changed(by_name["table"], "decoder.probes", 2**40),
    }


def trial(bases: list[Base], name: str, work: Path) -> Trial:
    """Return what opens one of the inputs, which is written before."""
    folder = work / "hostile"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    cases(bases)[name](folder)

    def attempt(dice: random.Random) -> Verdict:
        try:
            if (folder / "model.json").exists():
                dsnc.load(folder).predict(_asked(bases, name))
            else:
                files = sorted(folder.iterdir())
                load_dataset(files[0] if len(files) == 1 else folder).summary()
        except DsncError as error:  # also that memory does not suffice, where it is told so
            return Verdict(REFUSED, f"{name}: {str(error).replace(str(folder), '')[:120]}")
        return Verdict(WORKS, name)

    return attempt


def size_of(work: Path) -> int:
    """Return the bytes that the input takes on the disk."""
    return sum(path.stat().st_blocks * 512 for path in (work / "hostile").iterdir())


def _asked(bases: list[Base], name: str) -> Any:
    wanted = "texts" if "n-grams" in name or "texts" in name else "soft"
    return next(base.rows for base in bases if base.name == wanted)


def _packed(name: str, kilobyte: bytes, megabytes: int) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        member = gzip.compress(kilobyte * 1024, mtime=0)  # a file may have many of them
        (folder / name).write_bytes(member * megabytes)

    return write


def _plain(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_bytes(content) and None


def _arrays(
    folder: Path, y: Any = None, claimed: tuple[int, ...] = (2, 3), *, packed: bool = False
) -> None:
    np.save(folder / "y.npy", np.array([0, 1]) if y is None else y)
    head = repr({"descr": "<f8", "fortran_order": False, "shape": claimed}).encode() + b"\n"
    X = b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head + bytes(48)
    if packed:
        with zipfile.ZipFile(folder / "X.npz", "w") as archive:
            archive.writestr("X.npy", X)
    else:
        (folder / "X.npy").write_bytes(X)


def _zeros(folder: Path) -> None:
    """Write two true gigabytes of zeros, packed."""
    _arrays(folder)
    (folder / "X.npy").unlink()
    head = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (2, 1 << 28)}
    np.lib.format.write_array_header_1_0(head, shape)
    with (
        zipfile.ZipFile(folder / "X.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        file.write(head.getvalue())
        for _ in range(1 << 11):
            file.write(bytes(_MEGABYTE))


def _header(base: Base, text: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "model.json").write_bytes(text)
        (folder / "model.safetensors").write_bytes(base.arrays)

    return write


def _with_data(base: Base, value: Any) -> Callable[[Path], None]:
    return _header(base, json.dumps({**base.parsed, "data": {"a": value}}).encode())


def _sparse_header(base: Base) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        _header(base, base.header)(folder)
        with (folder / "model.json").open("ab") as file:
            file.truncate(1 << 40)  # a hole

    return write


def _table(base: Base) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        entry = b'"%06d":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}'
        n = 16 * _MEGABYTE // (len(entry % 0) + 1) - 1
        table = b"{" + b",".join(entry % k for k in range(n)) + b"}"
        _sealed(base, len(table).to_bytes(8, "little") + table, folder)

    return write


def _changed(base: Base, name: str, value: Any) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        arrays = load(base.arrays)
        arrays[name] = np.array(value, arrays[name].dtype).reshape(arrays[name].shape)
        _sealed(base, save(arrays), folder)

    return write


def _sealed(base: Base, arrays: bytes, folder: Path) -> None:
    digest = hashlib.sha256(arrays).hexdigest()
    parsed = {**base.parsed, "sha256": digest, "arrays": described_arrays(arrays)}
    (folder / "model.json").write_text(json.dumps(parsed))
    (folder / "model.safetensors").write_bytes(arrays)
