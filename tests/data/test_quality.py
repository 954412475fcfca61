"""What looks wrong in data is found, counted and shown, whatever the rows are."""

from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.data.quality import Example, check_quality
from dsnc.errors import InputError

TEXTS = ["", " \t", "an ox", "An ox", "a bee", "ant"]
LABELS = ["ox", "Ox", " ox ", "o x", "bee", "", "  "]
KINDS = [
    "duplicate_rows",
    "several_labels",
    "empty_rows",
    "empty_labels",
    "similar_labels",
    "single_row_classes",
]


def counted(rows, labels, empty):
    """Count by comparing everything with everything."""
    rows, labels, n = list(rows), list(labels), len(labels)
    full = [i for i in range(n) if not empty[i]]
    similar = defaultdict(set)
    for label in labels:
        similar[" ".join(label.lower().split())].add(label)
    similar.pop("", None)
    numbers = [
        sum(any((rows[j], labels[j]) == (rows[i], labels[i]) for j in full if j < i) for i in full),
        sum(len({labels[i] for i in full if rows[i] == row}) > 1 for row in set(rows)),
        sum(empty),
        sum(not label.strip() for label in labels),
        sum(len(group) > 1 for group in similar.values()),
        sum(labels.count(label) == 1 for label in set(labels)),
    ]
    return {kind: number for kind, number in zip(KINDS, numbers, strict=True) if number}


@st.composite
def rows_with_sets(draw):
    """Yield texts and a set of labels for each, as lists."""
    texts = draw(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
    some = st.lists(st.sampled_from(LABELS), max_size=3)
    return texts, [draw(some) for _ in texts]


@given(rows_with_sets())
def test_label_sets_are_counted_as_by_hand(rows):
    texts, sets = rows[0], [frozenset(some) for some in rows[1]]
    full = [i for i, text in enumerate(texts) if text.strip()]
    flat = [label for some in sets for label in some]
    similar = defaultdict(set)
    for label in flat:
        similar[" ".join(label.lower().split())].add(label)
    similar.pop("", None)
    pairs = [(texts[i], sets[i]) for i in full]
    numbers = {
        "duplicate_rows": len(pairs) - len(set(pairs)),
        "several_labels": sum(
            len({some for other, some in pairs if other == text}) > 1
            for text in {text for text, _ in pairs}
        ),
        "empty_rows": len(texts) - len(full),
        "unlabelled_rows": sum(not some for some in sets),
        "empty_labels": sum(any(not label.strip() for label in some) for some in sets),
        "similar_labels": sum(len(group) > 1 for group in similar.values()),
        "single_row_classes": sum(flat.count(label) == 1 for label in set(flat)),
    }
    expected = {kind: number for kind, number in numbers.items() if number}
    assert counts_of(check_quality(texts, rows[1])) == expected
    assert counts_of(check_quality(texts, sets)) == expected


def test_label_sets_are_shown():
    texts = ["an ox", "a bee", "an ox", "a cow"]
    found = check_quality(texts, [["ox", "big"], [], ["ox"], ["Ox", "big"]])
    assert [(f.kind, f.count, f.examples[0]) for f in found] == [
        ("several_labels", 1, Example((0, 2), "'an ox' is ['ox', 'big'] and ['ox']")),
        ("unlabelled_rows", 1, Example((1,), "")),
        ("similar_labels", 1, Example((0, 3), "'ox' and 'Ox'")),
        ("single_row_classes", 1, Example((3,), "'Ox'")),
    ]


def counts_of(findings):
    return {finding.kind: finding.count for finding in findings}


ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(LABELS)), min_size=1, max_size=20)


@given(ROWS)
def test_texts_are_counted_as_by_hand(rows):
    texts, labels = [TEXTS[number] for number, _ in rows], [label for _, label in rows]
    found = check_quality(texts, labels)
    assert counts_of(found) == counted(texts, labels, [not text.strip() for text in texts])
    assert [finding.kind for finding in found] == [k for k in KINDS if k in counts_of(found)]
    assert found == check_quality(np.array(texts, dtype=object), np.array(labels))
    for finding in found:
        for example in finding.examples:
            assert list(example.rows) == sorted(set(example.rows))
            assert set(example.rows) <= set(range(len(rows)))


@given(ROWS, st.sampled_from([np.float32, np.float64, np.int8, np.bool_]))
def test_rows_of_numbers_are_counted_as_by_hand(rows, dtype):
    number, labels = np.array([number for number, _ in rows]), [label for _, label in rows]
    X = (np.arange(8)[:, None] >> np.arange(3))[number].astype(dtype)  # row 0 is empty
    expected = counted(map(tuple, X.tolist()), labels, (number == 0).tolist())
    assert counts_of(check_quality(X, labels)) == expected
    assert check_quality(sp.csr_array(X), labels) == check_quality(X, labels)


def test_what_equal_rows_may_look_like():
    data, columns = [1.0, 2.0, 2.0, 1.0, 0.0, 0.5, 1.5, 1.0], [0, 2, 2, 0, 1, 2, 2, 0]
    X = sp.csr_array((data, columns, [0, 2, 5, 8]), shape=(3, 3))
    before = X.copy()
    assert counts_of(check_quality(X, [1, 1, 1])) == {"duplicate_rows": 2}
    assert (X.data == before.data).all() and (X.indices == before.indices).all()
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert counts_of(check_quality(zeros, [1, 1])) == {"duplicate_rows": 1}


def test_many_rows_are_read_in_blocks(monkeypatch):
    monkeypatch.setattr("dsnc.data.quality._BLOCK", 1000)
    X = np.random.default_rng(0).integers(1, 1 << 40, size=(500, 4))
    X[499], X[250] = X[0], 0
    labels = np.arange(500) % 2
    for rows in (X, sp.csr_array(X)):
        found = {finding.kind: finding for finding in check_quality(rows, labels)}
        assert found["several_labels"].examples == (Example((0, 499), "0 and 1"),)
        assert found["empty_rows"].examples == (Example((250,), ""),)
        assert len(found) == 2


def test_examples_say_where_and_what():
    texts = ["night nurse", "cook", "night nurse", "night nurse", " ", "pilot"]
    labels = ["nurse", "Cook", "pilot", "nurse", "nurse", "cook "]
    found = {finding.kind: finding.examples for finding in check_quality(texts, labels)}
    assert found == {
        "duplicate_rows": (Example((0, 3), "'night nurse'"),),
        "several_labels": (Example((0, 2), "'night nurse' is 'nurse' and 'pilot'"),),
        "empty_rows": (Example((4,), ""),),
        "similar_labels": (Example((1, 5), "'Cook' and 'cook '"),),
        "single_row_classes": (
            Example((1,), "'Cook'"),
            Example((2,), "'pilot'"),
            Example((5,), "'cook '"),
        ),
    }


def test_examples_are_few():
    (similar,) = (
        finding
        for finding in check_quality(["a"] * 7, [" " * n + "x" for n in range(7)])
        if finding.kind == "similar_labels"
    )
    assert (similar.count, similar.examples[0].rows) == (1, (0, 1, 2, 3, 4))
    assert similar.examples[0].text.endswith(" and others")
    findings = check_quality([str(n) for n in range(9)], list(range(-9, 0)))
    assert (findings[0].count, len(findings[0].examples)) == (9, 3)


def test_nothing_is_found_where_nothing_is_wrong():
    assert check_quality(["a", "b"], [1, 1]) == []
    assert check_quality([], []) == []
    assert check_quality(np.empty((0, 3)), []) == []
    assert counts_of(check_quality(np.empty((2, 0)), [1, 1])) == {"empty_rows": 2}


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        (["a"], [1, 2], "rows has 1 rows and labels has 2"),
        (["a", 1], [1, 2], r"rows\[1\] is 1; give texts"),
        (np.array([["a"]]), [1], "rows has type <U1; expected numbers"),
        (["a"], [{"x": "y"}], "labels cannot be compared .*; give a text or a number for each row"),
        (["a"], [[["x"]]], "labels cannot be compared"),
    ],
)
def test_what_cannot_be_checked_is_named(rows, labels, message):
    with pytest.raises(InputError, match=message):
        check_quality(rows, labels)
