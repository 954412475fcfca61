"""Finds columns of a table: by their names, by their numbers, or by what stands in them."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from dsnc.data.cells import is_missing, labels_in, number
from dsnc.data.tables import Table
from dsnc.errors import InputError, did_you_mean

_LINES = "; texts alone may come one per line, from a .txt file or stdin (-)"
Names = str | int | Sequence[str | int] | None


def several(wish: Names) -> list[str | int]:
    """Return what a wish names as a list."""
    if wish is None:
        return []
    return [wish] if isinstance(wish, str | int) else list(wish)


class Seek:
    """Finds columns of a table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._place = {name: i for i, name in reversed(list(enumerate(table.names)))}
        self._lower = {name.lower(): name for name in reversed(table.names)}

    def one(self, wish: Any, parameter: str, usual: Sequence[str]) -> str | None:
        """Return the name of the column that is wished for, or one of the usual names."""
        if wish is None:
            return self.usual(usual)
        names, path = self.table.names, os.fspath(self.table.path)
        if isinstance(wish, str) and self.named(wish) is not None:
            return self.named(wish)
        if isinstance(wish, int) or (isinstance(wish, str) and wish.lstrip("-").isdigit()):
            if -len(names) <= int(wish) < len(names):
                return names[int(wish)]
            raise InputError(f"{parameter}={wish}: {path} has {len(names)} columns.")
        raise InputError(
            f"{parameter}={wish!r}: {path} has columns {names}.{did_you_mean(str(wish), names)}"
        )

    def all(self, wish: Names, parameter: str) -> list[str]:
        """Return the names of several columns."""
        found = [self.one(name, parameter, ()) for name in several(wish)]
        return [name for name in found if name is not None]

    def named(self, name: str) -> str | None:
        """Return the column of this name, in whatever case."""
        return name if name in self._place else self._lower.get(name.strip().lower())

    def again(self, names: Iterable[str], usual: Sequence[str] = ()) -> list[str]:
        """Return the columns that a model learned from: by name, or those without one by place.

        The only one of a model may be the only one of a table without names; or, where the model
        knows no name, have a `usual` one.
        """
        wanted, here = list(names), self.table.names
        lost = [name for name in wanted if self.named(name) is None]
        if usual and lost and not self.table.has_names and len(here) == 1:
            return here  # there is nothing else that it could be
        named = self.usual(usual)
        if named is not None and "".join(lost).isdigit():
            return [named]
        if all(name.isdigit() and int(name) < len(here) for name in lost):
            return self.all(wanted, "column")
        has = f"columns {here}" if self.table.has_names else f"{len(here)} columns without names"
        raise InputError(
            f"{os.fspath(self.table.path)}: has {has}, and the model reads "
            f"{', '.join(map(repr, lost))}.{did_you_mean(lost[0], here)} Name the column so, or "
            "say which it is with text_column= (and header=False if the first line is a row)"
            f"{_LINES if usual else ''}."
        )

    def usual(self, names: Sequence[str]) -> str | None:
        """Return the first column that has one of these names."""
        if not self.table.has_names:
            return None
        return next((self._lower[name] for name in names if name in self._lower), None)

    def cells(self, name: str) -> Iterator[Any]:
        """Yield what stands in a column of the sample."""
        place = self._place[name]
        for row in self.table.sample:
            if isinstance(row.cells, list) and not row.is_blank:
                yield row.cells[place]

    def labels(self, name: str) -> Iterator[str]:
        """Yield what the labels of the sample would be, if a column held them."""
        for cell in self.cells(name):
            yield from map(str, labels_in(cell, self.table.label_separator))

    def lists(self) -> str | None:
        """Return the one column of the sample that holds lists of labels, if there is one."""
        found = [
            name
            for name in self.table.names
            if any(isinstance(cell, list) for cell in self.cells(name))
        ]
        if len(found) != 1:
            return None
        items = chain.from_iterable(c for c in self.cells(found[0]) if isinstance(c, list))
        # Lists of numbers with fractions are vectors, not labels.
        return found[0] if all(isinstance(item, str | int | None) for item in items) else None

    def is_numeric(self, name: str) -> bool:
        """Tell whether a column of the sample holds numbers, and one at least."""
        comma = self.table.decimal_comma
        cells = [cell for cell in self.cells(name) if not is_missing(cell)]
        return bool(cells) and all(number(cell, decimal_comma=comma) is not None for cell in cells)

    def is_prose(self, name: str) -> bool:
        """Tell whether a column of the sample holds texts: several words, mostly different ones."""
        cells = [str(cell) for cell in self.cells(name) if not is_missing(cell)]
        n_words = sum(len(cell.split()) for cell in cells)
        return bool(cells) and len(set(cells)) > len(cells) / 2 and n_words >= 2 * len(cells)

    def repeats(self, name: str) -> bool:
        """Tell whether a column of the sample holds few different values, each often."""
        cells = [str(cell) for cell in self.cells(name)]
        return len(set(cells)) <= len(cells) / 2

    def values(self, name: str) -> list[str]:
        """Return the distinct values of a column of the sample, sorted."""
        return sorted({str(cell).strip() for cell in self.cells(name) if not is_missing(cell)})
