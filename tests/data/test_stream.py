"""Rows that come block by block are those of the whole input, whatever form they have."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.data import Dataset, stream_rows, write_folder
from dsnc.errors import DataFileError, DsncWarning, InputError

X = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0], [4, 5, 6.5]], dtype=np.float32)


def rows_of(path, **options):
    blocks = list(stream_rows(str(path), 3, batch=3, **options))
    assert [block.shape[0] for block in blocks] == [3, 1]
    return np.concatenate([b.toarray() if sp.issparse(b) else b for b in blocks])


def test_numbers_in_every_form(tmp_path):
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "dense.npz", X=X)
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X))
    write_folder(Dataset(X, np.zeros(4, int), np.arange(1)), tmp_path / "folder")
    (tmp_path / "x.svm").write_text("7 1:1 3:2\n\n2:3\n1:4 2:5 3:6.5")
    (tmp_path / "x.csv").write_text("1,0,2\n\n0,3,0\n4,5,6.5\n")
    for name in ("x.npy", "dense.npz", "x.npz", "folder", "x.svm", "x.csv"):
        assert np.array_equal(rows_of(tmp_path / name), X), name


def test_the_first_feature_may_be_0(tmp_path):
    (tmp_path / "x.svm").write_text("0:1 2:2\n\n1:3\n0:4 1:5 2:6.5\n")
    assert np.array_equal(rows_of(tmp_path / "x.svm", first_index=0), X)
    with pytest.raises(DataFileError, match="line 1: uses index 0.*--first-index 0"):
        rows_of(tmp_path / "x.svm")


def test_what_was_never_learned_and_names_of_columns_are_told(tmp_path):
    (tmp_path / "x.svm").write_text("1:1 9:1\n\n2:3\n8:1\n")
    with pytest.warns(DsncWarning, match="has 2 values of features above the 3"):
        assert rows_of(tmp_path / "x.svm").sum() == 4
    (tmp_path / "x.csv").write_text("a,b,c\n1,0,2\n")
    with pytest.warns(DsncWarning, match="line 1: read as column names"):
        blocks = list(stream_rows(str(tmp_path / "x.csv"), 3))
    assert [block.tolist() for block in blocks] == [[[1, 0, 2]]]


def test_texts_are_lines(tmp_path):
    (tmp_path / "t.txt").write_bytes("\ufeffone\r\n\nthrée".encode())
    blocks = list(stream_rows(str(tmp_path / "t.txt"), None, batch=2))
    assert blocks == [["one", ""], ["thrée"]]


def test_another_width_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(InputError, match="has 3 features; the model was trained on 4"):
        list(stream_rows(str(tmp_path / "x.npy"), 4))
    with pytest.raises(DataFileError, match="does not exist"):
        stream_rows(str(tmp_path / "no"), 3)
