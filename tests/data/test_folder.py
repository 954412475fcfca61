import errno
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.data import Dataset, write_folder
from dsnc.data.folder import read_folder
from dsnc.errors import DataFileError, InputError, OutputError, OutputExistsError

SPLITS = {"train": np.array([0, 1]), "validation": np.array([3]), "test": np.array([2])}


def make(kind):
    X = np.arange(16, dtype=np.float32).reshape(4, 4)
    if kind == "sparse":
        X = sp.csr_array(X)
    if kind == "multilabel":
        Y = sp.csr_array(np.array([[1, 1], [0, 1], [0, 0], [1, 0]], dtype=np.int8))
        return Dataset(X, None, np.array(["a", "b"]), Y=Y)
    return Dataset(
        X, np.array([1, 0, 1, 1]), np.array(["ä", "b"]), splits=SPLITS, image_shape=(2, 2)
    )


def same(a, b):
    dense = [x.toarray() if sp.issparse(x) else x for x in (a.X, b.X, a.Y, b.Y)]
    return (
        np.array_equal(dense[0], dense[1])
        and np.array_equal(dense[2], dense[3])
        and np.array_equal(a.y, b.y)
        and a.classes.tolist() == b.classes.tolist()
        and {k: v.tolist() for k, v in (a.splits or {}).items()}
        == {k: v.tolist() for k, v in (b.splits or {}).items()}
        and a.image_shape == b.image_shape
    )


@pytest.mark.parametrize("kind", ["dense", "sparse", "multilabel"])
def test_round_trip(tmp_path, kind):
    write_folder(make(kind), tmp_path / "set")
    back = read_folder(tmp_path / "set")
    assert same(make(kind), back)
    assert back.name == "set"
    assert isinstance(back.X, sp.csr_array if kind == "sparse" else np.memmap)


def test_dense_npz_and_missing_classes(tmp_path):
    np.savez(tmp_path / "X.npz", X=np.zeros((3, 2), dtype=np.uint8))
    np.save(tmp_path / "y.npy", np.array([0, 2, 1]))
    dataset = read_folder(tmp_path)
    assert dataset.classes.tolist() == [0, 1, 2]
    assert "dense X.npz" in dataset.source


def test_half_precision_in_a_sparse_matrix_can_be_computed_with(tmp_path):
    parts = {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": (2, 2)}
    np.savez(tmp_path / "X.npz", data=np.ones(2, np.float16), format=b"csr", **parts)
    np.save(tmp_path / "y.npy", np.array([0, 1]))
    dataset = read_folder(tmp_path)
    assert dataset.take([1]).X.toarray().tolist() == [[0, 1]]


def test_an_existing_folder_is_left_alone(tmp_path):
    write_folder(make("dense"), tmp_path / "set")
    with pytest.raises(OutputExistsError, match="exists"):
        write_folder(make("sparse"), tmp_path / "set")
    assert same(make("dense"), read_folder(tmp_path / "set"))


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("dsnc.data.folder._write_json", full)
    with pytest.raises(OutputError, match=r"set cannot be written .*No space left"):
        write_folder(make("dense"), tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_class_numbers_that_nobody_can_count_are_refused(tmp_path):
    write_folder(make("dense"), tmp_path / "set")
    (tmp_path / "set" / "classes.json").unlink()
    np.save(tmp_path / "set" / "y.npy", np.array([0, 1, 10**15, 0]))
    with pytest.raises(DataFileError, match="y.npy: has class numbers up to 1,000,000,000,000,000"):
        read_folder(tmp_path / "set")


def test_who_comes_second_is_refused(tmp_path, monkeypatch):
    """Another process may write the folder after we have looked."""

    def first(dataset, folder):
        monkeypatch.undo()
        write_folder(make("sparse"), tmp_path / "set")

    monkeypatch.setattr("dsnc.data.folder._write_files", first)
    with pytest.raises(OutputExistsError, match="another process may have written it"):
        write_folder(make("dense"), tmp_path / "set")
    assert same(make("sparse"), read_folder(tmp_path / "set"))


def test_text_has_no_folder_of_arrays(tmp_path):
    with pytest.raises(InputError, match="raw text"):
        write_folder(Dataset.from_labels(["a"], [1]), tmp_path / "set")


def pickled(path):
    np.save(path, np.array([{}, "run me"], dtype=object), allow_pickle=True)


def archive_for_array(path):
    with path.open("wb") as file:
        np.savez(file, y=np.zeros(4))


def array_for_archive(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def claim(path, shape):
    """Write an array that says it is larger than its file."""
    shape = shape if isinstance(shape, str) else repr(shape)
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head + bytes(32))


def claim_packed(path):
    with zipfile.ZipFile(path, "w") as archive:
        claim(path.with_name("X"), (2**33, 2**33))
        archive.write(path.with_name("X"), "X.npy")


def strange_member(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X", b"no array")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def bad_indices(path):
    csr = sp.csr_array(np.eye(4))
    csr.indices[0] = 99
    sp.save_npz(path, csr)


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("X.npy", cut, "X.npy"),
        ("X.npy", pickled, "X.npy: is not a readable .npy file"),
        ("X.npy", lambda p: np.save(p, np.zeros(4)), r"X.npy: has shape \(4,\)"),
        (
            "X.npy",
            lambda p: np.save(p, np.zeros((3, 4))),
            "X has 3 rows, but there are labels for 4",
        ),
        ("X.npy", lambda p: p.unlink(), "neither X.npz nor X.npy"),
        ("y.npy", cut, "y.npy"),
        ("y.npy", pickled, "y.npy: is not a readable .npy file"),
        ("y.npy", lambda p: np.save(p, np.array([0, 1, 5, 0])), r"y\[2\]=5 is outside"),
        (
            "y.npy",
            lambda p: np.save(p, np.array([0.0, 1, 1, 0])),
            r"y.npy: has shape \(4,\) and type float64. Expected class numbers",
        ),
        ("y.npy", lambda p: p.unlink(), "neither y.npy nor Y.npz"),
        ("y.npy", archive_for_array, "y.npy: is not a readable .npy file"),
        ("y.npy", lambda p: claim(p, (2**33,)), "y.npy: is not a readable .npy file"),
        ("y.npy", lambda p: claim(p, (10**30,)), "y.npy: is not a readable .npy file"),
        ("y.npy", lambda p: claim(p, "(2,"), "y.npy: is not a readable .npy file"),
        ("y.npy", lambda p: np.save(p, np.array(1)), r"y.npy: has shape \(\)"),
        ("split.npy", lambda p: np.save(p, np.array([0, 1, 7, 2])), "0 train, 1 validation"),
        (
            "classes.json",
            lambda p: p.write_text("{}"),
            "holds a value of type dict. Expected a list",
        ),
        ("classes.json", lambda p: p.write_text("[["), "not readable JSON"),
        ("classes.json", lambda p: p.write_text("[[1], [2]]"), "not a flat list"),
        ("classes.json", lambda p: p.write_text('["a"]'), "is outside 0..0"),
        ("meta.json", lambda p: p.write_text('{"image_shape": [9, 9]}'), "does not fit 4 features"),
        ("meta.json", lambda p: p.write_text('{"image_shape": "wide"}'), "image_shape"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, damage, message):
    write_folder(make("dense"), tmp_path / "set")
    damage(tmp_path / "set" / name)
    with pytest.raises(DataFileError, match=message):
        read_folder(tmp_path / "set")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (cut, "X.npz: is not a readable .npz file"),
        (bad_indices, "X.npz: is not a sparse matrix"),
        (lambda p: np.savez(p, other=np.zeros(3)), "X.npz: is not a sparse matrix"),
        (lambda p: np.savez(p, X=np.zeros(3)), r"X.npz: has shape \(3,\)"),
        (array_for_archive, "X.npz: is not a readable .npz file"),
        (claim_packed, r"X.npz: is not a readable .npz file \(X.npy says \(8589934592, "),
        (strange_member, "X.npz: is not a readable .npz file"),
    ],
)
def test_a_damaged_sparse_file_is_named(tmp_path, damage, message):
    write_folder(make("sparse"), tmp_path / "set")
    damage(tmp_path / "set" / "X.npz")
    with pytest.raises(DataFileError, match=message):
        read_folder(tmp_path / "set")


def test_classes_are_kept_as_text(tmp_path):
    write_folder(make("dense"), tmp_path / "set")
    assert json.loads((tmp_path / "set" / "classes.json").read_text(encoding="utf-8")) == ["ä", "b"]
