"""What looks wrong in data is found, counted and shown, whatever the rows are."""

from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data import Dataset, check_quality

TEXTS = ["", " \t", "an ox", "An ox", "a bee", "ant"]
LABELS = ["ox", "Ox", " ox ", "o x", "bee", "", "  "]
KINDS = [
    "repeated rows",
    "equal rows with different labels",
    "empty rows",
    "rows without a label",
    "rows with an empty label",
    "labels that differ only in spaces or case",
    "labels with a single row",
]


def counted(rows, sets, empty):
    """Count by comparing everything with everything."""
    pairs = [(row, labels) for row, labels, none in zip(rows, sets, empty, strict=True) if not none]
    full, labels = [row for row, _ in pairs], [label for some in sets for label in some]
    similar = defaultdict(set)
    for label in labels:
        similar[" ".join(label.lower().split())].add(label)
    similar.pop("", None)
    numbers = [
        len(pairs) - len(set(pairs)),
        sum(len({some for other, some in pairs if other == row}) > 1 for row in set(full)),
        sum(empty),
        sum(not some for some in sets),
        sum(any(not label.strip() for label in some) for some in sets),
        sum(len(group) > 1 for group in similar.values()),
        sum(labels.count(label) == 1 for label in set(labels)),
    ]
    return {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}


def with_sets(X, sets):
    labels, n = [label for some in sets for label in some], np.array([len(some) for some in sets])
    return Dataset.from_label_lists(X, labels, n, classes=sorted(set(LABELS)))


def counts_of(dataset):
    return {finding.what: finding.count for finding in check_quality(dataset)}


ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(LABELS)), min_size=1, max_size=20)


@given(st.lists(st.tuples(st.sampled_from(TEXTS), st.frozensets(st.sampled_from(LABELS)))))
def test_label_sets_are_counted_as_by_hand(rows):
    texts, sets = [text for text, _ in rows], [some for _, some in rows]
    dataset = with_sets(np.array(texts, dtype=object), sets)
    assert counts_of(dataset) == counted(texts, sets, [not text.strip() for text in texts])


@given(ROWS)
def test_texts_are_counted_as_by_hand(rows):
    texts, labels = [TEXTS[number] for number, _ in rows], [label for _, label in rows]
    sets, empty = [frozenset([label]) for label in labels], [not text.strip() for text in texts]
    found = counts_of(Dataset.from_labels(texts, labels))
    assert found == counted(texts, sets, empty)
    assert list(found) == [kind for kind in KINDS if kind in found]


@given(ROWS, st.sampled_from([np.float32, np.float64, np.int8, np.bool_]))
def test_rows_of_numbers_are_counted_as_by_hand(rows, dtype):
    number, labels = np.array([number for number, _ in rows]), [label for _, label in rows]
    X = (np.arange(8)[:, None] >> np.arange(3))[number].astype(dtype)  # row 0 is empty
    sets = [frozenset([label]) for label in labels]
    expected = counted(list(map(tuple, X.tolist())), sets, (number == 0).tolist())
    assert counts_of(Dataset.from_labels(X, labels)) == expected
    sparse = Dataset.from_labels(sp.csr_array(X), labels)
    assert check_quality(sparse) == check_quality(Dataset.from_labels(X, labels))


def test_what_equal_rows_may_look_like():
    data, columns = [1.0, 2.0, 2.0, 1.0, 0.0, 0.5, 1.5, 1.0], [0, 2, 2, 0, 1, 2, 2, 0]
    X = sp.csr_array((data, columns, [0, 2, 5, 8]), shape=(3, 3))
    before = X.copy()
    assert counts_of(Dataset.from_labels(X, [1, 1, 1])) == {"repeated rows": 2}
    assert (X.data == before.data).all() and (X.indices == before.indices).all()
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert counts_of(Dataset.from_labels(zeros, [1, 1])) == {"repeated rows": 1}


def test_many_rows_are_read_in_blocks(monkeypatch):
    monkeypatch.setattr("dsnc.data.quality._BLOCK", 30)
    X = np.random.default_rng(0).integers(1, 1 << 40, size=(500, 4))
    X[499], X[250] = X[0], 0
    labels = np.arange(500) % 2
    for rows in (X, sp.csr_array(X)):
        assert list(map(str, check_quality(Dataset.from_labels(rows, labels)))) == [
            "equal rows with different labels: 1 (rows 1, 500: 0 and 1)",
            "empty rows: 1 (row 251)",
        ]


def test_examples_say_where_and_what():
    texts = ["night nurse", "cook", "night nurse", "night nurse", " ", "pilot"]
    labels = ["nurse", "Cook", "pilot", "nurse", "nurse", "cook "]
    lines = np.arange(6) + 2
    expected = {
        "repeated rows": ("lines 2, 5",),
        "equal rows with different labels": ("lines 2, 4: 'nurse' and 'pilot'",),
        "empty rows": ("line 6",),
        "labels that differ only in spaces or case": ("'Cook' and 'cook '",),
        "labels with a single row": ("'Cook'", "'cook '", "'pilot'"),
    }
    found = check_quality(Dataset.from_labels(texts, labels, lines=lines))
    assert {finding.what: finding.examples for finding in found} == expected
    sets = [["ox", "bee"], [], ["ox"], ["Ox", "bee"]]
    found = check_quality(with_sets(np.array(["a", "b", "a", "c"], dtype=object), sets))
    assert list(map(str, found)) == [
        "equal rows with different labels: 1 (rows 1, 3: ['bee', 'ox'] and ['ox'])",
        "rows without a label: 1 (row 2)",
        "labels that differ only in spaces or case: 1 ('Ox' and 'ox')",
        "labels with a single row: 1 ('Ox')",
    ]


def test_examples_are_few():
    alike = check_quality(Dataset.from_labels(["a"] * 7, [" " * n + "x" for n in range(7)]))
    assert [finding.examples for finding in alike[:2]] == [
        ("rows 1, 2, 3, 4, 5: 'x' and ' x' and '  x' and '   x' and '    x'",),
        ("'      x' and '     x' and '    x' and '   x' and '  x' and others",),
    ]
    (single,) = check_quality(Dataset.from_labels([str(n) for n in range(9)], range(-9, 0)))
    assert (single.count, len(single.examples)) == (9, 3)
    assert all(len(str(finding)) <= 200 for finding in alike)


@pytest.mark.parametrize(
    ("rows", "labels"), [(["a", "b"], [1, 1]), (np.empty((0, 3)), np.empty(0, int))]
)
def test_nothing_is_found_where_nothing_is_wrong(rows, labels):
    assert check_quality(Dataset.from_labels(rows, labels)) == []
