"""Accuracy of old and new classes while a fifth of them comes in ten additions.

Run it with:  python docs/figures/additions.py

It reads ``docs/records/additions.json``, which ``benchmarks/bench_additions.py`` has measured, and
writes ``docs/images/additions.png``.
"""

from pathlib import Path

from matplotlib.figure import Figure

from dsnc.pictures.drawing import COLORS, look, save
from records import Records

IMAGE = Path(__file__).parents[1] / "images" / "additions.png"


def draw() -> Figure:
    """Draw a panel for each data set: a line for old classes, and one for new ones."""
    rows = [row for row in Records()["additions"]["rows"] if row["choice"] == 0]
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(1.5 + 5 * len(names), 4), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        own = [row for row in rows if row["data"] == name]
        additions = [row for row in own if row["how"] == "ten additions"]
        anew = next(row for row in own if row["how"] == "anew")
        for color, part in zip(COLORS.values(), ("old", "new"), strict=False):
            known = [(row["come"], row[f"{part} %"]) for row in additions if row[f"{part} %"]]
            panel.plot(*zip(*known, strict=True), "o-", color=color, label=f"{part} classes")
            label = f"{part} classes, trained anew on all"
            panel.axhline(anew[f"{part} %"], color=color, linestyle=":", label=label)
        panel.set(title=name, xlabel="classes that have come", ylim=(0, 100))
        panel.legend(loc="lower right", fontsize=8)
    figure.axes[0].set_ylabel("test accuracy, %")
    return figure


if __name__ == "__main__":
    with look("docs/figures/additions.py"):
        save(draw(), IMAGE)
