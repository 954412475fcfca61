import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import oracles
from dsnc._native import read_numbers
from dsnc.data import svmlight
from dsnc.data.svmlight import parse_lines, read_svmlight
from dsnc.errors import DataFileError, InputError

ROWS = "3 1:0.5 7:1\n-1 2:1e-3\n3\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="rows.svm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def as_rows(dataset):
    """The data set in the form of the naive twin."""
    X, rows = dataset.X, []
    for i in range(len(dataset)):
        span = slice(X.indptr[i], X.indptr[i + 1])
        pairs = dict(zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True))
        if dataset.is_multilabel:
            labels = dataset.classes[dataset.Y[[i]].indices].tolist()
        else:
            labels = [dataset.labels[i]]
        rows.append((labels, pairs))
    return rows


NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
PAIRS = st.dictionaries(st.integers(0, 10**6), NUMBERS, max_size=6)
BLANKS = st.sampled_from([" ", "  ", "\t", " \t "])
ENDS = st.sampled_from(["\n", "\r\n", " \n", " # a comment: 1:2, 3\n", "\n\n", "\n# 5 1:1\n"])


@st.composite
def files(draw, labels):
    lines = []
    for _ in range(draw(st.integers(1, 8))):
        words = [draw(labels)]
        words += [f"{i}:{v!r}" for i, v in sorted(draw(PAIRS).items())]
        lines.append(draw(BLANKS).join(words) + draw(ENDS))
    text = "".join(lines)
    return text if draw(st.booleans()) else text.rstrip("\n")


@given(text=files(st.integers(-99, 99).map(str)))
def test_reads_as_the_naive_twin(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("svm") / "rows"
    path.write_text(text, newline="")
    dataset = read_svmlight(path, first_index=0, multilabel=False, dtype=np.float64)
    assert as_rows(dataset) == oracles.svmlight(text)


def numbers_of(words):
    """What the kernel makes of words, or None where it leaves them to others."""
    text = " ".join(words) + "\n"
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    numbers = np.full(len(words), np.nan)
    octets = np.frombuffer(text.encode(), dtype=np.uint8)
    return numbers if read_numbers(octets, starts, numbers) else None


@given(st.lists(st.text("0123456789+-.eE", min_size=1, max_size=8), min_size=1, max_size=3))
def test_the_kernel_reads_numbers_and_nothing_else(words):
    numbers = numbers_of(words)
    if numbers is not None:
        assert all(svmlight._NUMBER.fullmatch(word.encode()) for word in words)
        assert numbers.tobytes() == np.array([float(word) for word in words]).tobytes()


@given(st.decimals(-(10**15), 10**15, allow_nan=False, places=6), st.integers(-16, 22))
def test_short_numbers_are_left_to_no_other(number, power):
    digits = f"{number:.6f}".replace(".", "").lstrip("-0")
    word = f"{number:.6f}e{power}"
    if int(digits or 0) <= 2**53:
        assert numbers_of([word, "1."]).tolist() == [float(word), 1.0]
    else:
        assert numbers_of([word, "1."]) is None


@pytest.mark.parametrize("word", ["1e23", "1e-23", "9007199254740993", "0.30000000000000004"])
def test_numbers_that_one_rounding_does_not_give_are_left_to_others(word, write):
    assert numbers_of([word]) is None
    dataset = read_svmlight(write(f"1 1:{word} 2:0.5\n"), dtype=np.float64)
    assert dataset.X.toarray().tolist() == [[float(word), 0.5]]


@pytest.mark.parametrize("octet", sorted(set(range(32)) - set(b"\t\n\v\f\r")))
def test_a_control_octet_is_no_blank(octet, write):
    with pytest.raises(DataFileError, match="line 2"):
        read_svmlight(write(b"1 1:2\n1 1:2" + bytes([octet]) + b" 2:3\n"))


LABEL_SETS = st.lists(st.integers(0, 30), max_size=4, unique=True).map(sorted)


@given(
    text=files(
        LABEL_SETS.flatmap(
            lambda s: st.sampled_from([",", ", "]).map(
                lambda comma: comma.join(map(str, s)) if s else " "
            )
        )
    )
)
def test_reads_label_sets_as_the_naive_twin(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("svm") / "rows"
    path.write_text("1,2 1:1\n" + text, newline="")
    expected = oracles.svmlight("1,2 1:1\n" + text)
    dataset = read_svmlight(path, first_index=0, dtype=np.float64)
    assert as_rows(dataset) == expected


def test_equals_scikit_learn_over_many_pieces(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.random((500, 40)) * (rng.random((500, 40)) < 0.2)
    y = rng.integers(0, 30, 500)
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=False)
    theirs, labels = load_svmlight_file(str(tmp_path / "rows.svm"), n_features=40)
    monkeypatch.setattr("dsnc.data.files._CHUNK", 1000)
    ours = read_svmlight(tmp_path / "rows.svm", n_features=40, dtype=np.float64)
    assert np.array_equal(ours.X.toarray(), theirs.toarray())
    assert np.array_equal(ours.labels, labels)
    assert ours.X.indices.dtype == ours.X.indptr.dtype == np.int32


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_compression_is_seen_in_the_bytes(write, compress):
    dataset = read_svmlight(write(compress(ROWS.encode()), "no-ending"))
    assert as_rows(dataset) == [([3], {0: 0.5, 6: 1.0}), ([-1], {1: np.float32(1e-3)}), ([3], {})]
    assert dataset.classes.tolist() == [-1, 3]
    assert dataset.X.dtype == np.float32


@pytest.mark.parametrize(
    ("text", "given", "found", "columns"),
    [
        ("1 1:1 3:1\n", None, 1, [0, 2]),
        ("1 1:1 3:1\n", 0, 0, [1, 3]),
        ("1 1:1 3:1\n", 1, 1, [0, 2]),
        ("1 0:1 3:1\n", None, 0, [0, 3]),
        ("1\n", None, 1, []),
    ],
)
def test_first_index(write, text, given, found, columns):
    dataset = read_svmlight(write(text), first_index=given)
    assert dataset.X.indices.tolist() == columns
    assert dataset.first_index == dataset.take([0]).first_index == found


def test_xc_header_fixes_size_and_counts_empty_lines_as_rows(write):
    dataset = read_svmlight(write("4 5 3\n0,2 1:0.5\n 2:1\n\n1 4:2\n"))
    assert dataset.X.shape == (4, 5)
    assert dataset.classes.tolist() == [0, 1, 2]
    assert dataset.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0], [0, 1, 0]]
    assert dataset.X.toarray()[:, 1].tolist() == [0.5, 0, 0, 0]
    assert "Extreme Classification" in dataset.source


def test_lshtc_labels_with_comma_and_blank(write):
    dataset = read_svmlight(write("33, 101 5:2 9:1\n7 5:1\n"))
    assert dataset.classes.tolist() == [7, 33, 101]
    assert dataset.Y.toarray().tolist() == [[0, 1, 1], [1, 0, 0]]


def test_query_numbers_are_passed_over(write):
    assert as_rows(read_svmlight(write("1 qid:4 1:2\n"))) == [([1], {0: 2.0})]


def test_labels_stay_fractions_when_they_are(write):
    assert read_svmlight(write("1.5 1:1\n2 1:1\n")).classes.tolist() == [1.5, 2.0]


def test_given_classes_keep_their_numbers(write):
    dataset = read_svmlight(write("7 1:1\n5 1:1\n"), classes=[7, 6, 5])
    assert dataset.y.tolist() == [0, 2]


BAD = {
    "1 a:2": (1, "index is not a whole number: 'a:2'"),
    "1 2:x": (1, "value is not a finite number: '2:x'"),
    "1 2:nan": (1, "value is not a finite number: '2:nan'"),
    "1 2:1e999": (1, "value is not a finite number"),
    "1 2:1e39": (1, "value is too large for float32: '2:1e39'"),
    "1 1.5:2": (1, "index is not a whole number"),
    "1 -4:2": (1, "index is negative: '-4:2'"),
    "1 99999999999:2": (1, "index is too large"),
    "1 5:1 4:1": (1, "index does not ascend (it follows 5): '4:1'"),
    "1 5:1 5:1": (1, "index does not ascend"),
    "1 2:3:4 5": (1, "is not an index:value pair: '2:3:4'"),
    "1 2: 3": (1, "value is not a finite number: '2:'"),
    "1 :3": (1, "index is not a whole number: ':3'"),
    "1 2 3:4": (1, "is a number without an index: '2'"),
    "1 3:4 2": (1, "is not an index:value pair: '2'"),
    "cat 3:4": (1, "label is not a number: 'cat'"),
    "1,,2 3:4": (1, "label is not a number"),
    "1, 3:4": (1, "label is not a number"),
    "1 3:4,5:6": (1, "is not an index:value pair"),
    "1 1:1\n2 1:1\n\n# fine\n3 1:oops\n4 1:1": (5, "value is not a finite number: '1:oops'"),
    "1 1:1\n2 1:\xe9\n": (2, "value is not a finite number"),
    "1 1:1\n:5\n": (2, "index is not a whole number"),
}


@pytest.mark.parametrize("text", BAD)
@pytest.mark.parametrize("chunk", [1 << 20, 4])
def test_a_bad_line_is_named(write, monkeypatch, text, chunk):
    monkeypatch.setattr("dsnc.data.files._CHUNK", chunk)
    line, problem = BAD[text]
    path = write(text)
    with pytest.raises(DataFileError) as caught:
        read_svmlight(path)
    assert str(caught.value).startswith(f"{path}, line {line}: {problem}")
    assert "Expected 'label index:value" in str(caught.value)
    assert caught.value.line == line


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("svm") / "rows"
    path.write_bytes(b"1 1:2\n" + content)
    try:
        assert len(read_svmlight(path)) >= 1
    except DataFileError as error:
        assert str(path) in str(error)


@given(st.text(alphabet="01 :,.-e\n#", max_size=30))
def test_what_is_accepted_is_what_the_naive_twin_reads(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("svm") / "rows"
    path.write_text(text, newline="")
    try:
        dataset = read_svmlight(path, first_index=0, multilabel=True, dtype=np.float64)
    except DataFileError:
        return
    expected = [(sorted(set(labels)), pairs) for labels, pairs in oracles.svmlight(text)]
    assert as_rows(dataset) == expected


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("keep", [0.5, 0.95])
def test_a_cut_archive_is_named(write, compress, keep):
    lines = "".join(f"{i} 1:{i}\n" for i in np.random.default_rng(0).integers(0, 9**9, 2000))
    packed = compress(lines.encode())
    path = write(packed[: int(keep * len(packed))])
    with pytest.raises(DataFileError, match=r"rows.svm: is damaged or cut off"):
        read_svmlight(path)


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n"])
def test_an_empty_file_is_named(write, content):
    with pytest.raises(DataFileError, match="is empty"):
        read_svmlight(write(content))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 2:1\n1 0:1\n", {"first_index": 1}, "line 2: uses index 0.*first_index=0"),
        ("1 0:1\n", {"n_features": 0}, "uses index 0. Expected 0 features"),
        ("1 1:1\n1 9:1\n", {"n_features": 5}, "line 2: uses index 9. Expected 5 features"),
        ("1 1:1\n\n9 1:1\n", {"classes": [1, 2]}, "line 3: has an unknown label: '9'"),
        ("1 1:1\n1,9 1:1\n", {"classes": [1, 2]}, "line 2: has an unknown label: '9'"),
        ("1 1:1\n#\n1,2 1:1\n", {"multilabel": False}, "line 3: has 2 labels"),
        ("3 5 2\n1 1:1\n", {}, "has 1 rows, but its first line says 3"),
        ("1 5 2\n1 7:1\n", {}, "uses index 7. Expected 5 features"),
        ("1 5 2\n4 1:1\n", {}, "line 2: has an unknown label: '4'"),
        ("1 5 90000000000000\n4 1:1\n", {}, "has class numbers up to 89,999,999,999,999"),
        ("1 90000000000000 5\n4 1:1\n", {}, "line 1: its first line says 90,000,000,000,000"),
        ("3 5 2\n\n\n4 1:1\n", {}, "line 4: has an unknown label: '4'"),
    ],
)
def test_what_does_not_fit_is_named(write, text, options, message):
    with pytest.raises(DataFileError, match=message):
        read_svmlight(write(text), **options)


@pytest.mark.parametrize("digits", [5_000, 50_000])
def test_numbers_of_many_digits_are_refused_at_once(write, digits):
    """A pattern that tried all ways to cut them took seconds; Python refuses to convert them."""
    for text in ("1 {}x:1", "1 {}:1", "{}x 1:1", "{} {} {}\n1 1:1"):
        with pytest.raises(DataFileError, match="line 1: "):
            read_svmlight(write(text.replace("{}", "9" * digits)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataFileError, match="cannot be opened"):
        read_svmlight(tmp_path / "nothing.svm")


def test_a_first_index_is_0_or_1(write):
    with pytest.raises(InputError, match="first_index=2 must be a whole number from 0 to 1"):
        read_svmlight(write(ROWS), first_index=2)


# Lines that come one by one are read as the file of them would be.

ROW = st.dictionaries(st.integers(1, 9), st.integers(-5, 5), max_size=5)


@given(rows=st.lists(st.tuples(ROW, st.booleans()), min_size=1), first=st.integers(0, 1))
def test_lines_against_a_loop(rows, first):
    lines, expected = [], np.zeros((len(rows), 10), np.float32)
    for number, (row, labelled) in enumerate(rows):
        pairs = [f"{index}:{row[index]}" for index in sorted(row)]
        lines.append(" ".join(["3", *pairs] if labelled else pairs).encode())
        for index, value in row.items():
            expected[number, index - first] = value
    X = parse_lines("-", lines, 1, first)
    X.check_format(full_check=True)
    width = X.shape[1]
    assert np.array_equal(X.toarray(), expected[:, :width])
    assert not expected[:, width:].any()


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"0:1", "line 8: uses index 0"), (b"2:1 2:1", "line 8: index does not"), (b"a", "line 8")],
)
def test_bad_lines_are_named(line, message):
    with pytest.raises(DataFileError, match=message):
        parse_lines("-", [b"1:1", line, b"3:1"], 7, 1)


@pytest.mark.parametrize(
    ("text", "starts", "size"),
    [(b"12 ", [3], 1), (b"12 ", [-1], 1), (b"12", [0], 1), (b"12 ", [0], 0)],
)
def test_no_number_is_read_outside_of_the_text(text, starts, size):
    with pytest.raises(ValueError, match=r"text|starts"):
        read_numbers(np.frombuffer(text, np.uint8), np.array(starts, np.int64), np.empty(size))
