"""Other people's tools beside dsnc: accuracy against time, and time against classes.

Run it with:  python docs/figures/comparison.py

It reads the records ``docs/records/comparison/DATA.json``, which ``benchmarks/peers`` has measured,
and writes ``comparison_predict.png``, ``comparison_train.png`` and ``comparison_classes.png`` to
``docs/images``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from dsnc.pictures.drawing import COLORS, FAINT, look, save
from records import Records

LOOKS = {  # of a contestant, by how its name begins
    "dsnc n_bits=64": ("vermillion", "o"),
    "dsnc n_bits=128": ("vermillion", "d"),
    "dsnc n_bits=200": ("vermillion", "D"),
    "dsnc n_bits=64 reranker=None": ("vermillion", "1"),
    "dsnc n_bits=200 reranker=None": ("vermillion", "2"),
    "dsnc-texts n_bits=64": ("orange", "o"),
    "dsnc-texts n_bits=200": ("orange", "D"),
    "dsnc-texts n_bits=64 reranker=None": ("orange", "1"),
    "dsnc-texts n_bits=200 reranker=None": ("orange", "2"),
    "mlp": ("blue", "s"),
    "linear-svc": ("green", "^"),
    "sgd": ("green", "v"),
    "output-code": ("green", "P"),
    "nearest-centroid": ("green", "X"),
    "centroid-cosine": ("blue", "X"),
    "nearest-neighbors": ("blue", "+"),
    "fasttext": ("purple", "<"),
    "fasttext-hs": ("purple", ">"),
    "napkinxc-plt": ("sky", "p"),
    "pecos-xlinear": ("blue", "*"),
    "omikuji": ("sky", "h"),
}
TIMES = {"predict": ("µs/row", "µs a row"), "train": ("train s", "seconds of training")}
ACROSS = 2  # panels side by side: more are too small for a phone
IMAGES = Path(__file__).parents[1] / "images"

Rows = list[dict[str, Any]]


def data_sets(records: Records) -> Iterator[tuple[str, Rows]]:
    """Yield each data set and who has times on it, those with fewest classes first.

    A marked time, which is that of a busy machine, is not drawn.
    """
    found = [r["rows"] for name, r in records.items() if name.startswith("comparison/")]
    measured = [[row for row in rows if isinstance(row.get("µs/row"), float)] for rows in found]
    for rows in sorted(filter(None, measured), key=lambda rows: rows[0]["classes"]):
        yield rows[0]["data"], rows


def accuracy(row: dict[str, Any]) -> float:
    """Return the percentage of right answers; of label sets, of right labels among the first."""
    right: float = row["P@1 %" if row["label sets"] else "top-1 %"]
    return right


def front(rows: Rows, time: str) -> Rows:
    """Return who is beaten by nobody in both accuracy and time, the fastest first."""
    best: Rows = []
    for row in sorted(rows, key=lambda row: (row[time], -accuracy(row))):
        if not best or accuracy(row) > accuracy(best[-1]):
            best.append(row)
    return best


def draw_fronts(records: Records, time: str, label: str) -> Figure:
    """Draw a panel for each data set: a point for each contestant, and a line along the front."""
    sets = list(data_sets(records))
    height = -(-len(sets) // ACROSS)
    figure = Figure(figsize=(7, 2.9 * height + 1), layout="constrained")
    panels = figure.subplots(height, ACROSS, squeeze=False).ravel()
    for panel, (name, rows) in zip(panels, sets, strict=False):
        best = front(rows, time)
        places = [row[time] for row in best], [accuracy(row) for row in best]
        panel.plot(*places, color=FAINT, linewidth=1, zorder=1)
        for row in rows:
            point(panel, row["contestant"], row[time], accuracy(row))
        n_classes, what = rows[0]["classes"], "labels" if rows[0]["label sets"] else "classes"
        panel.set(xscale="log", title=f"{name}, {n_classes:,} {what}", xlabel=label)
        plain_numbers(panel.xaxis)
        panel.set_ylabel("P@1, %" if rows[0]["label sets"] else "accuracy, %")
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    legend(figure, [row for _, rows in sets for row in rows])
    return figure


def draw_classes(records: Records) -> Figure:
    """Draw the time of a row, and of training for each of its rows, against the classes."""
    rows = [row for _, rows in data_sets(records) for row in rows]
    times = {
        "µs a row": [row["µs/row"] for row in rows],
        "training, µs a row": [1e6 * row["train s"] / row["train"] for row in rows],
    }
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    for panel, (title, values) in zip(figure.subplots(1, 2), times.items(), strict=True):
        for row, value in zip(rows, values, strict=True):
            point(panel, row["contestant"], row["classes"], value)
        panel.set(xscale="log", yscale="log", xlabel="classes, or labels", title=title)
        plain_numbers(panel.xaxis, (1,))
        plain_numbers(panel.yaxis)
    legend(figure, rows)
    return figure


def plain_numbers(axis: Axis, numbers: tuple[int, ...] = (1, 3)) -> None:
    """Write 1, 3, 10, 30 and so on at a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=numbers))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_minor_formatter(NullFormatter())


def point(panel: Axes, name: str, x: float, y: float) -> None:
    """Draw one contestant."""
    color, marker = LOOKS[name]
    panel.plot(x, y, marker, color=COLORS[color], markersize=7, alpha=0.85, zorder=2)


def legend(figure: Figure, rows: Rows) -> None:
    """Name those that are there, below all panels."""
    there = {row["contestant"] for row in rows}
    for name, (color, marker) in LOOKS.items():
        if name in there:
            figure.axes[0].plot([], [], marker, color=COLORS[color], markersize=7, label=name)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)


if __name__ == "__main__":
    with look("docs/figures/comparison.py"):
        for kind, (time, label) in TIMES.items():
            save(draw_fronts(Records(), time, label), IMAGES / f"comparison_{kind}.png")
        save(draw_classes(Records()), IMAGES / "comparison_classes.png")
