"""Files that are damaged, or made to do harm: a ModelFileError, and never anything else."""

import hashlib
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from dsnc.errors import ModelFileError
from dsnc.persistence import HEADER_KEYS, read_model, write_model

HEADER = {"kind": "classifier", "parameters": {"n_bits": 64, "beta": 0.5}, "classes": ["ü", "b"]}
ARRAYS = {
    "encoder.0.weight": np.arange(12, dtype=np.float32).reshape(4, 3),
    "encoder.flag": np.array([True, False, True]),
    "decoder.words": np.arange(4, dtype=np.uint64)[:, None],
    "decoder.scale": np.array(2.5),
    "decoder.none": np.zeros((0, 3), dtype=np.int8),
}


def short(value):
    return repr(value)[:40]


def same(mine, other):
    return set(mine) == set(other) and all(
        mine[key].dtype == other[key].dtype and np.array_equal(mine[key], other[key])
        for key in mine
    )


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", HEADER, ARRAYS)
    return tmp_path / "model"


def rewrite(model, change):
    """Change the parsed header, and write it back."""
    path = model / "model.json"
    header = json.loads(path.read_text())
    header = change(header) or header
    path.write_text(json.dumps(header))


def seal(model):
    """Give the header the checksum of the arrays' file, as whoever forges a file would."""
    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    rewrite(model, lambda header: header.update(sha256=digest))


def forge(model, table, data=b"", length=None):
    """Replace the arrays' file; `table` is bytes, or something for JSON."""
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    length = len(text) if length is None else length
    (model / "model.safetensors").write_bytes(length.to_bytes(8, "little") + text + data)
    seal(model)


def refused(model, message=None):
    with pytest.raises(ModelFileError, match=message) as caught:
        read_model(model)
    assert len(str(caught.value)) < 1000
    return caught.value


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@given(data=st.data())
def test_flipped_bytes_are_found(tmp_path_factory, name, data):
    model = tmp_path_factory.mktemp("models") / "model"
    write_model(model, HEADER, ARRAYS)
    content = bytearray((model / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    changed = bytes(content) != (model / name).read_bytes()
    (model / name).write_bytes(content)
    try:
        header, arrays = read_model(model)
    except ModelFileError as error:
        assert name in str(error) or "model.safetensors" in str(error)
    else:  # another letter in a label is a label, but arrays are what they were
        assert name == "model.json" or not changed
        assert same(arrays, ARRAYS)
        assert set(header) <= set(HEADER_KEYS)


@given(data=st.data())
def test_flipped_bytes_under_a_forged_checksum_do_no_harm(tmp_path_factory, data):
    model = tmp_path_factory.mktemp("models") / "model"
    write_model(model, HEADER, ARRAYS)
    path = model / "model.safetensors"
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    seal(model)
    try:
        _, arrays = read_model(model)
    except ModelFileError:
        return
    assert {key: array.shape for key, array in arrays.items()} == {
        key: array.shape for key, array in ARRAYS.items()
    }


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_cut_and_grown_files_are_found(model, name):
    content = (model / name).read_bytes()
    for length in [*range(0, len(content) - 3, 7), len(content) - 3]:
        (model / name).write_bytes(content[:length])
        assert "model" in str(refused(model))
        if name == "model.safetensors":
            seal(model)
            refused(model, name)
    for extra in (b"\0", b"x" * 9):
        (model / name).write_bytes(content + extra)
        refused(model, name)


def test_the_arrays_of_another_model_are_found(model):
    other = {key: array + 1 if array.dtype.kind == "f" else array for key, array in ARRAYS.items()}
    write_model(model.parent / "other", HEADER, other)
    content = (model.parent / "other" / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(content)
    refused(model, "is not the file that model.json describes")
    assert same(read_model(model, verify=False)[1], other)


def test_what_is_missing_is_named(model):
    for name in ("model.safetensors", "model.json"):
        (model / name).unlink()
        assert name in str(refused(model, "is missing"))
        (model / name).mkdir()
        assert name in str(refused(model, "is missing"))
    refused(model.parent / "nowhere", "nowhere: is not a folder")
    refused(str(model.parent / "nul\0"), "is not a folder")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_a_pipe_or_a_device_does_not_hang(model, name):
    (model / name).unlink()
    os.mkfifo(model / name)
    refused(model, "is missing")
    (model / name).unlink()
    (model / name).symlink_to("/dev/zero")
    refused(model, "is missing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not valid JSON"),
        (b"[]", "holds a value of type list"),
        (b"null", "holds a value of type NoneType"),
        (b"3", "holds a value of type int"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[" * 200_000, "not valid JSON"),
        (b'{"a":' * 200_000, "not valid JSON"),
        (b'{"format": 1, "format": 1}', "'format' occurs twice"),
        (b'{"format": 1, "data": {"a": 1, "a": 2}}', "'a' occurs twice"),
        (b'{"format": NaN}', "NaN is not a JSON number"),
        (b'{"format": 1, "metrics": {"a": -Infinity}}', "-Infinity is not"),
        (b'{"format": 1, "metrics": {"a": 1e999}}', "'1e999' is too large"),
        (b'{"format": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"format": ' + b"9" * 4000 + b"}", "upgrade dsnc"),
        (b'{"format": 2, "new": 1}', "is in format '2'.*upgrade dsnc"),
        (b'{"format": 0}', "no format number"),
        (b'{"format": true}', "no format number"),
        (b'{"format": 1.0}', "no format number"),
        (b'{"format": "1"}', "no format number"),
        (b'{"kind": "x"}', "no format number"),
        (b'{"format": 1, "clases": []}', "unknown key 'clases'. Did you mean 'classes'"),
        (b'{"format": 1, "' + b"k" * 100_000 + b'": []}', "unknown key"),
        (b'{"format": 1, "__class__": "os.system"}', "unknown key '__class__'"),
        (b'{"format": 1}', "no key 'arrays'"),
    ],
    ids=short,
)
def test_a_header_that_is_none_is_refused(model, text, message):
    (model / "model.json").write_bytes(text)
    refused(model, message)


@pytest.mark.parametrize("value", [None, True, 1, 1.5, "../../etc/passwd", [], {}, [{}], {"a": 1}])
@pytest.mark.parametrize("key", [*HEADER_KEYS, "format", "arrays", "sha256"])
def test_a_wrong_type_anywhere_is_refused(model, key, value):
    right = {"format": int, "arrays": dict, "sha256": str} | HEADER_KEYS
    rewrite(model, lambda header: header.update({key: value}))
    if type(value) is right[key] and key not in ("arrays", "sha256"):
        assert same(read_model(model)[1], ARRAYS)
    else:
        refused(model, "model")


@pytest.mark.parametrize("entry", [
    None, 1, "F32", [], {}, {"dtype": "F32"},
    {"dtype": "F32", "shape": [4, 3], "path": "../x"},
    {"dtype": "F64", "shape": [4, 3]}, {"dtype": "O", "shape": [4, 3]},
    {"dtype": None, "shape": [4, 3]}, {"dtype": ["F32"], "shape": [4, 3]},
    {"dtype": "F32", "shape": [3, 4]}, {"dtype": "F32", "shape": [12]},
    {"dtype": "F32", "shape": 12}, {"dtype": "F32", "shape": "43"},
    {"dtype": "F32", "shape": [4.0, 3]}, {"dtype": "F32", "shape": [-4, -3]},
    {"dtype": "F32", "shape": [4, True]}, {"dtype": "F32", "shape": [10**4000, 3]},
    {"dtype": "F32", "shape": [1] * 5000},
], ids=short)  # fmt: skip
def test_a_wrong_description_of_an_array_is_refused(model, entry):
    rewrite(model, lambda header: header["arrays"].update({"encoder.0.weight": entry}))
    assert "encoder.0.weight" in str(refused(model))


def test_missing_and_surplus_arrays_are_named(model):
    rewrite(model, lambda header: header["arrays"].pop("decoder.words") and None)
    refused(model, "model.safetensors: array 'decoder.words' is unknown to model.json")
    rewrite(model, lambda h: h["arrays"].update({
        "decoder.words": {"dtype": "U64", "shape": [4, 1]},
        "../../x": {"dtype": "U64", "shape": [4, 1]},
    }))  # fmt: skip
    refused(model, "model.safetensors: has no array '../../x'")


def one(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(("table", "data"), [
    ({"a": one(offsets=(0, 80))}, b"12345678"),
    ({"a": one(offsets=(0, 4))}, b"1234"),
    ({"a": one(offsets=(8, 0))}, b"12345678"),
    ({"a": one(offsets=(8, 16))}, b"12345678" * 2),
    ({"a": one(offsets=(0, 8, 16))}, b"12345678"),
    ({"a": one(offsets=(0, 2**70))}, b"12345678"),
    ({"a": one(offsets=(-8, 0))}, b"12345678"),
    ({"a": one(offsets=(0.0, 8.0))}, b"12345678"),
    ({"a": one(offsets=(False, 8))}, b"12345678"),
    ({"a": one()}, b"123456789"),
    ({"a": one()}, b"1234567"),
    ({"a": one("F64")}, b"12345678"),
    ({"a": one("BF16")}, b"1234"),
    ({"a": one("F8_E4M3")}, b"12"),
    ({"a": one("BOOL", (8,))}, b"12345678"),
    ({"a": one(), "b": one()}, b"12345678"),
    ({"a": one(shape=(0,), offsets=(0, 0))}, b"12345678"),
    ({"a": one(shape=(0, 2**62, 2**62), offsets=(0, 0))}, b""),
    ({"a": one(shape=(0, 10**30), offsets=(0, 0))}, b""),
    ({"a": one(shape=(2**32, 2**32), offsets=(0, 0))}, b""),
    ({"a": one(shape=(1,) * 100, offsets=(0, 4))}, b"1234"),
    ({"a": None}, b""),
    ([], b""),
    ({"__metadata__": 3}, b""),
    ({"__metadata__": {"a": 3}}, b""),
    (b'{"a": ' * 100_000, b""),
    (b'{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},' * 2, b"1"),
    (b'{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1],"dtype":"U8"}}', b"1"),
    (b"\xff\xff", b""),
    (b"", b""),
], ids=short)  # fmt: skip
def test_a_hostile_table_of_arrays_is_refused(model, table, data):
    if isinstance(table, dict):
        described = {
            name: {key: entry[key] for key in ("dtype", "shape")}
            for name, entry in table.items()
            if isinstance(entry, dict) and "shape" in entry
        }
        rewrite(model, lambda header: header.update(arrays=described))
    forge(model, table, data)
    refused(model)


@pytest.mark.parametrize("length", [0, 1, 10**6, 2**24 + 1, 2**31, 2**63, 2**64 - 1])
def test_a_length_that_lies_is_refused(model, length):
    forge(model, {"a": one()}, b"12345678", length=length)
    refused(model, "model.safetensors")


def test_files_beyond_the_limits_are_refused_unread(model):
    with (model / "model.json").open("ab") as file:
        file.truncate(2**40)  # a hole: takes no place on the disk
    refused(model, "model.json: has 1,099,511,627,776 bytes")


def test_what_another_writer_stores_is_read(model):
    """Remarks, another order and odd offsets are allowed; arrays come out aligned."""
    save_file(ARRAYS, model / "model.safetensors", metadata={"by": "hand"})
    seal(model)
    assert same(read_model(model)[1], ARRAYS)
    table = {"a": one("I8", (3,), (0, 3)), "b": one("F32", (2,), (3, 11))}
    described = {
        name: {k: v for k, v in e.items() if k != "data_offsets"} for name, e in table.items()
    }
    rewrite(model, lambda header: header.update(arrays=described))
    forge(model, table, b"abc" + np.array([1.5, 2.5], dtype="<f4").tobytes())
    _, arrays = read_model(model)
    assert arrays["b"].tolist() == [1.5, 2.5]
    assert all(array.flags.aligned and not array.flags.writeable for array in arrays.values())
