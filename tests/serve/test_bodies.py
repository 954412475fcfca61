"""The parser that goes row by row reads what Python's parser reads."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dsnc
from dsnc.serve import bodies
from dsnc.serve.refusals import Refused

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


def gather():
    return bodies.Rows(MODEL, most=100)


def plain(rows):
    return (
        rows
        if isinstance(rows, list)
        else (rows.toarray() if rows.ndim == 2 and hasattr(rows, "toarray") else rows).tolist()
    )


@given(
    inputs=TEXTS | DENSE | SPARSE,
    more=st.dictionaries(st.sampled_from(["a", "top_k", "z"]), st.text() | NUMBERS),
    last=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
    ascii_=st.booleans(),
)
def test_row_by_row_or_at_once_is_the_same(inputs, more, last, indent, ascii_):
    whole = {**more, "inputs": inputs} if last else {"inputs": inputs, **more}
    text = json.dumps(whole, indent=indent, ensure_ascii=ascii_)
    body, found = text.encode("utf-8", "surrogatepass"), []
    try:
        body.decode()
    except UnicodeDecodeError:
        return
    for limit in (1 << 18, 0):
        rows = gather()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bodies, "_WHOLE", limit)
            rest = bodies.parse_object(body, rows)
        assert rest == more and rows.n == len(inputs)
        found.append(plain(rows.take()))
    assert found[0] == found[1]
    if inputs and isinstance(inputs[0], (str, list)):
        assert found[0] == inputs


@pytest.mark.parametrize("limit", [1 << 18, 0])
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
def test_what_is_no_json_is_refused_either_way(monkeypatch, body, limit):
    monkeypatch.setattr(bodies, "_WHOLE", limit)
    with pytest.raises(Refused) as refused:
        bodies.parse_object(body.encode(), gather())
    assert refused.value.status == 400


@pytest.mark.parametrize("limit", [1 << 18, 0], ids=["at once", "row by row"])
@pytest.mark.parametrize("row", ["a text", [1, 2, 3], {"indices": [0], "values": [1]}])
def test_no_more_rows_than_allowed_however_they_come(monkeypatch, limit, row):
    monkeypatch.setattr(bodies, "_WHOLE", limit)
    for n in (100, 101):
        rows = gather()
        if n == 100:
            bodies.parse_object(json.dumps({"inputs": [row] * n}).encode(), rows)
            assert rows.n == n
        else:
            with pytest.raises(Refused, match="more than 100 rows"):
                bodies.parse_object(json.dumps({"inputs": [row] * n}).encode(), rows)
    lines = gather()  # as those of a stream
    with pytest.raises(Refused, match="more than 100 rows"):
        for number in range(101):
            lines.add(row, number + 1)


def test_rows_are_gathered_again_after_they_were_taken():
    rows = gather()
    for _ in range(2):
        rows.add({"indices": [2, 0], "values": [1, 2]})
        rows.add({"indices": [], "values": []})
        np.testing.assert_array_equal(rows.take().toarray(), [[2, 0, 1], [0, 0, 0]])
    assert rows.n == 0
