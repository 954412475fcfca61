"""A table: columns, rows of cells, notes; and how it is written."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A mean over seeds, or words.

    Attributes
    ----------
    text : str
        What is shown.
    value : float
        The number to compare by; NaN for words.
    constant_time : bool
        Whether it was decoded in constant time: the gray background of the paper's table.
    best : bool
        Whether it is the best of its row.
    deviation : float
        Standard deviation over seeds; 0 with one.
    """

    text: str = ""
    value: float = math.nan  # to compare by
    constant_time: bool = False  # the gray background of the paper's table
    best: bool = False
    deviation: float = 0.0  # over seeds; 0 with one

    @classmethod
    def of(cls, values: Iterable[float], digits: int = 2, **flags: bool) -> "Cell":
        """Return a cell with mean and standard deviation; an empty one for no values."""
        numbers = [value for value in values if not math.isnan(value)]
        if not numbers:
            return cls()
        mean = statistics.fmean(numbers)
        text = f"{mean:,.{digits}f}"
        if len(numbers) == 1:
            return cls(text, mean, **flags)
        deviation = statistics.stdev(numbers)
        return cls(f"{text} ± {deviation:.{digits}f}", mean, deviation=deviation, **flags)


@dataclass(frozen=True)
class Table:
    """The result of an experiment.

    Attributes
    ----------
    title : str
    columns : sequence of str
    rows : sequence of sequences of Cell
    notes : sequence of str
    best : str
        What bold cells stand for.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default_factory=tuple)
    best: str = "the best of a row"  # what it means to be one

    def to_markdown(self) -> str:
        """Return a table in GitHub's Markdown; bold is the best, italic is constant time."""
        lines = [f"**{self.title}**", "", _line(self.columns), _line(["---"] * len(self.columns))]
        lines += [_line([_marked(cell) for cell in row]) for row in self.rows]
        notes = [*self.notes, *self._legend()]
        lines += ["", *(f"- {note}" for note in notes)] if notes else []
        return "\n".join(lines) + "\n"

    def _legend(self) -> Iterable[str]:
        cells = [cell for row in self.rows for cell in row]
        if any(cell.best for cell in cells):
            yield f"Bold: {self.best}."
        if any(cell.constant_time for cell in cells):
            yield "Italic: decoded in constant time, by a table of all codes."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; NaN becomes None."""
        rows = [
            [{"text": c.text, "value": None if math.isnan(c.value) else c.value} for c in row]
            for row in self.rows
        ]
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": rows,
            "notes": list(self.notes),
        }


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _marked(cell: Cell) -> str:
    text = f"*{cell.text}*" if cell.constant_time and cell.text else cell.text
    return f"**{text}**" if cell.best and cell.text else text
