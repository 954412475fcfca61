"""The blocks about accuracy, cost and training of a chapter."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dsnc.metrics import CalibrationBins, calibration_bins
from dsnc.paper.experiments.accuracy_table import COLUMNS
from dsnc.paper.experiments.record import OWN, Record
from dsnc.paper.report.blocks import Block, Picture, drawn
from dsnc.paper.report.chapters import Chapter
from dsnc.paper.report.figures import Line, accuracy_figure, cost_figure, learning_figure
from dsnc.paper.report.figures.series import look_of
from dsnc.paper.report.summary import plain, results
from dsnc.pictures.reliability import reliability_figure

METHOD_TITLES = {
    "dsnc": "DSNC",
    "dsnc_reg": "DSNC+Reg",
    "mlp": "MLP",
    "mlp_reg": "MLP+Reg",
    "ecoc": "ECOC",
    "one_vs_rest": "one-vs-rest",
    "nearest_centroid": "nearest centroid",
}
_TRUSTED = (
    ("DSNC shortlist", "dsnc", "shortlist"),
    ("DSNC linear", "dsnc", "linear"),
    ("MLP", "mlp", OWN),
)


Value = Callable[[Mapping[str, Any]], float | None]  # of an epoch


def _percent(epoch: Mapping[str, Any]) -> float | None:
    share = epoch.get("validation_accuracy")
    return None if share is None else 100 * share


def _loss(epoch: Mapping[str, Any]) -> float | None:
    return epoch.get("loss")


# Only losses of classes are compared; ECOC's is one of bits.
_PANELS: tuple[tuple[str, str, tuple[str, ...], Value], ...] = (
    ("validation accuracy", "validation accuracy, %", tuple(METHOD_TITLES), _percent),
    ("loss", "training loss", ("dsnc", "dsnc_reg", "mlp", "mlp_reg"), _loss),
)


def accuracy_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return the table of accuracies, the paper's figures beside ours."""
    if chapter.accuracy is None:
        return None
    return Block(anchor, "Accuracy", table=chapter.accuracy)


def accuracy_lines(chapter: Chapter) -> list[Line]:
    """Return a line for each column of the table of accuracies."""
    found = results(chapter)
    lines = []
    for column in COLUMNS:
        own = [result for result in found if result.column == column]
        if own:
            spreads = [0.0 if np.isnan(r.deviation) else r.deviation for r in own]
            sizes, means = [r.n_bits for r in own], [r.mean for r in own]
            lines.append(Line(column.key, plain(column.title), sizes, means, spreads))
    return lines


def bits_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return how accuracy moves with bits and decoder."""
    if not chapter.sizes:
        return None
    band = "; the band is one standard deviation" if len(chapter.seeds) > 1 else ""
    seeds = "one seed" if len(chapter.seeds) == 1 else f"mean over {len(chapter.seeds)} seeds"
    caption = (
        f"Test accuracy against code size, {seeds}{band}. Dashed: regularized, or a method "
        "without a code size."
    )
    figure = accuracy_figure(accuracy_lines(chapter))
    pictures = [drawn(figure, anchor, caption)]
    return Block(anchor, "How accuracy moves with bits and decoder", (), pictures)


def latent_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return the table of the space of codes."""
    if chapter.latent is None:
        return None
    return Block(anchor, "The space of codes", table=chapter.latent)


def cost_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return accuracy against cost, by the formulas and measured, and the table of all points."""
    curve = chapter.curve
    if curve is None or not curve.points:
        return None
    words, pictures = [], []
    how = {"operations": "by the paper's formulas", "microseconds": "as measured"}
    for cost, said in how.items():
        if any(getattr(point, cost) > 0 for point in curve.points):
            caption = (
                f"Test accuracy against the cost of decoding, {said}. On the gray front no other "
                "model is both cheaper and more accurate; its numbers are bits."
            )
            pictures.append(drawn(cost_figure(curve, cost), f"{anchor}-{cost}", caption))
    if not any(point.microseconds > 0 for point in curve.points):
        words.append("No decoder was timed; dsnc reproduce cost does that.")
    opener = "All models, the fastest first"
    return Block(anchor, "Accuracy against cost", words, pictures, chapter.cost, opener)


def learning_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return validation accuracy and loss by epoch, for the smallest and largest codes."""
    pictures = []
    for n_bits in chapter.few_sizes:
        for name, ylabel, methods, value in _PANELS:
            runs = _learning_runs(chapter, n_bits, methods, value)
            if runs:
                title = f"{n_bits} bits: {name}"
                figure = learning_figure(title, ylabel, runs)
                caption = f"{name.capitalize()} by epoch, {n_bits} bits; one line a seed."
                if name == "loss" and chapter.select("ecoc"):
                    caption += " ECOC's loss is one of bits, and is left out."
                pictures.append(drawn(figure, f"{anchor}-{n_bits}-{name.split()[0]}", caption))
    return Block(anchor, "Learning curves", (), pictures) if pictures else None


def _learning_runs(
    chapter: Chapter, n_bits: int, methods: Sequence[str], value: Value
) -> dict[str, tuple[str, list[tuple[list[float], list[float]]]]]:
    found = {}
    for method in methods:
        seeds = []
        for record in chapter.select(method, n_bits):
            epochs = record.history.get("epochs", ())
            known = [(e["epoch"], v) for e in epochs if (v := value(e)) is not None]
            if known:
                seeds.append(([e for e, _ in known], [v for _, v in known]))
        if seeds:
            found[method] = METHOD_TITLES[method], seeds
    return found


def reliability_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return whether answers are as often right as they claim, for a few decoders."""
    pictures = list(_reliability_pictures(chapter, anchor))
    return Block(anchor, "How honest confidence is", (), pictures) if pictures else None


def _reliability_pictures(chapter: Chapter, anchor: str) -> Iterator[Picture]:
    for n_bits in chapter.few_sizes:
        curves, looks = {}, []
        for title, method, decoder in _TRUSTED:
            bins = _bins(chapter.select(method, n_bits), decoder)
            if bins is not None:
                curves[title] = bins
                look = look_of(f"{method}/{decoder}")
                looks.append((look.color, look.marker))
        if curves:
            figure = reliability_figure(curves, f"{n_bits} bits", looks)
            errors = ", ".join(f"{name} {bins.error:.3f}" for name, bins in curves.items())
            caption = (
                f"Reliability with {n_bits} bits, seeds together. On the dashed line a confidence "
                f"of 80 % is right 8 times in 10. Expected calibration error: {errors}."
            )
            yield drawn(figure, f"{anchor}-{n_bits}", caption)


def _bins(records: Sequence[Record], decoder: str) -> CalibrationBins | None:
    """Return the bins of some runs together; None where confidences are no probabilities."""
    right, confidence = [], []
    for record in records:
        sure = record.arrays.get(f"confidence.{decoder}")
        if sure is not None and len(sure):
            right.append(record.arrays[f"top.{decoder}"][:, 0] == record.arrays["y"])
            confidence.append(sure.astype(np.float64))
    if not right:
        return None
    return calibration_bins(np.concatenate(right), np.concatenate(confidence))
