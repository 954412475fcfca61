"""Label sets come out of every format as they went in; what was decided is said."""

import csv
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dsnc.data import load_dataset, write_folder
from dsnc.errors import DataFileError, DsncWarning, InputError

WORDS = st.text("abcä. :;'\"", min_size=1, max_size=5).map(lambda t: f"x{t}x")
TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=12).map(lambda t: f"t {t} t")


def rows_of_sets(labels):
    """Yield (labels of each row, text of each row); one row has several labels."""
    some = st.lists(labels, max_size=4, unique=True)
    several = st.lists(labels, min_size=2, max_size=4, unique=True)
    return st.tuples(several, st.lists(some, max_size=6)).flatmap(
        lambda sets: st.tuples(
            st.permutations([sets[0], *sets[1]]),
            st.lists(TEXTS, min_size=len(sets[1]) + 1, max_size=len(sets[1]) + 1),
        )
    )


def check(dataset, sets):
    assert dataset.is_multilabel
    assert [set(some) for some in dataset.label_lists()] == [set(some) for some in sets]
    assert dataset.classes.tolist() == sorted({label for some in sets for label in some})
    per_row = sum(map(len, sets)) / len(sets)
    said = f"label sets, {dataset.n_classes:,} labels, {per_row:.1f} a row"
    empty = sum(not some for some in sets)
    rows = "1 row" if empty == 1 else f"{empty} rows"
    assert said + (f", {rows} without any" if empty else "") in dataset.source


@settings(max_examples=20)
@given(rows_of_sets(WORDS | st.integers(-5, 10**15).map(str)))
def test_json_lines_with_lists(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("sets") / "tags.jsonl"
    lines = [json.dumps({"tags": s, "body": t}) + "\n" for s, t in zip(*rows, strict=True)]
    path.write_text("".join(lines), encoding="utf-8")
    dataset = load_dataset(path, text_column="body")
    check(dataset, rows[0])
    assert dataset.X.tolist() == list(rows[1])
    assert dataset.columns.label == "tags"


@settings(max_examples=20)
@given(
    rows_of_sets(st.text("abcä.'", min_size=1)), st.sampled_from("|/#,"), st.sampled_from(",;\t")
)
def test_delimited_text_with_a_separator(tmp_path_factory, rows, separator, delimiter):
    path = tmp_path_factory.mktemp("sets") / "tags.csv"
    texts = [re.sub(r"[\s\"]", " ", text) for text in rows[1]]
    sets = rows[0]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["labels", "text"])
        writer.writerows(zip([separator.join(some) for some in sets], texts, strict=True))
    dataset = load_dataset(path, label_separator=separator, delimiter=delimiter)
    check(dataset, sets)
    assert dataset.X.tolist() == texts
    assert f"label 'labels' separated by {separator!r}" in dataset.source


@settings(max_examples=20)
@given(rows_of_sets(WORDS.map(lambda t: t.replace(" ", "_"))))
def test_fasttext_lines(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("sets") / "tags.txt"
    texts = [" ".join(text.split()) for text in rows[1]]
    lines = [
        " ".join([*(f"__label__{label}" for label in some), text]) + "\n"
        for some, text in zip(rows[0], texts, strict=True)
    ]
    path.write_text("".join(lines), encoding="utf-8")
    dataset = load_dataset(path, reader="fasttext")
    check(dataset, rows[0])
    assert dataset.X.tolist() == texts


@settings(max_examples=20)
@given(rows_of_sets(st.integers(0, 8)), st.booleans())
def test_svmlight_and_repository_lines(tmp_path_factory, rows, has_header):
    path = tmp_path_factory.mktemp("sets") / "tags.txt"
    lines = [f"{','.join(map(str, some))} {i}:1.5 9:1\n" for i, some in enumerate(rows[0])]
    head = f"{len(lines)} 10 9\n" if has_header else ""
    path.write_text(head + "".join(lines))
    dataset = load_dataset(path, reader="svmlight", first_index=0)
    assert [set(some) for some in dataset.label_lists()] == [set(some) for some in rows[0]]
    assert dataset.X.shape == (len(lines), 10)
    assert dataset.n_classes == (9 if has_header else len({x for s in rows[0] for x in s}))


@settings(max_examples=20)
@given(rows_of_sets(WORDS))
def test_parquet_with_lists(tmp_path_factory, rows):
    parquet, pyarrow = (pytest.importorskip(f"pyarrow{part}") for part in (".parquet", ""))
    path = tmp_path_factory.mktemp("sets") / "tags.parquet"
    parquet.write_table(pyarrow.table({"subjects": rows[0], "text": rows[1]}), path)
    check(load_dataset(path), rows[0])


@settings(max_examples=20)
@given(rows_of_sets(st.integers(0, 8)))
def test_folders_of_arrays(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("sets")
    source = folder / "tags.svm"
    source.write_text(
        "".join(f"{','.join(map(str, s))} 1:1 2:{i}\n" for i, s in enumerate(rows[0]))
    )
    written = load_dataset(source, reader="svmlight")
    write_folder(written, folder / "arrays")
    check(load_dataset(folder / "arrays"), rows[0])


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    return write


ONE_EACH = {
    "a.jsonl": '{"labels": "p", "text": "a"}\n{"labels": null, "text": "b"}\n',
    "a.csv": "labels,text\np,a\n,b\n",
    "a.txt": "__label__p a\nb\n",
    "a.svm": "3 1:1\n 1:2\n",
}


@pytest.mark.parametrize("name", ONE_EACH)
def test_a_file_of_single_labels_is_read_for_a_model_of_sets(write, name):
    dataset = load_dataset(write(name, ONE_EACH[name]), multilabel=True)
    assert dataset.Y.toarray().tolist() == [[1], [0]]


def test_arrays_and_catalog_are_read_for_a_model_of_sets(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("3 1:1\n5 1:2\n")
    write_folder(load_dataset(path), tmp_path / "arrays")
    dataset = load_dataset(tmp_path / "arrays", multilabel=True)
    assert dataset.label_lists() == [[3], [5]]
    assert load_dataset(path).label_lists() == [[3], [5]]


SEVERAL = {
    "a.jsonl": '{"labels": "p", "text": "a"}\n{"labels": ["p", "q"], "text": "b"}\n',
    "a.txt": "__label__p a\n__label__p __label__q b\n",
    "a.svm": "3 1:1\n3,4 1:2\n",
}


@pytest.mark.parametrize("name", SEVERAL)
def test_sets_may_be_refused(write, name):
    with pytest.raises(DataFileError, match=r"line 2: has 2 labels.*one label a row"):
        load_dataset(write(name, SEVERAL[name]), multilabel=False)


def test_arrays_of_sets_may_be_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(2))
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array(np.eye(2)))
    with pytest.raises(DataFileError, match=r"has label sets \(Y.npz\). Expected y.npy"):
        load_dataset(tmp_path, multilabel=False)
    sp.save_npz(tmp_path / "Y.npz", sp.csr_array([[0.0, 1.0], [-1.0, 0.0]]))
    with pytest.raises(DataFileError, match=r"Y.npz: holds -1.0 in row 1, column 0. Expected 1"):
        load_dataset(tmp_path)


def test_parts_of_a_folder_are_of_one_kind(write, tmp_path):
    write("tags/train.txt", "__label__p __label__q a\n__label__p b\n")
    write("tags/test.txt", "__label__q c\nd\n")
    dataset = load_dataset(tmp_path / "tags")
    assert dataset.predefined_split().test.label_lists() == [["q"], []]
    write("tags/train.csv", "labels,text\np|q,a\n")
    (tmp_path / "tags/train.txt").unlink()
    (tmp_path / "tags/test.txt").unlink()
    assert load_dataset(tmp_path / "tags", label_separator="|").columns.label_separator == "|"


def test_a_separator_is_not_taken_as_delimiter(write):
    path = write("a.csv", "labels,text\np|q,a\nq|r,b\nr|p,c\n")
    assert load_dataset(path, label_separator="|").label_lists() == [
        ["p", "q"],
        ["q", "r"],
        ["p", "r"],
    ]
    path = write("b.csv", 'labels,text\n"p, q",a\n"q,",b\n')
    assert load_dataset(path, label_separator=",").label_lists() == [["p", "q"], ["q"]]
    path = write("c.csv", "p q,the one\nq,the two\np,the three\np q,one more\n")
    assert load_dataset(path, label_separator=" ").label_lists()[0] == ["p", "q"]


def test_a_separator_that_never_occurs_is_told(write):
    path = write("a.csv", "labels,text\np;q,a\nq,b\n")
    with pytest.warns(DsncWarning, match=r"label_separator='\|' .*no cell of column 'labels'"):
        dataset = load_dataset(path, label_separator="|", delimiter=",")
    assert dataset.label_lists() == [["p;q"], ["q"]]


def test_blank_labels_inside_lists_are_none(write):
    path = write("a.jsonl", '{"labels": [" p ", "", null], "text": "a"}\n{"text": "b"}\n')
    assert load_dataset(path).label_lists() == [["p"], []]


def test_rows_keep_their_order_and_names(write):
    lines = [
        {"id": 7, "text": "a"},
        {"id": 8, "text": "b", "labels": ["p", "q"]},
        {"id": 9, "text": "c", "labels": "q"},
    ]
    dataset = load_dataset(write("a.jsonl", "".join(json.dumps(x) + "\n" for x in lines)))
    assert (dataset.X.tolist(), dataset.ids.tolist()) == (["a", "b", "c"], [7, 8, 9])
    assert dataset.lines.tolist() == [1, 2, 3]
    assert dataset.label_lists() == [[], ["p", "q"], ["q"]]


def test_vectors_are_not_labels(write):
    path = write("a.jsonl", '{"kind": "p", "vector": [0.5, 1], "text": "a b"}\n' * 4)
    with pytest.raises(
        DataFileError, match="it is not clear which of 'kind', 'vector' is the label"
    ):
        load_dataset(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"multilabel": "yes"}, "multilabel='yes' must be True, False or 'auto'"),
        ({"label_separator": ""}, "label_separator='' is empty"),
        ({"label_separator": "|", "multilabel": False}, "leave multilabel=False out"),
    ],
)
def test_bad_options_are_named(write, options, message):
    with pytest.raises(InputError, match=message):
        load_dataset(write("a.csv", "labels,text\np,a\nq,b\n"), **options)


def test_labels_that_are_not_known_are_named(write):
    path = write("a.csv", "labels,text\np|q,a\nq|z,b\n")
    with pytest.raises(DataFileError, match="line 3: has an unknown label: 'z'"):
        load_dataset(path, label_separator="|", classes=["p", "q"])
