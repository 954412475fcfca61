"""What looks wrong in labeled rows: repeated, contradictory and empty ones, doubtful classes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.errors import InputError, shorten

_EXAMPLES = 3  # of a finding
_ROWS = 5  # of an example
_BLOCK = 1 << 23  # bytes of rows at a time


class Example(NamedTuple):
    """Some rows that belong together, and what they contain."""

    rows: tuple[int, ...]  # from 0, ascending, at most five
    text: str  # for people; empty where there is nothing to show


@dataclass(frozen=True)
class Finding:
    """One kind of likely mistake: its name, how often it occurs, and the first few examples."""

    kind: str
    count: int
    examples: tuple[Example, ...]


def check_quality(rows: Any, labels: Any, shown: list[str] | None = None) -> list[Finding]:
    """Look for common mistakes in the data; nothing is changed.

    =====================  ====================================================================
    ``duplicate_rows``     rows that repeat an earlier row and its label or label set
    ``several_labels``     equal rows that have different labels or label sets
    ``empty_rows``         empty or blank texts, rows of nothing but zeros
    ``unlabelled_rows``    for label sets: rows that have no label at all
    ``empty_labels``       rows with an empty or blank label, which is a class all the same
    ``similar_labels``     groups of labels that differ only in spaces or case
    ``single_row_classes`` classes with a single row
    =====================  ====================================================================

    Empty rows are left out of the first two. Rows are compared by 64-bit hashes: a single pass, and
    a few bytes for each row, whatever X is.

    Parameters
    ----------
    rows : sequence of str, array or sparse matrix of shape (n, d)
        Texts or numbers.
    labels : array of shape (n,), or sequence of lists or sets
        The label of each row, or its labels. They may be of any type.
    shown : list of str, optional
        What examples show, where that is not the text of `rows`.

    Returns
    -------
    list of Finding
        Only the kinds that occur, in the order of the table.

    Examples
    --------
    >>> for finding in check_quality(["an ox", "a bee", "an ox"], ["ox", "bee", "Ox"]):
    ...     print(finding.kind, finding.count, finding.examples[0])
    several_labels 1 Example(rows=(0, 2), text="'an ox' is 'ox' and 'Ox'")
    similar_labels 1 Example(rows=(0, 2), text="'ox' and 'Ox'")
    single_row_classes 3 Example(rows=(0,), text="'ox'")
    """
    names = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    is_table = sp.issparse(rows) or (isinstance(rows, np.ndarray) and rows.ndim == 2)
    texts = None if is_table else _texts(rows)
    n_rows = rows.shape[0] if texts is None else len(texts)
    if n_rows != len(names):
        raise InputError(
            f"rows has {n_rows} rows and labels has {len(names)}; give one label for each row."
        )
    if texts is None:
        hashes, empty = _hashes(rows)
    else:
        hashes = np.fromiter(map(hash, texts), np.int64, n_rows)
        empty = np.fromiter((not t or t.isspace() for t in texts), np.bool_, n_rows)
    return _Search(shown or texts, _Names(names), hashes, empty).findings()


class _Names:
    """The labels of all rows, one after the other; a label is named by where it first stands.

    Sets are numbered, too: two rows that have the same labels have the same `of_row`.
    """

    def __init__(self, names: list[Any]) -> None:
        self.n_rows = len(names)
        self.has_sets = any(isinstance(name, list | set | frozenset) for name in names)
        try:
            self.sets = [_members(name) for name in names] if self.has_sets else []
            self.flat = [label for some in self.sets for label in some] if self.sets else names
            self.label, self.classes = _first_of_each(self.flat)
            self.of_row = self.label
            if self.has_sets:
                self.of_row, _ = _first_of_each([frozenset(some) for some in self.sets])
        except TypeError as error:
            raise InputError(
                f"labels cannot be compared ({error}); give a text or a number for each row, or a "
                "list of them."
            ) from None
        rows = np.arange(self.n_rows)
        self.rows = np.repeat(rows, [len(some) for some in self.sets]) if self.has_sets else rows

    def shown(self, row: int) -> str:
        """Return what a row has as label, for people."""
        return shorten(self.sets[row] if self.has_sets else self.flat[row])


def _members(name: Any) -> list[Any]:
    """Return the labels of a row, each once."""
    if isinstance(name, set | frozenset):
        return sorted(name, key=str)
    return list(dict.fromkeys(name)) if isinstance(name, list) else [name]


def _first_of_each(items: list[Any]) -> tuple[NDArray[np.int64], list[int]]:
    """Return where each item stands first, and these places."""
    seen: dict[Any, int] = {}
    places = np.fromiter(map(seen.setdefault, items, count()), np.int64, len(items))
    return places, list(seen.values())


class _Search:
    """A row is named by its number; equal rows by that of the first."""

    def __init__(
        self,
        texts: list[str] | None,
        names: _Names,
        hashes: NDArray[np.int64],
        empty: NDArray[np.bool_],
    ) -> None:
        self.texts, self.names, self.empty = texts, names, empty
        _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        self.same = first[inverse]  # the first row that is equal to each

    def findings(self) -> list[Finding]:
        found = {
            **self._equal_rows(),
            "empty_rows": _rows_only(np.flatnonzero(self.empty)),
            "unlabelled_rows": _rows_only(
                np.setdiff1d(np.arange(self.names.n_rows), self.names.rows)
            ),
            **self._labels(),
        }
        return [
            Finding(kind, number, tuple(islice(examples, _EXAMPLES)))
            for kind, (number, examples) in found.items()
            if number
        ]

    def _equal_rows(self) -> dict[str, tuple[int, Iterator[Example]]]:
        kept = np.flatnonzero(~self.empty)
        n = self.names.n_rows
        # Row and label in one integer, which is the same for duplicates.
        pairs = self.same[kept] * n + self.names.of_row[kept]
        distinct, first, counts = np.unique(pairs, return_index=True, return_counts=True)
        repeated = np.sort(kept[first[counts > 1]])
        rows, n_labels = np.unique(distinct // n, return_counts=True)
        contradictory = rows[n_labels > 1]
        return {
            "duplicate_rows": (len(kept) - len(distinct), map(self._duplicate, repeated)),
            "several_labels": (len(contradictory), map(self._contradiction, contradictory)),
        }

    def _duplicate(self, row: int) -> Example:
        labels = self.names.of_row
        equal = (self.same == self.same[row]) & (labels == labels[row])
        return _example(np.flatnonzero(equal), self._text(row))

    def _contradiction(self, row: int) -> Example:
        equal = np.flatnonzero(self.same == row)
        _, first = np.unique(self.names.of_row[equal], return_index=True)
        rows = equal[np.sort(first)]
        what = "" if self.texts is None else f"{self._text(row)} is "
        return _example(rows, what + _listed(map(self.names.shown, rows.tolist()), len(rows)))

    def _labels(self) -> dict[str, tuple[int, Iterator[Example]]]:
        names, rows = self.names.flat, self.names.rows
        spelled: dict[str, list[int]] = {}
        for place in self.names.classes:
            if isinstance(names[place], str):
                key = " ".join(names[place].split()).casefold()
                spelled.setdefault(key, []).append(place)
        nameless = np.unique(rows[np.isin(self.names.label, spelled.pop("", []))])
        groups = [np.array(places) for places in spelled.values() if len(places) > 1]
        sizes = np.bincount(self.names.label, minlength=len(names))
        single = [place for place in self.names.classes if sizes[place] == 1]
        return {
            "empty_labels": _rows_only(nameless),
            "similar_labels": (
                len(groups),
                (
                    _example(rows[g], _listed((shorten(names[i]) for i in g), len(g)))
                    for g in groups
                ),
            ),
            "single_row_classes": (
                len(single),
                (_example([rows[place]], shorten(names[place])) for place in single),
            ),
        }

    def _text(self, row: int) -> str:
        return "" if self.texts is None else shorten(self.texts[row])


def _listed(shown: Iterable[str], n: int) -> str:
    more = " and others" if n > _ROWS else ""
    return " and ".join(islice(shown, _ROWS)) + more


def _rows_only(rows: NDArray[np.int64]) -> tuple[int, Iterator[Example]]:
    return len(rows), iter([_example(rows, "")])


def _example(rows: Iterable[int], text: str) -> Example:
    return Example(tuple(int(row) for row in islice(rows, _ROWS)), text)


def _texts(rows: Any) -> list[str]:
    texts = rows.tolist() if isinstance(rows, np.ndarray) else list(rows)
    odd = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if odd is not None:
        raise InputError(
            f"rows[{odd}] is {shorten(texts[odd])}; give texts, or numbers as an array or a sparse "
            "matrix of shape (n, d)."
        )
    return texts


def _hashes(X: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a hash of each row, and which rows hold nothing but zeros."""
    if X.dtype.kind not in "biuf":
        raise InputError(f"rows has type {X.dtype}; expected numbers.")
    n_rows, width = X.shape
    hashes, empty = np.empty(n_rows, np.int64), np.empty(n_rows, np.bool_)
    if sp.issparse(X):
        X = sp.csr_array(X)
        row_bytes = 12 * X.nnz // max(1, n_rows)
    else:
        row_bytes = width * X.itemsize
    step = max(1, _BLOCK // max(64, row_bytes))
    for start in range(0, n_rows, step):
        part, block = slice(start, start + step), X[start : start + step]
        read = _sparse_block if sp.issparse(X) else _dense_block
        keys, empty[part] = read(block)
        hashes[part] = np.fromiter(map(hash, keys), np.int64, block.shape[0])
    return hashes, empty


def _sparse_block(block: Any) -> tuple[Iterable[Any], NDArray[np.bool_]]:
    block = block.copy()
    block.sum_duplicates()  # and sorts columns
    block.eliminate_zeros()
    columns, values = block.indices.astype(np.int64), block.data
    ends = block.indptr.tolist()
    parts = ((columns, columns.itemsize), (values, values.itemsize))
    cells = [_pieces(array.tobytes(), ends, size) for array, size in parts]
    return zip(*cells, strict=True), np.diff(block.indptr) == 0


def _pieces(content: bytes, ends: list[int], size: int) -> Iterator[bytes]:
    return (content[a * size : b * size] for a, b in zip(ends[:-1], ends[1:], strict=True))


def _dense_block(block: NDArray[Any]) -> tuple[Iterable[bytes], NDArray[np.bool_]]:
    block = np.ascontiguousarray(block) + block.dtype.type(0)  # a zero may be negative
    size = block.shape[1] * block.itemsize
    pieces = _pieces(block.tobytes(), list(range(len(block) + 1)), size)
    return pieces, np.logical_not(block.any(axis=1))
