"""The most important figures of a data set."""

from dataclasses import dataclass

from dsnc.progress import count


@dataclass(frozen=True)
class Summary:
    """How large a data set is, and how its labels are distributed."""

    name: str
    rows: int
    features: int | None
    density: float | None
    classes: int
    labels_per_row: float
    per_class_min: int
    per_class_median: float
    per_class_max: int
    splits: dict[str, int]
    has_label_sets: bool = False
    rows_without_label: int = 0

    @property
    def labels_text(self) -> str:
        """The number of classes, or of labels and labels per row, in words."""
        if not self.has_label_sets:
            return count(self.classes, "class")
        none = (
            f", {count(self.rows_without_label, 'row')} without any"
            if self.rows_without_label
            else ""
        )
        return f"label sets, {count(self.classes, 'label')}, {self.labels_per_row:.1f} a row{none}"

    def lines(self) -> list[tuple[str, str]]:
        """Return (what, value) pairs, ready to print."""
        features = "raw text" if self.features is None else f"{self.features:,}"
        lines = [("rows", f"{self.rows:,}"), ("features", features)]
        if self.density is not None:
            lines.append(("density", f"{self.density:.3%}"))
        what = "label" if self.has_label_sets else "class"
        lines.append(("labels" if self.has_label_sets else "classes", f"{self.classes:,}"))
        if self.has_label_sets:
            lines.append(("labels per row", f"{self.labels_per_row:.2f}"))
            lines.append(("rows without a label", f"{self.rows_without_label:,}"))
        spread = f"{self.per_class_min:,} / {self.per_class_median:,.0f} / {self.per_class_max:,}"
        lines.append((f"rows per {what}, min / median / max", spread))
        lines += [(f"{name} rows", f"{rows:,}") for name, rows in self.splits.items()]
        return lines

    def __str__(self) -> str:
        """Return a small table as plain text."""
        lines = self.lines()
        width = max(len(what) for what, _ in lines)
        return "\n".join([self.name, *(f"  {what:<{width}}  {value}" for what, value in lines)])
