"""Lines that come one by one are read as the file of them would be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data.svmlight_lines import parse_lines
from dsnc.errors import DataFileError

ROW = st.dictionaries(st.integers(1, 9), st.integers(-5, 5), max_size=5)


@given(rows=st.lists(st.tuples(ROW, st.booleans()), min_size=1), first=st.integers(0, 1))
def test_against_a_loop(rows, first):
    lines, expected, beyond = [], np.zeros((len(rows), 6), np.float32), 0
    for number, (row, labelled) in enumerate(rows):
        pairs = [f"{index}:{row[index]}" for index in sorted(row)]
        lines.append(" ".join(["3", *pairs] if labelled else pairs).encode())
        for index, value in row.items():
            if index - first < 6:
                expected[number, index - first] = value
            else:
                beyond += 1
    X, dropped = parse_lines("-", lines, 1, 6, first)
    assert np.array_equal(X.toarray(), expected)
    assert dropped == beyond
    X.check_format(full_check=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"0:1", "line 8: uses index 0"), (b"2:1 2:1", "line 8: index does not"), (b"a", "line 8")],
)
def test_bad_lines_are_named(line, message):
    with pytest.raises(DataFileError, match=message):
        parse_lines("-", [b"1:1", line, b"3:1"], 7, 5, 1)
