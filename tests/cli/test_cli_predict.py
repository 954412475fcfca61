"""``dsnc predict`` and ``dsnc encode``: a line in, a line out."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from dsnc.cli.predict import escape
from dsnc.data import Dataset, load_dataset, write_folder

TITLES = ["night nurse", "", "senior bus driver", "sushi cook"]


@pytest.fixture
def lines(files):
    return [line.split(b" ", 1)[1] for line in (files / "test.svm").read_bytes().splitlines()]


def test_answers_are_those_of_the_model(run, files):
    model = dsnc.load(files / "texts")
    text = "\n".join(TITLES)
    labels = run("predict", files / "texts", "-", input=text).stdout.split("\n")
    assert labels == [*model.predict(TITLES), ""]
    names, shares = model.predict_top_k(TITLES, k=3)
    rows = run("predict", files / "texts", "-", "--top-k", 3, "--proba", input=text).stdout
    cells = [row.split("\t") for row in rows.splitlines()]
    assert [row[::2] for row in cells] == names.tolist()
    assert [[float(x) for x in row[1::2]] for row in cells] == shares.round(4).astype(float).round(
        4
    ).tolist()
    records = run("predict", files / "texts", "-", "--top-k", 2, "--json", input=text).stdout
    assert [json.loads(line)["labels"] for line in records.splitlines()] == names[:, :2].tolist()


def test_rows_stay_aligned_whatever_ends_a_line(run, files):
    text = "\ufeffnight nurse\r\n\r\n\nsushi cook"
    out = run("predict", files / "texts", "-", "--batch", 2, input=text).stdout.splitlines()
    assert len(out) == 4
    assert (out[0], out[3]) == ("night nurse", "sushi cook")
    assert run("predict", files / "texts", "-", input="").stdout == ""


def test_rejected_rows_are_empty(run, files):
    arguments = ["predict", files / "texts", "-", "--reject-below", 1]
    assert run(*arguments, input="nurse\n\n").stdout == "\n\n"
    record = json.loads(run(*arguments, "--json", input="nurse\n").stdout)
    assert record == {"labels": [], "probabilities": []}


def test_more_answers_than_classes_are_all(run, files):
    out = run("predict", files / "texts", "-", "--top-k", 99, input="nurse\n").stdout
    assert len(out.split("\t")) == 12


def test_to_a_file_whole_or_not_at_all(run, files, tmp_path):
    run("predict", files / "texts", files / "test.tsv", "-o", "out.txt")
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 61
    (tmp_path / "bad.txt").write_bytes(b"nurse\nk\xf6ch\n")
    arguments = ["predict", files / "texts", "bad.txt", "--batch", 1]
    error = run(*arguments, "-o", "other.txt", code=1).stderr
    assert "bad.txt, line 2: is not utf-8" in error
    assert "--encoding" in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "out.txt"]
    assert len(run(*arguments, "--encoding", "latin-1").stdout.splitlines()) == 2


def test_a_table_given_as_texts_is_doubted(run, files):
    assert "looks like a table" in run("predict", files / "texts", files / "test.tsv").stderr


def test_vectors_in_every_form(run, files, tmp_path, lines):
    X = load_dataset(files / "test.svm").X.astype(np.float32)
    dense = X.toarray()
    np.save(tmp_path / "x.npy", dense)
    sp.save_npz(tmp_path / "x.npz", X)
    np.savez(tmp_path / "dense.npz", X=dense)
    write_folder(Dataset(dense, np.zeros(60, int), np.arange(1)), tmp_path / "folder")
    np.savetxt(tmp_path / "x.csv", dense, delimiter=",", header="a,b,c,d,e,f,g,h", comments="")
    (tmp_path / "bare.svm").write_bytes(b"\n".join(lines))
    expected = run("predict", files / "vectors", files / "test.svm").stdout
    assert len(expected.splitlines()) == 60
    for name in ("x.npy", "x.npz", "dense.npz", "folder", "x.csv", "bare.svm"):
        for batch in (7, 4096):
            assert run("predict", files / "vectors", name, "--batch", batch).stdout == expected
    columns = "\n".join(" ".join(map(str, row)) for row in dense.tolist())
    assert run("predict", files / "vectors", "-", input=columns).stdout == expected


def test_empty_lines_of_vectors_are_rows_of_zeros(run, files):
    out = run("predict", files / "vectors", "-", input="\n1:1\n\n# nothing\n").stdout.split()
    zero = dsnc.load(files / "vectors").predict(np.zeros((1, 8), np.float32))[0]
    assert len(out) == 4
    assert out[0] == out[2] == out[3] == str(zero)


def test_features_that_were_never_learned_are_left_out(run, files):
    result = run("predict", files / "vectors", "-", input="1:2 9:5\n1:2\n")
    first, second = result.stdout.splitlines()
    assert first == second
    assert "1 values of features above the 8 that were learned" in result.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1:x\n", "-, line 1: value is not a finite number: '1:x'"),
        ("1:1\n3:1 2:1\n", "-, line 2: index does not ascend"),
        ("0:1\n", "-, line 1: uses index 0"),
        ("1,2,3\n", "line 1: has 3 features; the model was trained on 8"),
        ("1,2,3,4,5,6,7,8\n1,2,x,4,5,6,7,8\n", "-, line 2: has what is no number"),
        ("1,2,3,4,5,6,7,nan\n", "-, line 1: has NaN or infinity"),
        ("night nurse\n", "was trained on numbers, and the input holds texts: b'night nurse'"),
    ],
)
def test_bad_lines_are_named(run, files, text, message):
    assert message in run("predict", files / "vectors", "-", input=text, code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "no", "-"], "MODEL='no' does not exist; give the folder"),
        (["predict", "a.npy", "-"], "MODEL='a.npy' is a file"),
        (["predict", "empty", "-"], "model.json: is missing"),
        (["predict", "vectors", "no.svm"], "no.svm: does not exist"),
        (["predict", "vectors", "a.npy"], "has 2 features; the model was trained on 8"),
        (["predict", "vectors", "empty"], "holds neither X.npz nor X.npy"),
        (["predict", "texts", "empty"], "empty: is a folder"),
        (["predict", "texts", "a.txt", "-o", "empty"], "-o empty is a folder"),
        (["predict", "texts", "a.txt", "-o", "no/a.txt"], "-o no/a.txt cannot be written"),
        (["predict", "texts", "a.txt", "--encoding", "utf-99"], "utf-99"),
    ],
)
def test_wrong_uses(run, files, tmp_path, arguments, message):
    for name in ("vectors", "texts"):
        (tmp_path / name).symlink_to(files / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("nurse\n")
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    assert message in run(*arguments, code=1).stderr


def test_margins_are_not_sold_as_probabilities(run, files):
    options = ["--method", "one_vs_rest", "--epochs", "1", "--device", "cpu"]
    run("train", files / "train.svm", "-o", "m", *options)
    arguments = ["predict", "m", files / "test.svm", "--proba"]
    assert "gives no probabilities" in run(*arguments, code=1).stderr
    assert "calibration" not in run("evaluate", "m", files / "test.svm").stdout
    assert "has no codes" in run("encode", "m", files / "test.svm", code=1).stderr


def test_labels_are_escaped():
    assert escape("a\tb\nc\\d\r") == "a\\tb\\nc\\\\d\\r"
    assert escape(7) == "7"


def test_codes(run, files, tmp_path):
    model = dsnc.load(files / "texts")
    bits = model.encode(TITLES).to_bits()
    text = "\n".join(TITLES)
    out = run("encode", files / "texts", "-", "--format", "bits", input=text).stdout.split()
    assert out == ["".join("01"[bit] for bit in row) for row in bits.astype(int)]
    hexes = run("encode", files / "texts", "-", input=text).stdout.split()
    assert [f"{int(code, 16):016b}" for code in hexes] == out
    arguments = ["encode", files / "texts", "-", "-o", "codes.npy", "--batch", 3]
    run(*arguments, input=text)
    assert np.array_equal(np.load(tmp_path / "codes.npy"), model.encode(TITLES).words)
    run(*arguments, input="")
    assert np.load(tmp_path / "codes.npy").shape == (0, 1)


def test_an_answer_comes_before_the_writer_is_done(start, files):
    process = start("predict", files / "texts", "-")
    for title in ("night nurse", "sushi cook"):
        process.stdin.write(f"{title}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().decode() == f"{title}\n"  # would wait for ever
    process.stdin.close()
    assert process.stdout.read() == b""
    assert process.wait() == 0
