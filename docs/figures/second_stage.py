"""Accuracy against the time of a row, with other settings of the second stage.

Run it with:  python docs/figures/second_stage.py

It reads ``docs/records/reranker_ablation.json``, which ``benchmarks/bench_reranker.py --ablation``
has measured, and writes ``docs/images/second_stage.png``.
"""

from pathlib import Path

from matplotlib.figure import Figure

from dsnc.pictures.drawing import COLORS, look, save
from records import Records

SHOWN = {  # and where its name stands, in points
    "as chosen": (6, 8),
    "8 candidates": (6, -12),
    "50 candidates": (6, -3),
    "no cascade": (-58, -12),
    "a tenth of the budget": (6, 2),
    "a hundredth of the budget": (6, -10),
}
IMAGE = Path(__file__).parents[1] / "images" / "second_stage.png"


def draw() -> Figure:
    """Draw a panel for each data set: a point for each setting."""
    rows = Records()["reranker_ablation"]["rows"]
    names = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    for panel, name in zip(figure.subplots(1, len(names)), names, strict=True):
        own = [row for row in rows if row["data"] == name]
        without = next(row for row in own if row["second stage"] == "none")
        color, *_ = COLORS.values()
        panel.axhline(without["test %"], color="gray", linestyle="--", label="no second stage")
        for row in own:
            if row["second stage"] in SHOWN:
                panel.plot(row["us a row"], row["test %"], "o", color=color)
                place = {"xytext": SHOWN[row["second stage"]], "textcoords": "offset points"}
                where = row["us a row"], row["test %"]
                panel.annotate(row["second stage"], where, fontsize=8, **place)
        panel.set(title=f"{name}, {own[0]['bits']} bits", xlabel="µs a row")
        panel.margins(0.12)
        panel.legend(loc="center right", fontsize=8)
    figure.axes[0].set_ylabel("test accuracy, %")
    return figure


if __name__ == "__main__":
    with look("docs/figures/second_stage.py"):
        save(draw(), IMAGE)
