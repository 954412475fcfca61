"""What looks wrong in labeled rows: repeated, contradictory and empty ones, doubtful labels."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.data.dataset import Dataset
from dsnc.errors import shorten
from dsnc.sparse import sp

_EXAMPLES = 3  # of a finding
_ROWS = 5  # of an example
_BLOCK = 1024  # rows at a time
_WIDTH = 200  # letters of a line


@dataclass(frozen=True)
class Finding:
    """One kind of likely mistake, how often it occurs, and the first few examples."""

    what: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        """Return all of it in a line."""
        return textwrap.shorten(f"{self.what}: {self.count:,} ({'; '.join(self.examples)})", _WIDTH)


def check_quality(dataset: Dataset) -> list[Finding]:
    """Look for common mistakes in the data; nothing is changed.

    - repeated rows, with the same label or label set,
    - equal rows with different labels or label sets,
    - empty rows: empty or blank texts, nothing but zeros; they are left out of the first two,
    - rows without a label, where rows have label sets,
    - rows with an empty or blank label, which is a label all the same,
    - labels that differ only in spaces or case,
    - labels with a single row.

    Rows are compared by 64-bit hashes: a single pass, and a few bytes for each row. Examples name
    rows by their lines in the file, or count them from 1.

    Returns
    -------
    list of Finding
        Only the kinds that occur.

    Examples
    --------
    >>> rows = Dataset.from_labels(["an ox", "a bee", "an ox"], ["ox", "bee", "Ox"])
    >>> for finding in check_quality(rows):
    ...     print(finding)
    equal rows with different labels: 1 (rows 1, 3: 'ox' and 'Ox')
    labels that differ only in spaces or case: 1 ('Ox' and 'ox')
    labels with a single row: 3 ('Ox'; 'bee'; 'ox')
    """
    return [finding for finding in _Search(dataset).findings() if finding.count]


class _Search:
    """Equal rows have the same number, that of the first; so have equal labels or label sets."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset, targets = dataset, dataset.targets
        hashes, self.empty = _hash_rows(dataset.X)
        self.row = _first_alike(hashes)
        labels = targets.classes
        if not targets.is_single:
            labels, _ = _hash_rows(labels.astype(np.bool_))
        self.label = _first_alike(labels)

    def findings(self) -> Iterator[Finding]:
        yield from self._equal_rows()
        yield self._of_rows("empty rows", np.flatnonzero(self.empty))
        if self.dataset.is_multilabel:
            n_labels = np.diff(self.dataset.targets.classes.indptr)
            yield self._of_rows("rows without a label", np.flatnonzero(n_labels == 0))
        yield from self._doubtful_labels()

    def _equal_rows(self) -> Iterator[Finding]:
        kept, n = np.flatnonzero(~self.empty), len(self.empty)
        pairs, first, sizes = np.unique(
            self.row[kept] * n + self.label[kept], return_index=True, return_counts=True
        )
        repeated = np.sort(kept[first[sizes > 1]])
        examples = tuple(self._repeated(row) for row in repeated[:_EXAMPLES])
        yield Finding("repeated rows", len(kept) - len(pairs), examples)
        rows, n_labels = np.unique(pairs // n, return_counts=True)
        several = rows[n_labels > 1]
        examples = tuple(self._contradiction(row) for row in several[:_EXAMPLES])
        yield Finding("equal rows with different labels", len(several), examples)

    def _repeated(self, row: int) -> str:
        return self._where(
            np.flatnonzero((self.row == self.row[row]) & (self.label == self.label[row]))
        )

    def _contradiction(self, row: int) -> str:
        equal = np.flatnonzero(self.row == row)
        one_of_each = np.sort(np.unique(self.label[equal], return_index=True)[1])
        rows = equal[one_of_each][:_ROWS]
        some = self.dataset.take(rows)
        labels = some.label_lists() if some.is_multilabel else some.labels.tolist()
        return f"{self._where(rows)}: {_joined(labels)}"

    def _doubtful_labels(self) -> Iterator[Finding]:
        dataset, sizes = self.dataset, self.dataset.rows_per_class
        spelled: dict[str, list[int]] = {}
        for number in np.flatnonzero(sizes).tolist():
            if isinstance(label := dataset.classes[number], str):
                spelled.setdefault(" ".join(label.split()).casefold(), []).append(number)
        blank = spelled.pop("", [])
        sets = dataset.as_label_sets().targets.classes[:, blank]
        yield self._of_rows("rows with an empty label", np.unique(sets.nonzero()[0]))
        similar = [numbers for numbers in spelled.values() if len(numbers) > 1]
        examples = tuple(_joined(dataset.classes[some].tolist()) for some in similar[:_EXAMPLES])
        yield Finding("labels that differ only in spaces or case", len(similar), examples)
        single = dataset.classes[sizes == 1]
        examples = tuple(map(shorten, single[:_EXAMPLES].tolist()))
        yield Finding("labels with a single row", len(single), examples)

    def _of_rows(self, what: str, rows: NDArray[np.int64]) -> Finding:
        return Finding(what, len(rows), (self._where(rows),))

    def _where(self, rows: NDArray[np.int64]) -> str:
        """Return the lines of the first few rows, or their numbers."""
        lines, shown = self.dataset.lines, rows[:_ROWS]
        unit, numbers = ("row", shown + 1) if lines is None else ("line", lines[shown])
        several = "s" if len(shown) > 1 else ""
        return f"{unit}{several} {', '.join(f'{number:,}' for number in numbers.tolist())}"


def _joined(labels: list[Any]) -> str:
    more = " and others" if len(labels) > _ROWS else ""
    return " and ".join(map(shorten, labels[:_ROWS])) + more


def _first_alike(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each value stands first."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return first[inverse]


def _hash_rows(X: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return a hash of each row, and which rows are empty."""
    hashes, empty = np.empty(X.shape[0], np.int64), np.empty(X.shape[0], np.bool_)
    for start in range(0, X.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        keys = list(_keys(X[part]))
        hashes[part] = [hash(key) for key in keys]
        empty[part] = [not key for key in keys]
    return hashes, empty


def _keys(block: Any) -> Iterator[str | bytes]:
    """Yield what is the same for equal rows, and empty for empty ones."""
    if block.ndim == 1:
        yield from (text if text.strip() else "" for text in block.tolist())
    elif sp.issparse(block):
        block = block.copy()
        block.sum_duplicates()  # and sorts columns
        block.eliminate_zeros()
        for start, end in pairwise(block.indptr.tolist()):
            yield block.indices[start:end].tobytes() + block.data[start:end].tobytes()
    else:
        zeros = bytes(block.shape[1] * block.itemsize)
        for row in block + block.dtype.type(0):  # a zero may be negative
            key = row.tobytes()
            yield b"" if key == zeros else key
