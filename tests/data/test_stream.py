"""Rows that come block by block are those of the whole input, whatever form they have."""

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.data import Dataset, stream_rows, write_folder
from dsnc.data.columns import Columns
from dsnc.data.readers import rows_reader
from dsnc.data.stream import stream_table
from dsnc.data.tables import TableOptions, open_table
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
    with pytest.raises(DataFileError, match="line 1: uses index 0.*first_index=0"):
        rows_of(tmp_path / "x.svm")


def test_what_was_never_learned_and_names_of_columns_are_told(tmp_path):
    (tmp_path / "x.svm").write_text("1:1 9:1\n\n2:3\n8:1\n")
    with pytest.warns(DsncWarning, match="has 2 values of features above the 3"):
        assert rows_of(tmp_path / "x.svm").sum() == 4
    (tmp_path / "x.csv").write_text("a,b,c\n1,0,2\n")
    with pytest.warns(DsncWarning, match="line 1: read as column names"):
        blocks = list(stream_rows(str(tmp_path / "x.csv"), 3))
    assert [block.tolist() for block in blocks] == [[[1, 0, 2]]]


def test_blank_lines_before_names_of_columns_are_rows(tmp_path):
    (tmp_path / "x.csv").write_text("\n\na,b,c\n1,0,2\n")
    with pytest.warns(DsncWarning, match="line 3: read as column names"):
        blocks = list(stream_rows(str(tmp_path / "x.csv"), 3))
    assert np.concatenate(blocks).tolist() == [[0, 0, 0], [0, 0, 0], [1, 0, 2]]


def test_large_numbers_keep_their_digits(tmp_path):
    (tmp_path / "x.csv").write_text("1700000001.25,0,1\n")
    (block,) = stream_rows(str(tmp_path / "x.csv"), 3)
    assert block.tolist() == [[1700000001.25, 0, 1]]
    (tmp_path / "x.csv").write_text("1,0,1\n1,1e39,1\n")
    with pytest.raises(DataFileError, match="line 2: has NaN or infinity"):
        list(stream_rows(str(tmp_path / "x.csv"), 3))


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


def test_a_json_list_has_a_text_for_each_item(tmp_path):
    (tmp_path / "t.json").write_text('[\n "one",\n "", "two\\nlines"]')
    blocks = list(stream_rows(str(tmp_path / "t.json"), None, batch=2))
    assert blocks == [["one", ""], ["two\nlines"]]
    (tmp_path / "t.json").write_text('["one", null]')
    with pytest.raises(DataFileError, match="item 2 is not a text: 'None'"):
        list(stream_rows(str(tmp_path / "t.json"), None))


@pytest.mark.parametrize(
    ("text", "kind"),
    [('[\n {"a": "x"}]', "jsonl"), ('{"a": "x"}', "jsonl"), ('["a", "b"]', None)],
)
def test_a_json_file_is_a_table_if_it_has_objects(tmp_path, text, kind):
    (tmp_path / "t.json").write_text(text)
    for columns in (None, Columns(text=("a",))):
        reader = rows_reader(tmp_path / "t.json", columns)
        table = reader.open(tmp_path / "t.json", TableOptions(), ())
        assert (table and table.kind) == kind


TITLES = Columns(text=("t",))


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.csv", 't\nx\n""\n\ny\n\n', ["x", "", "", "y", ""]),
        ("a.csv", "t,u\n,\n\nx,1\n,2\n", ["", "", "x", ""]),
        ("a.tsv", "t\tu\nx\t1\n\n\t\ny\t2\n", ["x", "", "", "y"]),
        ("a.jsonl", '{"t": "x"}\n{"t": null}\n{"u": 1}\n{"t": ""}\n', ["x", "", "", ""]),
    ],
)
def test_every_row_of_a_table_keeps_its_place(tmp_path, name, content, texts):
    (tmp_path / name).write_text(content)
    table = open_table(tmp_path / name, name[2:], known=["t"])
    (block,) = stream_table(table, TITLES)
    assert list(block.X) == texts
    assert [not error for error in block.errors] == [bool(text) for text in texts]


@pytest.mark.parametrize("cell", ["5", "true", "[]", "{}"])
def test_what_json_has_instead_of_a_text_is_no_text(tmp_path, cell):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"t": "x"}}\n{{"t": {cell}}}\n')
    with pytest.raises(DataFileError, match="line 2: has a value that is not a text in column 't'"):
        list(stream_table(open_table(path, "jsonl"), TITLES))
    (block,) = stream_table(open_table(path, "jsonl"), TITLES, skip_errors=True)
    assert [bool(error) for error in block.errors] == [False, True]


def test_blank_lines_before_the_first_row_of_a_file_without_a_header_are_rows(tmp_path):
    (tmp_path / "a.csv").write_text("\n\nx\ny\n")
    table = open_table(tmp_path / "a.csv", "csv", TableOptions(header=False))
    (block,) = stream_table(table, Columns(text=("0",)))
    assert list(block.X) == ["", "", "x", "y"]
    assert [row.line for row in block.rows] == [1, 2, 3, 4]
