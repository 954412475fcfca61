import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data import load_dataset
from dsnc.data.columns import Columns, Roles, choose_columns, columns_for_rows
from dsnc.data.readers import READERS, rows_reader
from dsnc.data.stream import NO_NUMBER, stream_table
from dsnc.data.tables import TableOptions, open_table
from dsnc.errors import DataFileError, DsncWarning, InputError


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


FLOWERS = "id;length;width;color;species\n1;1,5;2;red;a\n2;3;4,25;blue;b\n3;5;6;red;a\n"


def test_numbers_with_decimal_commas_are_rows(write):
    with pytest.warns(
        DsncWarning,
        match="'color' left out, since the values are not numbers; category_column='color'",
    ):
        data = load_dataset(write(FLOWERS), label_column="species")
    assert data.X.tolist() == [[1.5, 2], [3, 4.25], [5, 6]]
    assert data.X.dtype == np.float32
    assert data.labels.tolist() == ["a", "b", "a"]
    assert (data.ids.tolist(), data.lines.tolist()) == (["1", "2", "3"], [2, 3, 4])
    assert data.columns.numbers == ("length", "width")
    assert "semicolon, header, label 'species', 2 numbers, not used: 'color', 3 rows" in data.source


def test_categories_become_a_column_for_each_value(write):
    data = load_dataset(write(FLOWERS), label_column="species", category_column="color")
    assert data.X.tolist() == [[1.5, 2, 0, 1], [3, 4.25, 1, 0], [5, 6, 0, 1]]
    assert data.columns.categories == {"color": ["blue", "red"]}


GAPS = "x,y,label\n1,2,a\n,4,b\n3,NA,a\n5,6,b\n"


def test_missing_numbers_are_refused_with_their_lines(write):
    with pytest.raises(
        DataFileError, match=r"has 2 rows with missing numbers \(lines 3, 4\).*missing='zero'"
    ):
        load_dataset(write(GAPS))


@pytest.mark.parametrize(
    ("missing", "rows"),
    [
        ("zero", [[1, 2], [0, 4], [3, 0], [5, 6]]),
        ("mean", [[1, 2], [3, 4], [3, 4], [5, 6]]),
    ],
)
def test_missing_numbers_may_be_filled_and_so_they_are_in_prediction(write, missing, rows):
    data = load_dataset(write(GAPS), missing=missing)
    assert data.X.tolist() == rows
    again = Columns.from_plain(data.columns.plain())
    table = open_table(write("y,x\n,9\n", "b.csv"), "csv", known=again.names)
    (block,) = stream_table(table, choose_columns(table, Roles(), again))
    assert block.X.tolist() == [[9, 0 if missing == "zero" else 4]]


def test_test_rows_are_filled_with_the_means_of_training_rows(write):
    columns = load_dataset(write(GAPS), missing="mean").columns
    other = load_dataset(write("x,y,label\n100,,a\n200,300,b\n", "b.csv"), columns=columns)
    assert other.X.tolist() == [[100, 4], [200, 300]]
    assert other.columns.fill == columns.fill


def test_all_rows_tell_which_categories_there_are(write):
    rows = "".join(f"{i},c{i // 1500},k{i % 2}\n" for i in range(3000))
    data = load_dataset(write(f"n,color,label\n{rows}"), category_column="color")
    assert data.columns.categories == {"color": ["c0", "c1"]}
    assert data.X[2999].tolist() == [2999, 0, 1]
    many = "".join(f"{i},v{i},k{i % 2}\n" for i in range(1001))
    with pytest.raises(InputError, match="category_column='color' has 1,001 different values"):
        load_dataset(write(f"n,color,label\n{many}"), category_column="color")


def test_means_of_other_rows_leave_categories_as_they_were(write):
    columns = load_dataset(write("n,c,label\n1,x,a\n2,y,b\n"), category_column="c").columns
    path = write("n,c,label\n1,z,a\n,y,b\n", "b.csv")
    other = load_dataset(path, columns=columns, missing="mean")
    assert other.X.tolist() == [[1, 0, 0], [1, 0, 1]]


def test_rows_with_missing_numbers_may_be_dropped(write):
    with pytest.warns(DsncWarning, match=r"left out 2 rows with missing numbers \(lines 3, 4\)"):
        data = load_dataset(write(GAPS), missing="drop")
    assert data.X.tolist() == [[1, 2], [5, 6]]
    assert data.lines.tolist() == [2, 5]


def test_several_texts_are_joined(write):
    path = write("label,title,body\na,one,two\nb,three,\n")
    assert load_dataset(path, text_column=["title", "body"]).X.tolist() == ["one two", "three "]


def test_numbers_and_categories_beside_texts_become_words(write):
    rows = "".join(f"text {i},{i},{'red' if i % 2 else 'dark blue'},c{i % 3}\n" for i in range(32))
    named = {"number_column": "n", "category_column": "color"}
    path = write(f"text,n,color,label\n{rows},,,c0\n")
    data = load_dataset(path, **named, missing="mean")
    assert data.X[0] == "text 0\x1fnq0 colordarkblue"
    assert data.X[31] == "text 31\x1fnq15 colorred"
    assert data.X[32] == "\x1fnq8"  # a missing category has no word
    assert len(data.columns.edges[0]) == 15
    again = Columns.from_plain(data.columns.plain())
    table = open_table(write("color,n,text\nred,99,x\n", "b.csv"), "csv", known=again.names)
    (block,) = stream_table(table, choose_columns(table, Roles(), again))
    assert block.X == ["x\x1fnq15 colorred"]


@pytest.mark.parametrize("header", ["Description,Source,n\n", ""])
def test_prose_and_names_that_repeat_are_text_and_label(write, header):
    rows = "".join(f"a text of row {i},group {i % 3},{i}\n" for i in range(12))
    columns = load_dataset(write(header + rows)).columns
    expected = (("Description",), "Source") if header else (("0",), "1")
    assert (columns.text, columns.label) == expected


def test_several_texts_may_keep_to_themselves(write):
    path = write("label,title,body\na,one,two\nb,three,\n")
    data = load_dataset(path, text_column=["title", "body"], separate_texts=True)
    assert data.X.tolist() == ["one\x1ftwo", "three\x1f"]
    assert "text 'title' | 'body'" in data.source
    table = open_table(path, "csv", known=["title"])
    (block,) = stream_table(table, choose_columns(table, Roles(), data.columns))
    assert block.X == data.X.tolist()


def test_labels_are_stripped_and_rows_without_one_left_out(write):
    path = write("label,text\n a ,one\n,two\na,three\n  ,four\n")
    with pytest.warns(DsncWarning, match=r"left out 2 rows without a label \(lines 3, 5\)"):
        data = load_dataset(path)
    assert data.labels.tolist() == ["a", "a"]


def test_a_model_finds_its_columns_by_name_in_any_order(write):
    columns = load_dataset(write("text,label,n\none,a,1\ntwo,b,2\n")).columns
    table = open_table(write("n;TEXT;other\n1;x;y\n", "b.csv"), "csv", known=columns.names)
    with pytest.raises(InputError, match=r"columns \['n', 'other'\], and the model reads 'text'"):
        broken = open_table(write("n,other\n1,x\n", "c.csv"), "csv")
        choose_columns(broken, Roles(), columns)
    chosen = choose_columns(table, Roles(), columns)
    (block,) = stream_table(table, chosen)
    assert block.X == ["x"]


BARE = "nurse\tnight nurse\ndriver\tbus driver\nnurse\tnurse in 1\ndriver\ttruck 1\n"


def test_a_table_without_names_is_found_again_by_places(write):
    first = load_dataset(write(BARE, "a.tsv"))
    again = load_dataset(write(BARE, "b.tsv"), columns=Columns.from_plain(first.columns.plain()))
    assert (again.columns.label, again.columns.text) == ("0", ("1",))
    assert again.labels.tolist() == first.labels.tolist()
    headed = load_dataset(write("text,label\none,a\n"), columns=first.columns)
    assert (headed.X.tolist(), headed.labels.tolist()) == (["one"], ["a"])


@pytest.mark.parametrize("text", [("1",), ("Title",)])
def test_a_column_alone_is_the_one_text_of_a_model(write, text):
    table = open_table(write("night nurse\nbus driver\n"), "csv", TableOptions(header=False))
    chosen = choose_columns(table, Roles(), Columns(label="0", text=text))
    assert (chosen.label, chosen.text) == (None, ("0",))
    beside = Columns(text=text, numbers=("n",))
    with pytest.raises(InputError, match="has 1 columns without names, and the model reads"):
        choose_columns(table, Roles(), beside)


def test_a_model_with_a_name_is_told_how_to_read_a_table_without_names(write):
    path, known = write(BARE, "a.tsv"), Columns(label="Category", text=("Title",))
    with pytest.raises(InputError, match="model reads 'Title'.*text_column=.*header=False"):
        load_dataset(path, columns=known)
    data = load_dataset(path, columns=known, label_column=0, text_column=1)
    assert data.X[0] == "night nurse" and data.labels[0] == "nurse"
    with pytest.raises(InputError, match=r"text_column=\['1'\].* 'a', 'b'; name as many"):
        known = Columns(label="Category", text=("a", "b"), separate=True)
        load_dataset(path, columns=known, label_column=0, text_column=1)


def test_in_doubt_the_first_row_is_one_where_the_model_has_learned_without_names(write):
    path = write("nurse\tnew nurse\nminer\tdeep miner\nminer\told miner\n", "new.tsv")
    with pytest.warns(DsncWarning, match="is read as column names"):
        assert (
            load_dataset(path, label_column="0", text_column="1").labels.tolist() == ["miner"] * 2
        )
    with pytest.warns(DsncWarning, match="is read as data"):
        data = load_dataset(path, columns=Columns(label="0", text=("1",)))
    assert data.labels.tolist() == ["nurse", "miner", "miner"]


def test_numbers_of_columns_are_no_header(write):
    table = open_table(write("1\tone\n0\ttwo\n", "a.tsv"), "tsv", known=["0", "1"])
    assert not table.has_names
    assert not rows_reader(write("a | 1 b\n", "a.txt"), Columns(label="0", text=("1",))).is_table


def test_a_file_of_any_name_is_a_table_if_it_has_the_columns(write):
    columns = Columns(text=("What",), numbers=("n",))
    assert rows_reader(write("n;what\n1;x\n", "a.txt"), columns) is READERS["csv"]
    assert rows_reader(write("n\twhat\n1\tx\n", "b.txt"), columns) is READERS["tsv"]
    assert not rows_reader(write("what of it\n", "c.txt"), columns).is_table
    assert not rows_reader("nowhere.txt", columns).is_table


def test_a_model_that_knows_no_means_cannot_fill_with_them(write):
    table = open_table(write("x,label\n,a\n"), "csv", known=["x"])
    chosen = choose_columns(table, Roles(missing="mean"), Columns(numbers=("x",)))
    with pytest.raises(InputError, match="knows no means; train it with missing='mean'"):
        next(stream_table(table, chosen))


def test_a_row_that_cannot_be_read_stops_or_is_skipped(write):
    path = write("x,y\n1,2\n3,four\n5,6\n7\n")
    table = open_table(path, "csv")
    columns = Columns(numbers=("x", "y"))
    with pytest.raises(
        DataFileError, match="line 3: has a value that is not a number in column 'y'"
    ):
        list(stream_table(table, columns))
    (block,) = stream_table(open_table(path, "csv"), columns, skip_errors=True)
    assert block.X.tolist() == [[1, 2], [0, 0], [5, 6], [0, 0]]
    assert [bool(error) for error in block.errors] == [False, True, False, True]


def test_a_model_without_columns_takes_its_text_or_all_numbers(write):
    table = open_table(write("id,title,n\n1,x,2\n"), "csv", known=["title"])
    assert columns_for_rows(table, Roles(), None).text == ("title",)
    assert columns_for_rows(table, Roles(), 1).numbers == ("n",)
    with pytest.raises(InputError, match="has 1 features; the model was trained on 3"):
        columns_for_rows(table, Roles(), 3)
    table = open_table(write("a,b\nx y,z w\nx z,q\n"), "csv", known=["a"])
    with pytest.raises(InputError, match="which of the columns .* holds the texts. .*text_column="):
        columns_for_rows(table, Roles(), None)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {**Columns().plain(), "text": [3]},
        {**Columns().plain(), "fill": ["x"]},
        {**Columns().plain(), "more": 1},
        {**Columns().plain(), "text": 5},
        {**Columns().plain(), "text": "abc"},
        {**Columns().plain(), "categories": [1]},
        {**Columns().plain(), "edges": [3]},
        {**Columns().plain(), "fill": [1.0]},
        {**Columns().plain(), "numbers": ["a"], "edges": [[1.0], [2.0]]},
        {**Columns().plain(), "categories": {"a": [None]}},
    ],
)
def test_columns_of_a_hostile_file_are_refused(plain):
    with pytest.raises(InputError, match="data: columns"):
        Columns.from_plain(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "guess"}, "missing='guess' must be one of"),
        ({"label_column": "lable"}, "label_column='lable': .*Did you mean 'label'"),
        ({"label_column": 0, "text_column": 0}, "label_column and text_column both name 'label'"),
    ],
)
def test_roles_that_cannot_be(write, options, message):
    with pytest.raises(InputError, match=message):
        load_dataset(write("label,text\na,b\n"), **options)


BESIDE = "text,n,label\none,1,a\ntwo,NA,b\nthree,3,a\nfour,,b\nfive,5,b\n"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_missing_numbers_beside_texts_are_refused_filled_or_dropped(write, kind):
    if kind == "jsonl":
        names, *rows = [line.split(",") for line in BESIDE.splitlines()]
        objects = (dict(zip(names, row, strict=True)) for row in rows)
        path = write("".join(json.dumps(one) + "\n" for one in objects), "a.jsonl")
    else:
        path = write(BESIDE)
    with pytest.raises(DataFileError, match="has 2 rows with missing numbers"):
        load_dataset(path, number_column="n")
    with pytest.warns(DsncWarning, match="left out 2 rows with missing numbers"):
        data = load_dataset(path, number_column="n", missing="drop")
    assert [text.split()[0] for text in data.X] == ["one", "three", "five"]
    assert data.labels.tolist() == ["a", "a", "b"]
    data = load_dataset(path, number_column="n", missing="mean")
    assert data.columns.fill == [3.0]
    assert data.X[1].split()[1] == data.X[2].split()[1]
    data = load_dataset(path, number_column="n", missing="zero")
    assert data.X[1] == "two\x1fnq0"


@pytest.mark.parametrize("row", ["six,hello,a\n", 'six,"1,5",a\n', "six,inf,a\n"])
def test_an_unreadable_number_beside_a_text_is_refused(write, row):
    with pytest.raises(DataFileError, match="line 2: has a value that is not a number.*'n'"):
        load_dataset(write(f"text,n,label\n{row}one,1,b\n"), number_column="n")
    columns = load_dataset(write("text,n,label\none,1,b\n"), number_column="n").columns
    table = open_table(write(f"text,n,label\n{row}", "b.csv"), "csv", known=["text"])
    with pytest.raises(DataFileError, match="line 2: has a value that is not a number"):
        list(stream_table(table, columns))


@pytest.mark.parametrize("text", [True, False], ids=["beside a text", "alone"])
def test_a_row_that_is_to_be_dropped_keeps_its_place_in_prediction(write, text):
    columns = Columns(text=("text",) if text else (), numbers=("n",), edges=[[2.0]])
    path = write("text,n\none,1\ntwo,\nthree,3\n")
    with pytest.raises(DataFileError, match=r"has 1 row with missing numbers \(line 3\)"):
        list(stream_table(open_table(path, "csv"), columns))
    (block,) = stream_table(open_table(path, "csv"), replace(columns, missing="drop"))
    assert block.errors == ["", NO_NUMBER, ""]
    assert len(block.X) == 3


@given(
    st.lists(st.tuples(st.sampled_from(["", "k0", "k1"]), st.booleans()), min_size=1, max_size=12)
)
def test_id_and_label_of_each_row_are_those_of_the_file(tmp_path_factory, rows):
    """Rows without a label or a number are left out; the others keep what is theirs."""
    lines = [f"{i},{'' if gap else i},{k}" for i, (k, gap) in enumerate(rows)]
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    path.write_text("\n".join(["id,n,label", "0,0,k0", *lines]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DsncWarning)
        data = load_dataset(path, missing="drop", number_column="n", label_column="label")
    kept = [i for i, (label, gap) in enumerate(rows) if label and not gap]
    assert data.ids.tolist()[1:] == [str(i) for i in kept]
    assert data.X[1:, 0].tolist() == kept
    assert data.labels.tolist()[1:] == [rows[i][0] for i in kept]
    assert data.lines.tolist()[1:] == [i + 3 for i in kept]


@pytest.mark.parametrize("text", ["Title", "title", 1])
def test_a_name_that_two_columns_have_is_refused_where_it_is_used(write, text):
    path = write("label,Title,Title,note,note\na,one,uno,x,y\nb,two,due,z,w\n")
    with pytest.raises(InputError, match="a.csv: has 2 columns of the name 'Title'; rename"):
        load_dataset(path, text_column=text)
    with pytest.raises(InputError, match="has 2 columns of the name 'Title'"):
        list(stream_table(open_table(path, "csv", known=["label"]), Columns(text=("Title",))))
    assert load_dataset(write("label,text,note,note\na,x y,1,2\n", "b.csv")).X.tolist() == ["x y"]


def test_names_that_differ_in_case_alone_are_told_apart(write):
    path = write("label,Title,title\na,one,uno\nb,two,due\n")
    assert load_dataset(path, text_column="title").X.tolist() == ["uno", "due"]
    assert load_dataset(path, text_column="Title").X.tolist() == ["one", "two"]


def test_large_numbers_keep_their_digits(write):
    path = write("t,x,label\n1700000001.25,0.5,a\n1700000002.5,1.5,b\n")
    data = load_dataset(path, label_column="label", number_column=["t", "x"])
    assert data.X[:, 0].tolist() == [1700000001.25, 1700000002.5]
    (block,) = stream_table(open_table(path, "csv", known=["t"]), data.columns)
    assert block.X.tolist() == data.X.tolist()
    assert load_dataset(write("x,label\n1.5,a\n2.5,b\n", "b.csv")).X.dtype == np.float32


@given(st.permutations(range(5)), st.permutations(range(12)), st.sampled_from(["text", "numbers"]))
def test_the_order_of_columns_and_rows_changes_nothing(tmp_path_factory, places, order, kind):
    """Whatever a file's order, each row is what it was, and so is what is learned from all."""
    header = ["id", "label", "what", "size", "kind"]
    cells = [
        [str(i), f"k{i % 2}", f"a text {i}", "" if i == 7 else str(i * i), "xyz"[i % 3]]
        for i in range(12)
    ]
    roles = {"number_column": "size", "category_column": "kind", "missing": "mean"}
    roles |= {"label_column": "label"} | ({"text_column": "what"} if kind == "text" else {})
    found = []
    for columns, rows in ((range(5), range(12)), (places, order)):
        table = [header, *(cells[row] for row in rows)]
        path = tmp_path_factory.mktemp("order") / "a.csv"
        path.write_text("".join(",".join(row[c] for c in columns) + "\n" for row in table))
        data = load_dataset(path, **roles)
        by_id = dict(zip(data.ids, zip(data.X.tolist(), data.labels, strict=True), strict=True))
        stream = open_table(path, "csv", known=["what"])
        known = found[0][1] if found else data.columns
        (block,) = stream_table(stream, choose_columns(stream, Roles(), known))
        assert np.array_equal(np.array(block.X, dtype=data.X.dtype), data.X)
        found.append((by_id, data.columns))
    assert found[0] == found[1]
