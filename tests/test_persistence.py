"""Header and arrays to a folder and back; what cannot be written, and what is in the way."""

import errno
import hashlib
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file

from dsnc.errors import DsncError, InputError, ModelWriteError, OutputExistsError
from dsnc.persistence import read_model, write_model

HEADER = {
    "kind": "classifier",
    "parameters": {"n_bits": 64, "beta": 0.5, "device": None, "hidden": [16, 8], "flag": True},
    "classes": ["über", "b", "字", "\ud800", ""],
    "metrics": {"accuracy": 0.25},
    "decoder": "linear",
}
ARRAYS = {
    "encoder.0.weight": np.arange(12, dtype=np.float32).reshape(4, 3),
    "encoder.flag": np.array([True, False, True]),
    "decoder.words": np.arange(4, dtype=np.uint64)[:, None],
    "decoder.scale": np.array(2.5),
    "decoder.none": np.zeros((0, 3), dtype=np.int8),
}
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
HEADERS = st.fixed_dictionaries(
    {"kind": st.text()},
    optional={
        "parameters": st.dictionaries(st.text(), VALUES, max_size=3),
        "classes": st.lists(SCALARS | st.text(), max_size=5),
        "decoder": st.text(),
    },
)
TENSORS = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9.-][A-Za-z0-9_.-]{0,9}", fullmatch=True),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    max_size=5,
)


def same(mine, other):
    """Equal to the last bit, NaN included."""
    return set(mine) == set(other) and all(
        mine[key].dtype == other[key].dtype
        and mine[key].shape == other[key].shape
        and mine[key].tobytes() == other[key].tobytes()
        for key in mine
    )


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", HEADER, ARRAYS)
    return tmp_path / "model"


@given(HEADERS, TENSORS)
def test_what_is_written_comes_back(tmp_path_factory, header, arrays):
    folder = tmp_path_factory.mktemp("models")
    write_model(folder / "a", header, arrays)
    read_header, read_arrays = read_model(folder / "a")
    assert read_header == header
    assert same(read_arrays, arrays)
    assert all(not array.flags.writeable for array in read_arrays.values())
    # The same again, in another order: the same bytes.
    write_model(folder / "b", dict(reversed(header.items())), dict(reversed(arrays.items())))
    for name in ("model.json", "model.safetensors"):
        assert (folder / "a" / name).read_bytes() == (folder / "b" / name).read_bytes()
    assert sorted(os.listdir(folder)) == ["a", "b"]


@given(TENSORS)
def test_the_reference_library_reads_the_arrays(tmp_path_factory, arrays):
    folder = tmp_path_factory.mktemp("models") / "model"
    write_model(folder, {"kind": "x"}, arrays)
    assert same(load_file(folder / "model.safetensors"), arrays)


def test_arrays_are_mapped_and_aligned(model):
    _, arrays = read_model(model)
    for name, array in arrays.items():
        base = array
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        decides_places = array.dtype == bool or array.dtype.kind == "u"  # octets are amounts
        assert (type(base).__name__ == "mmap") == (not decides_places), name
        assert not array.flags.writeable
        assert array.flags.aligned
        assert type(array) is np.ndarray


def test_any_order_and_layout_of_arrays_is_stored(tmp_path):
    array = np.arange(24, dtype=">f4").reshape(4, 6)
    write_model(tmp_path / "m", {"kind": "x"}, {"a": array, "b": array.T, "c": array[::2, ::3]})
    _, arrays = read_model(tmp_path / "m")
    assert np.array_equal(arrays["a"], array)
    assert np.array_equal(arrays["b"], array.T)
    assert np.array_equal(arrays["c"], array[::2, ::3])


def test_the_bytes_are_fixed(model):
    digests = [
        hashlib.sha256((model / name).read_bytes()).hexdigest()[:16]
        for name in ("model.json", "model.safetensors")
    ]
    assert digests == ["a7d0df758919363f", "fe6fede932f9ca2a"]  # a change here is a new FORMAT


def test_a_tuple_comes_back_as_a_list(tmp_path):
    write_model(tmp_path / "m", {"kind": "x", "parameters": {"hidden": (3, 4)}}, {})
    assert read_model(tmp_path / "m") == ({"kind": "x", "parameters": {"hidden": [3, 4]}}, {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clases": []}, "unknown key 'clases'. Did you mean 'classes'"),
        ({"format": 1}, "unknown key 'format'"),
        ({"arrays": {}}, "unknown key 'arrays'"),
        ({"classes": {}}, "'classes' is of type dict, not list"),
        ({"metrics": {"loss": math.nan}}, r"header\['metrics'\]\['loss'\] is nan"),
        ({"classes": [1, math.inf]}, r"header\['classes'\]\[1\] is inf"),
        ({"classes": [1, np.int64(2)]}, r"header\['classes'\]\[1\] is of type int64"),
        ({"data": {1: 2}}, r"header\['data'\] has the key 1"),
        ({1: 2}, "header has the key 1"),
        ({"metrics": {"n": 10**5000}}, "cannot be written as JSON"),
    ],
)
def test_a_header_that_would_not_come_back_is_refused(tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        write_model(tmp_path / "model", HEADER | change, ARRAYS)
    assert os.listdir(tmp_path) == []


def test_a_header_needs_a_kind_and_an_end(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no key 'kind'"):
        write_model(tmp_path / "model", {}, {})
    nested = []
    nested.append(nested)
    with pytest.raises(InputError, match="nested too deeply"):
        write_model(tmp_path / "model", {"kind": "x", "classes": nested}, {})
    monkeypatch.setattr("dsnc.persistence.writing.MAX_HEADER", 10)
    with pytest.raises(InputError, match="can be read back"):
        write_model(tmp_path / "model", HEADER, {})


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("../a", np.zeros(1)),
        ("", np.zeros(1)),
        ("a b", np.zeros(1)),
        ("__metadata__", np.zeros(1)),
        (3, np.zeros(1)),
        ("a", np.array([None])),
        ("a", np.array(["text"])),
        ("a", np.zeros(1, dtype=complex)),
        ("a", np.zeros((1,) * 40)),
    ],
)
def test_an_array_without_a_place_is_refused(tmp_path, name, array):
    with pytest.raises(InputError, match="array"):
        write_model(tmp_path / "model", HEADER, {name: array})


# --- what is in the way ------------------------------------------------------------------------


def test_an_existing_model_is_replaced_only_on_request(model):
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        write_model(model, {"kind": "new"}, {})
    assert read_model(model)[0] == HEADER
    old = read_model(model)[1]
    write_model(model, {"kind": "new"}, old, overwrite=True)  # from its own mapped arrays
    assert read_model(model)[0] == {"kind": "new"}
    assert same(old, ARRAYS)  # still mapped, though its folder is gone
    assert os.listdir(model.parent) == ["model"]


def test_without_a_system_call_to_swap_it_is_replaced_all_the_same(model, monkeypatch):
    monkeypatch.setattr("dsnc.files._exchange", lambda a, b: False)
    write_model(model, {"kind": "new"}, {}, overwrite=True)
    assert read_model(model)[0] == {"kind": "new"}
    assert os.listdir(model.parent) == ["model"]


def test_without_it_a_failure_brings_the_old_one_back(model, monkeypatch):
    rename = os.rename

    def fail(source, target):
        if Path(target) == model and ".old" not in str(source):
            raise OSError(errno.EIO, "Input/output error")
        rename(source, target)

    monkeypatch.setattr("dsnc.files._exchange", lambda a, b: False)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(ModelWriteError, match="Input/output error"):
        write_model(model, {"kind": "new"}, {}, overwrite=True)
    assert read_model(model)[0] == HEADER
    assert os.listdir(model.parent) == ["model"]


def test_a_folder_of_other_things_is_never_replaced(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow")
    with pytest.raises(OutputExistsError, match="holds 'cat.jpg'"):
        write_model(tmp_path / "photos", HEADER, ARRAYS, overwrite=True)
    (tmp_path / "file").write_text("text")
    with pytest.raises(OutputExistsError, match="not a folder"):
        write_model(tmp_path / "file", HEADER, ARRAYS, overwrite=True)
    (tmp_path / "empty").mkdir()
    write_model(tmp_path / "empty", HEADER, ARRAYS, overwrite=True)
    assert read_model(tmp_path / "empty")[0] == HEADER


def test_links_are_followed(model):
    link = model.parent / "link"
    link.symlink_to(model)
    assert same(read_model(link)[1], ARRAYS)
    write_model(link, {"kind": "new"}, {}, overwrite=True)
    assert link.is_symlink()
    assert read_model(model)[0] == {"kind": "new"}
    moved = model.parent / "elsewhere.json"
    (model / "model.json").rename(moved)
    (model / "model.json").symlink_to(moved)
    assert read_model(model)[0] == {"kind": "new"}


def test_parents_are_made_and_a_file_among_them_is_named(tmp_path):
    write_model(tmp_path / "a" / "b" / "model", HEADER, ARRAYS)
    (tmp_path / "file").write_text("text")
    with pytest.raises(ModelWriteError, match="could not be written") as caught:
        write_model(tmp_path / "file" / "model", HEADER, ARRAYS)
    assert isinstance(caught.value, DsncError)
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize("step", ["fsync", "rename", "chmod", "open"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failing_step_leaves_what_was_there_and_no_litter(tmp_path, monkeypatch, step, overwrite):
    target = tmp_path / "model"
    if overwrite:
        write_model(target, HEADER, ARRAYS)

    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "chmod" and not overwrite:
        return  # nobody to admit who was admitted before
    if step == "rename":
        monkeypatch.setattr("dsnc.files._exchange", lambda a, b: False)
    owner = Path if step in ("open", "chmod") else os
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, fail)
        with pytest.raises(ModelWriteError, match="No space left on device") as caught:
            write_model(target, {"kind": "new"}, ARRAYS, overwrite=overwrite)
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == (["model"] if overwrite else [])
    if overwrite:
        assert read_model(target)[0] == HEADER
