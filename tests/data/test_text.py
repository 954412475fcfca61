import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data.text import read_csv, read_fasttext, read_jsonl, read_tsv
from dsnc.errors import DataFileError, InputError

TITLES = [
    ("nurse", "triage nurse"),
    ("driver", 'truck "18" driver, night'),
    ("nurse", "Schwester é"),
]


@pytest.fixture
def write(tmp_path):
    def write(content, name="titles.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def pairs(dataset):
    return list(zip(dataset.labels.tolist(), dataset.X.tolist(), strict=True))


def tsv(rows):
    return "".join("\t".join(row) + "\n" for row in rows)


def test_tsv_with_header(write):
    dataset = read_tsv(write("label\ttext\n" + tsv(TITLES)))
    assert pairs(dataset) == TITLES
    assert dataset.is_text
    assert dataset.name == "titles"
    assert "tab, header, label 'label', text 'text', 3 rows" in dataset.source


def test_columns_may_stand_in_any_order_among_others(write):
    rows = [("id", "Title", "n", "CLASS"), ("1", "a b", "x", "k"), ("2", "c", "y", "l")]
    assert pairs(read_tsv(write(tsv(rows)))) == [("k", "a b"), ("l", "c")]
    dataset = read_tsv(write(tsv(rows)), label_column="n", text_column=0)
    assert pairs(dataset) == [("x", "1"), ("y", "2")]
    dataset = read_tsv(write(tsv(rows[1:])), label_column=-1, text_column=1)
    assert pairs(dataset) == [("k", "a b"), ("l", "c")]


@pytest.mark.parametrize("swap", [False, True])
def test_without_header_the_column_with_fewer_values_is_the_label(write, swap):
    rows = [row[::-1] if swap else row for row in TITLES]
    dataset = read_tsv(write(tsv(rows)))
    assert pairs(dataset) == TITLES
    assert f"no header, label '{int(swap)}', text '{1 - swap}'" in dataset.source


def test_every_row_of_a_long_file_arrives(write):
    rows = [(f"c{i % 7}", f"text {i}") for i in range(2500)]
    assert pairs(read_tsv(write(tsv(rows)))) == rows


def test_a_header_can_be_denied(write):
    dataset = read_tsv(write("label\ttext\nlabel\tother\n"), header=False)
    assert pairs(dataset) == [("label", "text"), ("label", "other")]


def test_csv_quotes_and_lines_inside_them(write):
    content = 'text,label\n"one, two",a\n"he said ""hi""\nand left",b\n\nthree,a\n'
    assert pairs(read_csv(write(content))) == [
        ("a", "one, two"),
        ("b", 'he said "hi"\nand left'),
        ("a", "three"),
    ]


def test_windows_line_ends_and_byte_order_mark(write):
    content = "\ufefflabel\ttext\r\na\tone\r\nb\ttwo\r\n".encode()
    assert pairs(read_tsv(write(content))) == [("a", "one"), ("b", "two")]
    content = "\ufefflabel,text\r\na,one\r\nb,two\r\n".encode()
    assert pairs(read_csv(write(content))) == [("a", "one"), ("b", "two")]


CELLS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(CELLS.filter(str.strip), CELLS), min_size=1))
def test_jsonl_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("text") / "rows.jsonl"
    lines = [json.dumps({"label": a, "text": b}, ensure_ascii=False) + "\n" for a, b in rows]
    path.write_text("".join(lines), encoding="utf-8", newline="")
    # The separator of fields is no letter of a text.
    expected = [(label.strip(), text.replace("\x1f", " ")) for label, text in rows]
    assert pairs(read_jsonl(path)) == expected


def test_jsonl_labels_may_be_numbers_or_lists(write):
    content = '{"target": 3, "sentence": "a"}\n\n{"target": 1, "sentence": "b"}\n'
    assert pairs(read_jsonl(write(content))) == [(3, "a"), (1, "b")]
    dataset = read_jsonl(
        write('{"labels": ["p", "q"], "text": "a"}\n{"labels": [], "text": "b"}\n')
    )
    assert dataset.classes.tolist() == ["p", "q"]
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 0]]


def test_fasttext(write):
    dataset = read_fasttext(write("__label__a  one two\n\n__label__b three\n"))
    assert pairs(dataset) == [("a", "one two"), ("b", "three")]
    dataset = read_fasttext(write("__label__a __label__b one\n__label__b two\n"))
    assert dataset.Y.toarray().tolist() == [[1, 1], [0, 1]]
    assert dataset.X.tolist() == ["one", "two"]
    assert pairs(read_fasttext(write("#a one\n"), prefix="#")) == [("a", "one")]


def test_given_classes_and_compression(write):
    dataset = read_tsv(write(gzip.compress(b"b\tone\nb\ttwo\n"), "t.tsv.gz"), classes=["b", "a"])
    assert dataset.y.tolist() == [0, 0]
    assert dataset.classes.tolist() == ["b", "a"]


def test_another_encoding(write):
    dataset = read_tsv(write("a\tschön\na\tgut\n".encode("latin-1")), encoding="latin-1")
    assert dataset.X.tolist() == ["schön", "gut"]


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_tsv, "label\ttext\na\tb\nc\n", r"line 3: has 1 columns: 'c'. Expected 2"),
        (read_tsv, "label\ttext\na\tb\tc\n", r"line 2: has 3 columns: 'a\\tb\\tc'. Expected 2"),
        (read_tsv, "", "is empty"),
        (read_tsv, "label\ttext\n", "is empty"),
        (
            read_tsv,
            "a\tb\tc\n",
            "line 1: has 3 columns without names, and it is not clear",
        ),
        (read_tsv, "id\tlabel\n1\ta\n", r"has columns \['id', 'label'\], and it is not clear"),
        (read_tsv, "just text\n", "has 1 columns without names"),
        (read_csv, 'label,text\na,"open\nb,c\n', "line 2: cannot be split into columns"),
        (read_csv, 'label,text\na,b\n"x"y,c\n', "line 3: cannot be split into columns"),
        (read_csv, 'label,text\n"a\nb",c\nd\n', "line 4: has 1 columns"),
        (read_jsonl, '{"label": 1, "text"\n', "line 1: is not JSON"),
        (read_jsonl, "[1]\n", "line 1: is not a JSON object"),
        (read_jsonl, '"a"\n', "line 1: is not a JSON object"),
        (read_jsonl, '{"label": {}, "text": "a"}\n', "line 1: has a label of the wrong type"),
        (read_jsonl, '{"label": [{}], "text": "a"}\n', "line 1: has a label of the wrong type"),
        (read_jsonl, '{"label": 1, "text": 5}\n', "line 1: has a value that is not a text.*'text'"),
        (read_jsonl, '{"label": 1, "text": []}\n', "line 1: has a value that is not a text"),
        (read_jsonl, '{"label": 1, "text": "a"}\n{"label": "b", "text": "c"}\n', "mixes types"),
        (read_jsonl, "\n", "is empty"),
        (read_fasttext, "__label__a x\nno label here\n", "line 2: has no label: 'no label here'"),
        (read_fasttext, "", "is empty"),
        (read_tsv, "a\tgut\nb\tsch\udcf6n\n", r"line 2: is not utf-8 .*sch\\xf6n"),
    ],
)
def test_a_bad_file_is_named(write, read, content, message):
    with pytest.raises(DataFileError, match=message):
        read(write(content.encode(errors="surrogateescape")))


@pytest.mark.parametrize("read", [read_tsv, read_csv])
def test_an_unknown_label_is_named_with_its_line(write, read):
    delimiter = "\t" if read is read_tsv else ","
    lines = ["label,text", "a,one", "", "b,two", "z,three"]
    path = write("\n".join(lines).replace(",", delimiter))
    with pytest.raises(
        DataFileError, match="line 5: has an unknown label: 'z'. Expected one of the 2"
    ):
        read(path, classes=np.array(["a", "b"]))


def test_an_unknown_label_in_a_set_is_named_with_its_line(write):
    path = write("__label__a one\n__label__a __label__z two\n")
    with pytest.raises(DataFileError, match="line 2: has an unknown label: 'z'"):
        read_fasttext(path, classes=["a", "b"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label_column": 5}, "label_column=5: .* has 2 columns"),
        ({"text_column": "body"}, r"text_column='body': .* has columns \['label', 'text'\]"),
    ],
)
def test_a_missing_column_is_named(write, options, message):
    with pytest.raises(InputError, match=message):
        read_tsv(write("label\ttext\na\tb\n"), **options)
