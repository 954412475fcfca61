import bz2
import logging
import os

import numpy as np
import pytest
import scipy.sparse as sp

from dsnc.data import READERS, Dataset, load_dataset, write_folder
from dsnc.data.readers import detect_reader
from dsnc.errors import DataFileError, InputError

SAMPLES = {
    "rows.svm": ("svmlight", "1 1:0.5\n2 2:1\n"),
    "rows": ("svmlight", "1 1:0.5\n2 2:1\n"),
    "lshtc.txt": ("svmlight", "1, 2 1:0.5\n2 2:1\n"),
    "xc.txt": ("svmlight", "2 3 3\n1,2 1:0.5\n0 2:1\n"),
    "titles.tsv": ("tsv", "a\tone two\nb\tthree\na\tfour\n"),
    "titles.csv": ("csv", "label,text\na,1:2\n"),
    "tabs.txt": ("tsv", "a\tone\na\ttwo\n"),
    "commas.txt": ("csv", "a,one\na,two\n"),
    "rows.jsonl": ("jsonl", '{"label": 1, "text": "x"}\n'),
    "json.txt": ("jsonl", '{"label": 1, "text": "x"}\n'),
    "fast.txt": ("fasttext", "__label__a one\n"),
    "fast.csv": ("fasttext", "__label__a one, two\n"),
    "numbers.tsv": ("tsv", "1\t8:30 train\n2\t9:15 bus\n"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_reader_is_found_by_content_and_name(tmp_path, caplog, name):
    reader, content = SAMPLES[name]
    (tmp_path / name).write_text(content)
    assert detect_reader(tmp_path / name) == reader
    with caplog.at_level(logging.INFO, logger="dsnc"):
        dataset = load_dataset(tmp_path / name)
    assert name in dataset.source
    assert dataset.source in caplog.text


def test_a_compressed_file_with_a_plain_name(tmp_path):
    (tmp_path / "t.tsv.bz2").write_bytes(bz2.compress(b"a\tone\na\ttwo\n"))
    assert load_dataset(tmp_path / "t.tsv.bz2").X.tolist() == ["one", "two"]


def test_every_reader_is_in_the_table_of_the_docs(repository):
    table = (repository / "docs" / "data.md").read_text(encoding="utf-8")
    assert [name for name in READERS if f"`{name}`" not in table] == []


def test_the_reader_can_be_named(tmp_path):
    (tmp_path / "rows").write_text("a,one\na,two\n")
    dataset = load_dataset(str(tmp_path / "rows"), reader="csv", label_column=1, text_column=0)
    assert dataset.classes.tolist() == ["one", "two"]


def test_a_folder_of_arrays(tmp_path):
    write_folder(Dataset.from_labels(np.zeros((2, 3)), [0, 1]), tmp_path / "set")
    assert load_dataset(tmp_path / "set").X.shape == (2, 3)


@pytest.mark.parametrize(
    ("train", "test", "first", "width", "columns"),
    [
        ("1 1:1 4:1\n", "2 2:1\n", 1, 4, [0, 3, 1]),  # no index 0 anywhere: counted from 1
        ("1 1:1 4:1\n", "2 0:1 6:1\n", 0, 7, [1, 4, 0, 6]),  # one in any file: counted from 0
        ("1 9 3\n1 1:1\n", "1 9 3\n2 8:1\n", 0, 9, [1, 8]),  # the header says 0
    ],
)
def test_train_and_test_files_share_features_classes_and_split(
    tmp_path, train, test, first, width, columns
):
    (tmp_path / "train.txt").write_text(train)
    (tmp_path / "test.txt").write_text(test)
    dataset = load_dataset(tmp_path)
    assert (dataset.X.shape, dataset.first_index) == ((2, width), first)
    assert dataset.X.indices.tolist() == columns
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
        "train": [0],
        "test": [1],
    }
    assert dataset.name == tmp_path.name


def test_text_parts_with_new_labels_in_the_test_file(tmp_path):
    (tmp_path / "train.tsv").write_text("label\ttext\nb\tone\nd\ttwo\n")
    (tmp_path / "dev.tsv").write_text("label\ttext\nd\tthree\n")
    (tmp_path / "test.tsv").write_text("label\ttext\na\tfour\n")
    dataset = load_dataset(tmp_path)
    assert dataset.lines.tolist() == [2, 3, 2, 2] and dataset.ids is None
    assert dataset.classes.tolist() == ["a", "b", "d"]
    assert dataset.labels.tolist() == ["b", "d", "d", "a"]
    assert dataset.predefined_split().validation.X.tolist() == ["three"]


def test_parts_of_which_one_has_label_sets(tmp_path):
    (tmp_path / "train.txt").write_text("3 1:1\n5 2:1\n")
    (tmp_path / "test.txt").write_text("4,5 1:1\n")
    dataset = load_dataset(tmp_path)
    assert dataset.classes.tolist() == [3, 4, 5]
    assert dataset.Y.toarray().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 1]]
    assert sp.issparse(dataset.X)


def test_catalog_names(tmp_path, monkeypatch):
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    assert load_dataset("glyphs", n_classes=3, n_per_class=2).n_classes == 3


@pytest.mark.parametrize(
    ("what", "options", "error", "message"),
    [
        ("glpyhs", {}, InputError, "Did you mean 'glyphs'"),
        ("missing.tsv", {}, DataFileError, "missing.tsv: does not exist"),
        ("some/folder", {}, DataFileError, "does not exist"),
        ("glyphs", {"reader": "tvs"}, InputError, "reader='tvs' is not known. Did you mean 'tsv'"),
        ("glyphs", {"reader": "tsv"}, DataFileError, "does not exist"),
    ],
)
def test_what_cannot_be_found_is_named(tmp_path, monkeypatch, what, options, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        load_dataset(what, **options)


def test_an_option_of_another_reader_is_named(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    with pytest.raises(InputError, match="reader 'svmlight'.*unexpected keyword argument 'header'"):
        load_dataset(tmp_path / "rows.svm", header=True)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no data that can be recognized"),
        ({"notes.txt": "a"}, "holds no data that can be recognized"),
        ({"train.tsv": "a\tb\n", "train.svm": "1 1:1\n"}, "several train files"),
        ({"train.txt": "what is this\n"}, "train.txt, line 1: is not in a format"),
        ({"train.txt": ""}, "train.txt: is empty"),
    ],
)
def test_a_folder_that_is_no_data_set_is_named(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(DataFileError, match=message):
        load_dataset(tmp_path)


def test_a_pipe_is_refused_at_once(tmp_path):
    """To find out its format takes a first look, after which its beginning is gone."""
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(DataFileError, match="a pipe, which can be read only once"):
        load_dataset(tmp_path / "rows.csv")
