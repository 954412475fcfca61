"""Accuracy of classes that come later, by their rows, with and without a description.

Run it with:  python docs/figures/refining.py

It reads ``docs/records/refining.json``, which ``benchmarks/bench_zero_shot.py --refine`` has
measured, and writes ``docs/images/refining.png``.
"""

from pathlib import Path

from matplotlib.figure import Figure

from dsnc.pictures.drawing import COLORS, look, save
from records import Records

IMAGE = Path(__file__).parents[1] / "images" / "refining.png"
HOW = {"described": "rows and a description", "alone": "rows alone"}


def draw() -> Figure:
    """Draw a line for new classes and a thin one for old classes, with and without."""
    rows = Records()["refining"]["rows"]
    figure = Figure(figsize=(7, 4), layout="constrained")
    panel = figure.subplots()
    for color, (how, name) in zip(COLORS.values(), HOW.items(), strict=False):
        own = [row for row in rows if row[f"new %, {how}"] is not None]
        places = [rows.index(row) for row in own]
        new, old = ([row[f"{part} %, {how}"] for row in own] for part in ("new", "old"))
        panel.plot(places, new, "o-", color=color, label=f"new classes: {name}")
        panel.plot(places, old, ":", color=color, label="old classes beside them")
    panel.set_xticks(range(len(rows)), [row["rows a class"] for row in rows])
    panel.set(xlabel="rows of a new class", ylabel="test accuracy, %", ylim=(0, None))
    panel.legend(loc="lower right", fontsize=8)
    return figure


if __name__ == "__main__":
    with look("docs/figures/refining.py"):
        save(draw(), IMAGE)
