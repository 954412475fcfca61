"""The folder that all contestants read: the same rows, texts and classes for everybody."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from dsnc.errors import InputError
from peers.data import read, read_about
from peers.prepare import prepare

SPLIT = np.array([0, 0, 0, 0, 1, 2, 2, -1], dtype=np.int8)
Y = np.array([5, 5, 7, 9, 7, 9, 3, 3], dtype=np.int32)  # of 3, no row to learn from
TEXTS = ["Night  nurse", "ward nurse", "bus driver", "a\u2028cook", "driver", "cook", "?", "?"]


def write(folder, X):
    folder.mkdir()
    if sp.issparse(X):
        sp.save_npz(folder / "X.npz", X)
    else:
        np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", Y)
    np.save(folder / "split.npy", SPLIT)
    return str(folder)


def counts():
    return sp.csr_array(np.random.default_rng(0).poisson(0.6, (8, 6)).astype(np.float32))


def test_counts_are_weighed_by_training_rows_and_classes_numbered_anew(tmp_path):
    X = counts()
    folder = prepare(write(tmp_path / "set", X), tmp_path / "data")
    data = read(folder, "rows")
    assert (data.name, data.n_classes, data.own_texts) == ("set", 3, False)
    assert data.train.y.tolist() == [0, 0, 1, 2]
    assert data.validation.y.tolist() == [1] and data.test.y.tolist() == [2]
    tfidf = TfidfTransformer(sublinear_tf=True).fit(X[:4])
    np.testing.assert_allclose(data.test.X.toarray(), tfidf.transform(X[5:6]).toarray(), rtol=1e-6)
    assert data.train.X.indices.dtype == np.int32


def test_counts_without_texts_are_words_as_often_as_they_are_counted(tmp_path):
    X = counts()
    data = read(prepare(write(tmp_path / "set", X), tmp_path / "data"), "texts")
    words = [np.array(line.split(), dtype=int) for line in data.train.texts]
    found = np.array([np.bincount(row, minlength=6) for row in words])
    np.testing.assert_array_equal(found, X[:4].toarray())


def test_dense_whole_numbers_are_divided_by_the_largest(tmp_path):
    X = (np.arange(16).reshape(8, 2) % 10).astype(np.uint8)
    folder = prepare(write(tmp_path / "set", X), tmp_path / "data")
    np.testing.assert_allclose(read(folder, "rows").train.X, X[:4] / 7, rtol=1e-6)
    assert read_about(folder)["dense"] and read(folder, "texts").train.texts == [""] * 4


def write_texts(folder, texts=TEXTS, y=Y, split=SPLIT):
    folder.mkdir()
    with gzip.open(folder / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
    np.save(folder / "y.npy", y)
    np.save(folder / "split.npy", np.where(split < 0, 4, split))
    return str(folder)


def test_texts_keep_their_lines_and_become_rows(tmp_path):
    folder = prepare(write_texts(tmp_path / "names"), tmp_path / "data")
    data = read(folder, "texts")
    assert data.own_texts and data.train.texts == ["Night nurse", *TEXTS[1:3], "a cook"]
    assert data.test.texts == ["cook"]  # neither another split nor a class never seen
    assert read(folder, "rows").train.X.shape[0] == 4


def test_a_tenth_of_the_texts_stands_in_for_validation_rows(tmp_path):
    texts = [f"job {i}" for i in range(40)]
    split = np.repeat(np.array([0, 2], np.int8), 20)
    source = write_texts(tmp_path / "names", texts, np.arange(40) % 2, split)
    data = read(prepare(source, tmp_path / "data"), "texts")
    assert (len(data.train.texts), len(data.validation.texts)) == (18, 2)
    assert {*data.train.texts, *data.validation.texts} == {*texts[:20]}
    assert data.test.texts == texts[20:]


def test_a_folder_is_written_once_until_the_data_changes(tmp_path, capsys):
    source = write(tmp_path / "set", counts())
    folder = prepare(source, tmp_path / "data")
    assert "writing" in capsys.readouterr().out
    assert prepare(source, tmp_path / "data") == folder and not capsys.readouterr().out
    np.save(tmp_path / "set" / "y.npy", np.where(Y == 9, 5, Y))
    assert read_about(prepare(source, tmp_path / "data"))["classes"] == 2


def test_texts_beside_arrays_must_be_those_of_their_rows(tmp_path):
    source = write(tmp_path / "set", counts())
    for name, number in (("train", 0), ("validation", 1), ("test", 2)):
        at = np.flatnonzero(SPLIT == number)
        rows = "".join(f"{Y[i]}\tjob {i}\n" for i in at)
        (tmp_path / "set" / f"{name}.tsv").write_text("label\ttext\n" + rows)
    (tmp_path / "set" / "classes.json").write_text(json.dumps([str(i) for i in range(10)]))
    texts = read(prepare(source, tmp_path / "data"), "texts").train.texts
    assert texts == [f"job {i}" for i in range(4)]
    (tmp_path / "set" / "test.tsv").write_text("label\ttext\n9\tone\n9\tother\n")
    with pytest.raises(InputError, match=r"test\.tsv: its labels are not those"):
        prepare(source, tmp_path / "data")


def test_what_is_no_data_set_is_said_with_what_is(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.*\n?.*A data set is a folder of arrays"):
        prepare(str(tmp_path / "nowhere"), tmp_path / "data")
