"""Which columns of a table mean what, and cells to rows of X and labels.

What is not said is found out: names that people give to labels and texts, numbers by their cells.
A model keeps its columns and finds them by name in any other table.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from dsnc.data.seeking import Names, Seek, several
from dsnc.data.tables import Table, TableOptions
from dsnc.errors import DataFileError, InputError, warn
from dsnc.progress import count

LABEL_NAMES = ("label", "labels", "class", "category", "target", "tags", "categories", "classes")
TEXT_NAMES = ("text", "texts", "title", "sentence", "document", "content", "query")
ID_NAMES = ("id", "index", "uuid", "key", "unnamed: 0")
MISSING = ("refuse", "zero", "mean", "drop")
_MOST_CATEGORIES = 50  # distinct texts of a column that might be categories


@dataclass(frozen=True)
class Roles:
    """What a user says about the columns, as `dsnc.data.text.read_table` explains it."""

    label_column: str | int | None = None
    text_column: Names = None
    id_column: str | int | None = None
    number_column: Names = None
    category_column: Names = None
    missing: str = "refuse"

    def names(self) -> list[str]:
        """Return the names that are given, to know a header by; numbers are of columns anywhere."""
        given = [self.label_column, self.id_column]
        for wish in (self.text_column, self.number_column, self.category_column):
            given += several(wish)
        return [name for name in given if isinstance(name, str) and not name.isdigit()]


@dataclass(frozen=True)
class Columns:
    """The columns that a model reads, by name; without a header, by number.

    Parameters
    ----------
    label, id : str, optional
    text : tuple of str
        Joined; without any, rows are numbers.
    separate : bool
        Whether each of them has n-grams of its own.
    numbers : tuple of str
        Columns of numbers.
    categories : dict of str to list of str
        Columns of texts with few values, and these values: a column of X for each.
    missing : str
        As of `Roles`.
    fill : list of float
        Of "mean": what stands for a number that is missing, for each of `numbers`.
    edges : list of list of float
        Beside texts: where the range of each of `numbers` is cut, to say which part one is in.
    label_separator : str, optional
        What stands between the labels of a cell, where rows have label sets.
    """

    label: str | None = None
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: Mapping[str, list[str]] = field(default_factory=dict)
    id: str | None = None
    missing: str = "refuse"
    fill: list[float] = field(default_factory=list)
    edges: list[list[float]] = field(default_factory=list)
    separate: bool = False
    label_separator: str | None = None

    def plain(self) -> dict[str, Any]:
        """Return it as JSON holds it; `from_plain` is the way back."""
        return {**asdict(self), "text": list(self.text), "numbers": list(self.numbers)}

    @classmethod
    def from_plain(cls, plain: Any) -> Self:
        """Make it from what `plain` gave, checking everything: a model file may be hostile."""
        if not isinstance(plain, dict) or not set(plain) <= set(cls().plain()):
            raise InputError("data: columns is not an object with the keys of columns.")
        plain = {**cls().plain(), **plain}
        lists = [plain[key] for key in ("text", "numbers", "fill", "edges")]
        lists += [*plain["edges"]] if isinstance(plain["edges"], list) else []
        if isinstance(plain["categories"], dict):
            lists += [*plain["categories"].values()]
        else:
            lists.append(None)
        if not all(isinstance(one, list) for one in lists):
            raise InputError("data: columns holds a value that should be a list and is not.")
        texts = [*plain["text"], *plain["numbers"], *plain["categories"], plain["missing"]]
        optional = ("label", "id", "label_separator")
        texts += [plain[key] for key in optional if plain[key] is not None]
        texts += [value for values in plain["categories"].values() for value in values]
        numbers = [*plain["fill"], *(edge for edges in plain["edges"] for edge in edges)]
        is_fill = all(isinstance(value, float | int) for value in numbers)
        is_fill = is_fill and isinstance(plain["separate"], bool)
        if not all(isinstance(text, str) for text in texts) or not is_fill:
            raise InputError("data: columns holds a value that is neither a name nor a number.")
        if any(len(plain[key]) not in (0, len(plain["numbers"])) for key in ("fill", "edges")):
            raise InputError("data: columns does not describe each of its numbers.")
        if plain["label_separator"] == "":
            raise InputError("data: columns has an empty label_separator.")
        tuples = {"text": tuple(plain["text"]), "numbers": tuple(plain["numbers"])}
        return cls(**{**plain, **tuples})

    @property
    def names(self) -> list[str]:
        """What rows are made of."""
        return [*self.text, *self.numbers, *self.categories]

    @property
    def n_fields(self) -> int:
        """Number of fields of a text: texts with n-grams of their own, and words beside texts."""
        n_texts = len(self.text) if self.separate else 1
        return n_texts + bool(self.numbers or self.categories) if self.text else 0

    @property
    def width(self) -> int | None:
        """Number of columns of X; None for texts."""
        if self.text:
            return None
        return len(self.numbers) + sum(map(len, self.categories.values()))

    def __str__(self) -> str:
        """Return the roles for people."""
        between = f" separated by {self.label_separator!r}" if self.label_separator else ""
        parts = [f"label {self.label!r}{between}"] if self.label is not None else []
        joint = " | " if self.separate else " + "
        parts += [f"text {joint.join(map(repr, self.text))}"] if self.text else []
        parts += [count(len(self.numbers), "number")] if self.numbers else []
        parts += [f"categories {', '.join(map(repr, self.categories))}"] if self.categories else []
        return ", ".join(parts)


def split_options(options: Mapping[str, Any], caller: str) -> tuple[TableOptions, Roles]:
    """Return what a user says about a table, and what about its columns."""
    of_table = {k: v for k, v in options.items() if k in TableOptions.__dataclass_fields__}
    of_columns = {k: v for k, v in options.items() if k not in of_table}
    for name in of_columns.keys() - Roles.__dataclass_fields__.keys():
        raise InputError(f"{caller}() has no option {name!r}.")
    return TableOptions(**of_table), Roles(**of_columns)


def choose_columns(table: Table, roles: Roles, remembered: Columns | None = None) -> Columns:
    """Decide which columns mean what; a model's own are found by name.

    What the user says beats what is remembered by the model that the rows are for.
    """
    if roles.missing not in MISSING:
        raise InputError(f"missing={roles.missing!r} must be one of {', '.join(MISSING)}.")
    seek = Seek(table)
    label = seek.one(roles.label_column, "label_column", LABEL_NAMES)
    row_id = seek.one(roles.id_column, "id_column", ID_NAMES if table.has_names else ())
    if remembered is not None:
        return _as_remembered(seek, roles, remembered, label, row_id)
    label = label or seek.lists()
    text = seek.all(roles.text_column, "text_column")
    numbers = seek.all(roles.number_column, "number_column")
    categories = seek.all(roles.category_column, "category_column")
    if not text:
        text = [name for name in [seek.usual(TEXT_NAMES)] if name not in (None, label)]
    taken = {label, row_id, *text, *numbers, *categories}
    if label is None or not text:
        label, text, found_numbers = _by_cells(
            seek, label, text, taken, bool(categories or numbers)
        )
        numbers = numbers or found_numbers
    if label is None or not (text or numbers or categories):
        raise _unclear(table, label, text)
    if label in text:
        raise InputError(f"label_column and text_column both name {label!r}.")
    unseen: dict[str, list[str]] = {name: [] for name in categories}  # all rows tell, not the first
    chosen = Columns(label, tuple(text), tuple(numbers), unseen, row_id, roles.missing)
    return replace(chosen, label_separator=table.label_separator)


def columns_for_rows(
    table: Table, roles: Roles, n_features: int | None, names: Sequence[str] = ()
) -> Columns:
    """Decide what a model that remembers no columns reads: its text, or all of its numbers.

    `n_features` is how many numbers the model takes, None for texts; `names` are theirs, if any.
    """
    seek, path = Seek(table), os.fspath(table.path)
    row_id = seek.one(roles.id_column, "id_column", ID_NAMES if table.has_names else ())
    if n_features is None:
        usual = seek.usual(TEXT_NAMES)
        text = seek.all(roles.text_column, "text_column") or ([usual] if usual else [])
        if not text and len(table.names) == 1:
            text = table.names
        if not text:
            raise InputError(
                f"{path}: which of the columns {table.names} holds the texts? Name it with "
                "text_column=."
            )
        return Columns(text=tuple(text), id=row_id)
    others = {row_id, seek.one(roles.label_column, "label_column", LABEL_NAMES)}
    numbers = [name for name in table.names if name not in others and seek.is_numeric(name)]
    if len(numbers) != n_features and len(names) and set(names) <= set(table.names):
        numbers = list(names)
    if len(numbers) != n_features:
        raise InputError(
            f"{path}: has {len(numbers):,} features; the model was trained on {n_features:,}."
        )
    return Columns(numbers=tuple(numbers), id=row_id, missing=roles.missing)


def _as_remembered(
    seek: Seek, roles: Roles, remembered: Columns, label: str | None, row_id: str | None
) -> Columns:
    usual = TEXT_NAMES if len(remembered.names) == 1 else ()
    text = seek.all(roles.text_column, "text_column") or seek.again(remembered.text, usual)
    if remembered.separate and len(text) != len(remembered.text):
        raise InputError(
            f"text_column={text}: the model reads {len(remembered.text)} texts, each for itself: "
            f"{', '.join(map(repr, remembered.text))}; name as many columns, in this order."
        )
    if roles.label_column is None and remembered.label is not None:
        label = seek.named(remembered.label) or label
    categories = zip(seek.again(remembered.categories), remembered.categories.values(), strict=True)
    return replace(
        remembered,
        label=None if label in text else label,
        text=tuple(text),
        numbers=tuple(seek.again(remembered.numbers)),
        categories=dict(categories),
        id=row_id,
        missing=roles.missing if roles.missing != "refuse" else remembered.missing,
        label_separator=seek.table.label_separator or remembered.label_separator,
    )


def _by_cells(
    seek: Seek, label: str | None, text: list[str], taken: set[Any], has_features: bool
) -> tuple[str | None, list[str], list[str]]:
    """Decide by what stands in the columns that have no role yet."""
    table = seek.table
    rest = [name for name in table.names if name not in taken]
    numeric = [name for name in rest if seek.is_numeric(name)]
    worded = [name for name in rest if name not in numeric]
    prose = [name for name in worded if seek.is_prose(name)]
    if not text and not has_features and len(prose) == 1:
        named = [name for name in worded if name not in prose and seek.repeats(name)]
        label = named[0] if label is None and len(named) == 1 else label
        if label is not None:
            return label, prose, []
    if label is None and len(table.names) == 2 and len(rest) == 2 and not text:
        fewer = min(rest, key=lambda name: len(set(seek.labels(name))))
        label, worded = fewer, [name for name in worded if name != fewer]
        numeric = [name for name in numeric if name != fewer]
    elif label is None and len(rest) == 1 and text:
        label, worded, numeric = rest[0], [], []
    elif label is None and len(worded) == 1 and numeric:
        label, worded = worded[0], []
    if text or label is None:
        return label, text, []
    if not numeric and not has_features and len(worded) == 1:
        return label, worded, []
    if worded and numeric:
        few = [name for name in worded if len(seek.values(name)) <= _MOST_CATEGORIES]
        offer = f"; category_column={few[0]!r} would read it as categories" if few else ""
        names = ", ".join(map(repr, worded))
        warn(
            f"{os.fspath(table.path)}: {names} left out, since the values are not numbers"
            f"{offer}; name a column of texts with text_column=."
        )
    return label, [], numeric


def _unclear(table: Table, label: str | None, text: list[str]) -> DataFileError:
    names = table.names
    shown = f"columns {names}" if table.has_names else f"{len(names)} columns without names"
    rest = [name for name in names if name not in (label, *text)]
    if len(rest) < 2 or (label is None and not text):
        problem = f"has {shown}, and it is not clear which is the label and which is the text"
        expected = "a header with 'label' and 'text', or label_column= and text_column="
    else:
        what = "text" if label is not None else "label"
        problem = f"it is not clear which of {', '.join(map(repr, rest))} is the {what}"
        expected = f"a header with {what!r}, or {what}_column="
    return DataFileError.at(table.path, problem, line=1, expected=expected)
