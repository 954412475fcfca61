"""What stands in a cell of a table: nothing, a number, labels, or something else."""

from typing import Any

_MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


def is_missing(cell: Any) -> bool:
    """Tell whether a cell holds nothing."""
    return cell.strip().lower() in _MISSING if isinstance(cell, str) else is_null(cell)


def is_null(cell: Any) -> bool:
    """Tell whether a cell of JSON or Parquet holds nothing."""
    return cell is None or bool(cell != cell)  # noqa: PLR0124 - NaN differs from itself


def is_number(cell: Any) -> bool:
    """Tell whether a cell holds a number, maybe with a decimal comma."""
    return number(cell, decimal_comma=True) is not None


def number(cell: Any, *, decimal_comma: bool) -> float | None:
    """Return the number in a cell, or None."""
    if isinstance(cell, str):
        text = cell.strip()
        if decimal_comma and text.count(",") == 1 and "." not in text:
            text = text.replace(",", ".")
        try:
            return float(text) if "_" not in text else None
        except ValueError:
            return None
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):  # JSON has whole numbers of any size
        return None


def labels_in(cell: Any, separator: str | None = None) -> list[Any]:
    """Return the labels in a cell: of a list, or between separators; nothing is no label.

    Examples
    --------
    >>> labels_in(" ox | bee || ", "|")
    ['ox', 'bee']
    """
    several = isinstance(cell, str) and separator is not None
    items = cell.split(separator) if several else cell if isinstance(cell, list) else [cell]
    stripped = (item.strip() if isinstance(item, str) else item for item in items)
    return [item for item in stripped if not (is_null(item) or item == "")]
