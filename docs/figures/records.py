"""Records of figures, ``docs/records/NAME.json``, and the tables that are made from them.

- ``measured`` says by what, where and when, as far as it is known;
- ``rows`` have values by name, or are the cells themselves where a program has made the table;
- ``columns`` have a ``title``, a ``key`` (by default the title), a ``format`` ("{:.1f}"; "{:~}" is
  three figures, and all of a whole number), and a ``value`` for rows without one of their own;
- ``bold`` names columns whose largest value is bold, ``in`` each "row" or "column".

A value ``= SOURCE | name=value, ... | KEY * factor`` is the mean over those rows of a source that
match: another record, ``runs`` (docs/results/runs.jsonl) or ``published`` (the paper). Where one
cell differs from its column, its value is ``{"value": ..., "format": ...}``.
"""

import ast
import json
import re
import statistics
import string
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Records(dict[str, Any]):
    """All records, by name."""

    def __init__(self, root: Path = ROOT) -> None:
        folder = root / "docs" / "records"
        for path in sorted(folder.rglob("*.json")):
            name = path.relative_to(folder).with_suffix("").as_posix()
            self[name] = json.loads(path.read_text(encoding="utf-8"))
        self.root = root

    def value(self, value: Any, row: dict[str, Any]) -> Any:
        """Return a value, looked up where it says so; names in braces are those of the row."""
        if not (isinstance(value, str) and value.startswith("= ")):
            return value
        source, where, key = value[2:].format_map(row).split(" | ")
        wanted = dict(part.split("=", 1) for part in where.split(", "))
        key, _, factor = key.partition(" * ")
        found = [
            self.value(each[key], each)
            for each in self._rows(source)
            if key in each and all(str(each.get(k)) == v for k, v in wanted.items())
        ]
        if not found:
            raise LookupError(f"No record has {value[2:]!r} of {row}.")
        return statistics.fmean(found) * float(factor or 1)

    def _rows(self, source: str) -> list[dict[str, Any]]:
        if source == "runs":
            return self.runs
        if source == "published":
            return self.published
        rows: list[dict[str, Any]] = self[source]["rows"]
        return rows

    @cached_property
    def runs(self) -> list[dict[str, Any]]:
        """Runs without trials, what they have for each decoder as ``accuracy.DECODER``."""
        path = self.root / "docs" / "results" / "runs.jsonl"
        kinds = ("accuracy", "calibration_error")
        return [
            run | {f"{kind}.{name}": v for kind in kinds for name, v in run[kind].items()}
            for run in map(json.loads, path.read_text(encoding="utf-8").splitlines())
            if not run.get("trial")
        ]

    @cached_property
    def published(self) -> list[dict[str, Any]]:
        """The paper's Table 2, read from the source: importing the package takes seconds."""
        source = self.root / "src" / "dsnc" / "paper" / "experiments" / "published.py"
        columns = next(
            ast.literal_eval(line.value)
            for line in ast.parse(source.read_text(encoding="utf-8")).body
            if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "COLUMNS"
        )
        figures_of = json.loads(source.with_suffix(".json").read_text(encoding="utf-8"))
        return [
            {"data": data, "bits": int(bits), **dict(zip(columns, figures, strict=True))}
            for data, sizes in figures_of["accuracy"].items()
            for bits, figures in sizes.items()
        ]

    def table(self, name: str) -> str:
        """Return the table of a record in Markdown."""
        record = self[name]
        titles, rows = record["columns"], record["rows"]
        if isinstance(titles[0], dict):
            bold = [c.get("key", c["title"]) in record.get("bold", ()) for c in titles]
            rows = [[self._cell(column, row) for column in titles] for row in rows]
            _mark_best(rows, record.get("in"), bold)
            titles = [column["title"] for column in titles]
        lines = ["|".join(f" {cell} " if cell else " " for cell in row) for row in [titles, *rows]]
        lines.insert(1, "|".join(["---"] * len(titles)))
        return "".join(f"|{line}|\n" for line in lines)

    def _cell(self, column: dict[str, Any], row: dict[str, Any]) -> str:
        value = row.get(column.get("key", column["title"]), column.get("value"))
        form = column.get("format", "{}")
        if isinstance(value, dict):
            value, form = value["value"], value["format"]
        values = [self.value(v, row) for v in (value if isinstance(value, list) else [value])]
        if values == [None]:
            return ""
        return values[0] if isinstance(values[0], str) else formatted(form, *values)


def _mark_best(rows: list[list[str]], where: str | None, takes_part: list[bool]) -> None:
    """Make the largest figures bold, as they are shown: of equal ones all."""
    places = [[(i, j) for j, yes in enumerate(takes_part) if yes] for i in range(len(rows))]
    for group in zip(*places, strict=True) if where == "column" else places:
        figures = {(i, j): rows[i][j] for i, j in group if re.fullmatch(r"[\d.]+", rows[i][j])}
        best = max(map(float, figures.values()), default=None)
        for (i, j), text in figures.items():
            if float(text) == best:
                rows[i][j] = f"**{text}**"


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        if format_spec != "~":
            return super().format_field(value, format_spec)
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


formatted = _Formatter().format


def write(path: Path, record: dict[str, Any]) -> None:
    """Write a record, a line for each row, so that a change shows what changed."""
    parts = []
    for key, value in record.items():
        if isinstance(value, list):
            lines = ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value)
            parts.append(f' "{key}": [\n  {lines}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
