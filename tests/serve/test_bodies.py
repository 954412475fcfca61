"""Bodies are read as they were written, or refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dsnc
from dsnc.serve.bodies import Question, Rows, parse
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.options import PLAIN, Options

LIMITS = Limits(max_rows=100)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-(2**40), 2**40)
TEXTS = st.lists(st.text() | st.just('"inputs": [['), max_size=6)
DENSE = st.lists(st.lists(NUMBERS, min_size=3, max_size=3), max_size=6)
INDICES = st.lists(st.tuples(st.integers(0, 2), NUMBERS), max_size=4)
SPARSE = st.lists(
    INDICES.map(lambda pairs: {"indices": [i for i, _ in pairs], "values": [v for _, v in pairs]}),
    max_size=4,
)


LETTERS = dsnc.DSNCClassifier(n_bits=8, max_epochs=1, text={"characters": None, "words": (1, 1)})
MODEL = LETTERS.fit(["a", "b", "c"] * 4, [0, 1, 2] * 4)  # texts of three features


def gather(limits=LIMITS):
    return Rows(MODEL, limits)


def parsed(body, usual=PLAIN):
    """Return the rows of a body and its options."""
    question = parse(body, Question, usual)
    rows = gather().add_all(question.inputs)
    return rows, {name: getattr(question, name) for name in Question.__struct_fields__[:-1]}


def plain(rows):
    return (
        rows
        if isinstance(rows, list)
        else (rows.toarray() if rows.ndim == 2 and hasattr(rows, "toarray") else rows).tolist()
    )


@given(
    inputs=TEXTS | DENSE | SPARSE,
    top_k=st.integers(1, 2**40) | st.none(),
    last=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
    ascii_=st.booleans(),
)
def test_rows_are_read_as_they_were_written(inputs, top_k, last, indent, ascii_):
    more = {"top_k": top_k}
    whole = {**more, "inputs": inputs} if last else {"inputs": inputs, **more}
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    rows, options = parsed(body)
    assert options["top_k"] == top_k
    if inputs and isinstance(inputs[0], (str, list)):
        lone = str.maketrans(dict.fromkeys(map(chr, range(0xD800, 0xE000)), "\ufffd"))
        assert plain(rows) == [row.translate(lone) if type(row) is str else row for row in inputs]
    elif inputs:
        dense = np.zeros((len(inputs), 3))
        for number, row in enumerate(inputs):
            np.add.at(dense[number], row["indices"], row["values"])
        np.testing.assert_allclose(rows.toarray(), dense, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize(
    ("escaped", "expected"),
    [
        (r"\ud83d\ude42", "🙂"),
        (r"a\ud83d", "a\ufffd"),
        (r"\ude42a", "\ufffda"),
        (r"\ude42\ud83d", "\ufffd\ufffd"),
        (r"\\ud83d \ud83d", "\\ud83d \ufffd"),
        (r"\ud83d\u0061", "\ufffda"),
    ],
)
def test_half_an_emoji_as_in_a_text_that_was_cut(escaped, expected):
    assert parsed(b'{"inputs": ["%s"]}' % escaped.encode())[0] == [expected]
    lines = gather(None)
    lines.add(b'"%s"' % escaped.encode(), 1)
    assert lines.take() == [expected]


@pytest.mark.parametrize(
    "body",
    [
        '{"inputs": [[1, 2, 3] [1, 2, 3]]}',
        '{"inputs": [[1, 2, 3],]}',
        '{"inputs": [,]}',
        '{"inputs": [[1, 2, 3]',
        '{"inputs": [[1, 2, 3]}',
        '{"inputs": [[1, 2, 3]]',
        '{"inputs": [[1, 2, 3]]}}',
        '{"inputs": [',
        '{"inputs": [[1, 2, -]]}',
        '["inputs": [[1, 2, 3]]}',
        '{"a": {"inputs": [[1, 2, 3]]}}',
    ],
)
def test_what_is_no_json_is_refused(body):
    with pytest.raises(Refused) as refused:
        parsed(body.encode())
    assert refused.value.status == 400


def test_the_body_has_the_last_word():
    body = b'\xef\xbb\xbf{"inputs": [], "top_k": 2}'
    assert parsed(body, Options(top_k=5, explain=True))[1]["top_k"] == 2
    assert parsed(body, Options(top_k=5, explain=True))[1]["explain"] is True


@pytest.mark.parametrize("row", ["a text", [1, 2, 3], {"indices": [0], "values": [1]}])
def test_no_more_rows_than_allowed_however_they_come(row):
    assert len(plain(parsed(json.dumps({"inputs": [row] * 100}).encode())[0])) == 100
    with pytest.raises(Refused, match="more than 100 rows"):
        parsed(json.dumps({"inputs": [row] * 101}).encode())
    lines = gather()
    with pytest.raises(Refused, match="more than 100 rows"):
        for number in range(101):
            lines.add(json.dumps(row).encode(), number + 1)
    lines = gather(None)  # as those of a stream
    for number in range(101):
        lines.add(json.dumps(row).encode(), number + 1)
    assert lines.n == 101


def test_rows_are_gathered_again_after_they_were_taken():
    rows = gather()
    for _ in range(2):
        rows.add(b'{"indices": [2, 0], "values": [1, 2]}')
        rows.add(b'{"indices": [], "values": []}')
        np.testing.assert_array_equal(rows.take().toarray(), [[2, 0, 1], [0, 0, 0]])
    assert rows.n == 0


@pytest.mark.parametrize(
    "bad",
    [
        b'{"indices": [0], "values": ["x"]}',
        b'{"indices": [7], "values": [1]}',
        b'{"indices": [0, 1], "values": [1]}',
        b'{"indices": [0], "values": [1e39]}',
        b'{"indices": [0], "values": [-1e400]}',
        b'{"indices": [18446744073709551616], "values": [1]}',
        b'{"values": [1]}',
    ],
)
def test_a_row_that_is_refused_leaves_the_rows_before_it(bad):
    rows = gather(None)
    rows.add(b'{"indices": [1], "values": [5]}', 1)
    with pytest.raises(Refused, match="Line 2"):
        rows.add(bad, 2)
    np.testing.assert_array_equal(rows.take().toarray(), [[0, 5, 0]])
