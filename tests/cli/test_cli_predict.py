"""``dsnc predict`` and ``dsnc encode``: a line in, a line out."""

import csv
import io
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc
from dsnc.cli.common import escape
from dsnc.data import Dataset, load_dataset, write_folder

TITLES = ["night nurse", "", "senior bus driver", "sushi cook"]


@pytest.fixture
def lines(files):
    return [line.split(b" ", 1)[1] for line in (files / "test.svm").read_bytes().splitlines()]


def test_answers_are_those_of_the_model(run, files):
    model = dsnc.load(files / "texts")
    text = "\n".join(TITLES)
    result = run("predict", files / "texts", "-", input=text)
    labels = model.predict(TITLES)
    labels[1] = ""  # an empty line has no label
    assert result.stdout.split("\n") == [*labels, ""]
    assert "1 row without a text (line 2): no prediction" in result.stderr
    names, shares = model.predict_top_k(TITLES, k=3)
    rows = run("predict", files / "texts", "-", "--top-k", 3, "--proba", input=text).stdout
    cells = [row.split("\t") for row in rows.splitlines()]
    expected = [names[0].tolist(), [""], *names[2:].tolist()]
    assert [row[::2] for row in cells] == expected
    expected = shares.round(4).astype(float).round(4).tolist()
    expected[1] = []
    assert [[float(x) for x in row[1::2]] for row in cells] == expected
    records = run("predict", files / "texts", "-", "--top-k", 2, "--json", input=text).stdout
    expected = [names[0, :2].tolist(), [], *names[2:, :2].tolist()]
    assert [json.loads(line)["labels"] for line in records.splitlines()] == expected


def test_rows_stay_aligned_whatever_ends_a_line(run, files):
    text = "\ufeffnight nurse\r\n\r\n\nsushi cook"
    out = run("predict", files / "texts", "-", "--batch", 2, input=text).stdout.splitlines()
    assert len(out) == 4
    assert (out[0], out[3]) == ("night nurse", "sushi cook")
    assert run("predict", files / "texts", "-", input="").stdout == ""


@pytest.mark.parametrize("k", [1, 3])
def test_doubtful_rows_are_left_to_a_person(run, files, tmp_path, k):
    texts = ["night nurse", "sushi", "", "zzz", "senior truck driver", "nurse cook"]
    model = dsnc.load(files / "texts")
    labels, shares = model.predict_top_k(texts, k=k)
    least = float(np.sort(shares[:, 0])[3])  # of the best labels, whatever k is
    wanted = ["answer" if share >= least else "person" for share in shares[:, 0]]
    wanted[2] = "person"  # no text
    assert {"answer", "person"} == set(wanted)
    arguments = ["predict", files / "texts", "-", "--top-k", k, "--reject-below", least]
    lines = run(*arguments, input="\n".join(texts)).stdout.splitlines()
    assert [line.split("\t")[-1] for line in lines] == wanted
    assert lines[3].split("\t") == [*labels[3], wanted[3]]
    out = run(*arguments, "--json", input="\n".join(texts)).stdout.splitlines()
    assert [json.loads(line)["decision"] for line in out] == wanted
    assert json.loads(out[3])["labels"] == labels[3].tolist()
    (tmp_path / "a.csv").write_text("text,n\n" + "".join(f"{text},1\n" for text in texts))
    arguments[2] = "a.csv"
    table = list(csv.DictReader(io.StringIO(run(*arguments).stdout)))
    assert [row["decision"] for row in table] == wanted
    name = "prediction" if k == 1 else "prediction_1"
    assert [row[name] for row in table if row["text"]] == np.delete(labels[:, 0], 2).tolist()


def test_unknown_rows_are_left_to_a_person(run, files):
    arguments = ["predict", files / "texts", "-", "--reject-below", 0, "--unknown", "??"]
    out = run(*arguments, "--unknown-share", 1, input="night nurse\n").stdout
    assert out == "??\tperson\n"


def test_more_answers_than_classes_are_refused(run, files):
    arguments = (files / "texts", files / "test.tsv", "--top-k", 99)
    for command in ("predict", "evaluate"):
        said = run(command, *arguments, code=1).stderr
        assert "error: --top-k 99 must be a whole number from 1 to 12." in said


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


def test_a_table_comes_back_with_predictions(run, files):
    result = run("predict", files / "texts", files / "test.tsv")
    assert "test.tsv: tab, " in result.stderr
    before = (files / "test.tsv").read_text(encoding="utf-8").splitlines()
    after = result.stdout.splitlines()
    assert len(after) == len(before)
    assert all(
        a.startswith(b + "\t") and len(a.split("\t")) == 4
        for a, b in zip(after, before, strict=True)
    )


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
    table = run("predict", files / "vectors", "x.csv").stdout.splitlines()
    assert table[0] == "a,b,c,d,e,f,g,h,prediction,probability"
    assert [line.split(",")[8] for line in table[1:]] == expected.splitlines()
    for name in ("x.npy", "x.npz", "dense.npz", "folder", "bare.svm"):
        for batch in (7, 4096):
            assert run("predict", files / "vectors", name, "--batch", batch).stdout == expected
    columns = "\n".join(" ".join(map(str, row)) for row in dense.tolist())
    assert run("predict", files / "vectors", "-", input=columns).stdout == expected


@pytest.mark.parametrize("batch", [1, 4096])
def test_names_of_columns_are_no_row_and_that_is_said(run, files, batch):
    rows = "\n1,2,3,4,5,6,7,8\n"
    arguments = ["predict", files / "vectors", "-", "--batch", batch]
    expected = run(*arguments, input=rows)
    result = run(*arguments, input=rows.replace("\n", "\na,b,c,d,e,f,g,h\n", 1))
    assert result.stdout == expected.stdout
    assert len(result.stdout.splitlines()) == 2
    assert "-, line 2: read as column names" in result.stderr
    assert "names" not in expected.stderr


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
        (
            "1,2,3,4,5,6,7,8\n1,2,x,4,5,6,7,8\n",
            "-, line 2: has a value that is not a number in column 3: 'x'",
        ),
        ("0.5,NA,1,2,3,4,5,6\n", "-, line 1: has a value that is not a number in column 2: 'NA'"),
        ("\na,b,c,d,e,f,g,h\n1,2\n", "-, line 3: has 2 features"),
        ("1,2,3,4,5,6,7,nan\n", "-, line 1: has NaN or infinity"),
        ("night nurse\n", "was trained on numbers, but the input holds texts: b'night nurse'"),
    ],
)
def test_bad_lines_are_named(run, files, text, message):
    assert message in run("predict", files / "vectors", "-", input=text, code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "no", "-"], "error: no does not exist; give the folder"),
        (["predict", "a.npy", "-"], "a.npy is a file"),
        (["predict", "empty", "-"], "model.json: is missing"),
        (["predict", "vectors", "no.svm"], "no.svm: does not exist"),
        (["predict", "vectors", "a.npy"], "has 2 features; the model was trained on 8"),
        (["predict", "vectors", "empty"], "holds neither X.npz nor X.npy"),
        (["predict", "texts", "empty"], "empty: is a folder"),
        (["predict", "texts", "a.txt", "-o", "empty"], "-o empty is a folder"),
        (["predict", "texts", "a.txt", "-o", "no/a.txt"], "-o no/a.txt cannot be written"),
        (
            ["predict", "texts", "a.txt", "--encoding", "utf-99"],
            "error: encoding 'utf-99' is not",
        ),
        (["predict", "texts", "a.txt", "--encoding", "hex"], "encoding 'hex' is not known"),
        (["predict", "texts", "a.txt", "--encoding", "utf-16"], "convert the texts to UTF-8"),
        (["encode", "texts", "a.txt", "--encoding", "cp037"], "convert the texts to UTF-8"),
    ],
)
def test_wrong_uses(run, files, tmp_path, arguments, message):
    for name in ("vectors", "texts"):
        (tmp_path / name).symlink_to(files / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("nurse\n")
    np.save(tmp_path / "a.npy", np.zeros((3, 2)))
    assert message in run(*arguments, code=1).stderr


def test_margins_become_probabilities(run, files):
    options = ["--method", "one_vs_rest", "--epochs", "1", "--device", "cpu"]
    run("train", files / "train.svm", "-o", "m", *options)
    arguments = ["predict", "m", files / "test.svm", "--proba"]
    shares = [float(line.split("\t")[1]) for line in run(*arguments).stdout.splitlines()]
    assert shares and all(0 <= share <= 1 for share in shares)
    assert "calibration" in run("evaluate", "m", files / "test.svm").stdout
    assert "has no codes" in run("encode", "m", files / "test.svm", code=1).stderr


def test_labels_are_escaped():
    assert escape("a\tb\nc\\d\r") == "a\\tb\\nc\\\\d\\r"
    assert escape(7) == "7"
    assert escape("\x0b\x0c\x1b[1m\x7f\x85\x9b") == "\\x0b\\x0c\\x1b[1m\\x7f\\x85\\x9b"
    assert escape("\u2028é\u2029") == "\\u2028é\\u2029"


@pytest.fixture
def odd_labels(tmp_path):
    data = dsnc.data.make_dense_codes(n_rows=60, n_classes=4, n_features=3)
    labels = [f"é\x1b\u2028\udcff{label}" for label in data.labels.tolist()]
    model = dsnc.DSNCClassifier(n_bits=8, max_epochs=1, decoder="linear", device="cpu")
    model.fit(data.X, labels).save(tmp_path / "odd")
    np.save(tmp_path / "x.npy", data.X[:5])
    return model.predict(data.X[:5]).tolist()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_json_in_every_encoding(odd_labels, tmp_path, encoding):
    start = "from dsnc.cli import main; main()"
    for arguments in (["predict", "odd", "x.npy", "--json"], ["inspect", "odd", "--json"]):
        done = subprocess.run(
            [sys.executable, "-c", start, *arguments, *(["--bit", "0"] * (len(arguments) == 3))],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        )
        text = done.stdout.decode(encoding)
        if arguments[0] == "inspect":
            assert json.loads(text)["bit"]["set_classes"][0][0].startswith("é\x1b\u2028")
            continue
        assert [json.loads(line)["labels"] for line in text.splitlines()] == [
            [label] for label in odd_labels
        ]


def test_a_file_gets_what_stdout_gets(run, odd_labels, tmp_path):
    for options in ([], ["--json"]):
        run("predict", "odd", "x.npy", "-o", "out.txt", "--force", *options)
        expected = run("predict", "odd", "x.npy", *options).stdout
        assert (tmp_path / "out.txt").read_text(encoding="utf-8") == expected
        assert "\\udcff" in expected


def test_tables_give_a_terminal_no_orders(run, odd_labels):
    shown = run("inspect", "odd", "--bit", 0, "--class", odd_labels[0]).stdout
    assert "\\x1b\\u2028" in shown
    assert not {"\x1b", "\u2028"} & set(shown)


def test_what_is_no_regular_file_is_not_replaced(run, files, tmp_path):
    (tmp_path / "a.txt").write_text("night nurse\n")
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    run("predict", files / "texts", "a.txt", "-o", "pipe")
    reader.join(timeout=30)
    assert got == ["night nurse\n"]
    assert pipe.is_fifo()


def test_the_target_of_a_link_is_replaced(run, files, tmp_path):
    (tmp_path / "a.txt").write_text("night nurse\n")
    (tmp_path / "old.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("old.txt")
    run("predict", files / "texts", "a.txt", "-o", "link.txt", "--force")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "old.txt").read_text() == "night nurse\n"


def test_an_array_may_go_to_a_pipe(run, files, tmp_path):
    (tmp_path / "a.txt").write_text("night nurse\nbus driver\n")
    os.mkfifo(tmp_path / "pipe.npy")
    got = []
    read = (tmp_path / "pipe.npy").read_bytes
    reader = threading.Thread(target=lambda: got.append(read()), daemon=True)
    reader.start()
    run("encode", files / "texts", "a.txt", "-o", "pipe.npy")
    reader.join(timeout=30)
    words = dsnc.load(files / "texts").encode(["night nurse", "bus driver"]).words
    assert np.array_equal(np.load(io.BytesIO(got[0])), words)


def test_codes(run, files, tmp_path):
    model = dsnc.load(files / "texts")
    bits = model.encode(TITLES).to_bits()
    text = "\n".join(TITLES)
    out = run("encode", files / "texts", "-", "--format", "bits", input=text).stdout.split()
    assert out == ["".join("01"[bit] for bit in row) for row in bits.astype(int)]
    hexes = run("encode", files / "texts", "-", input=text).stdout.split()
    assert [f"{int(code, 16):016b}" for code in hexes] == out
    arguments = ["encode", files / "texts", "-", "-o", "codes.npy", "--force", "--batch", 3]
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
