"""The blocks of a chapter: what each shows, and what it says."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dsnc.codes import PackedCodes
from dsnc.metrics import CalibrationBins, calibration_bins
from dsnc.paper.experiments import METHODS, Record, Table, accuracy_table, cost_curve, latent_table
from dsnc.paper.experiments.accuracy_table import series_key
from dsnc.paper.experiments.record import OWN
from dsnc.paper.report import figures
from dsnc.paper.report.chapters import Chapter, DataSet
from dsnc.paper.report.code_space import (
    PAIRS,
    Confusion,
    class_histograms,
    confusions,
    correlations,
    shares_of_ones,
)
from dsnc.paper.report.summary import results
from dsnc.pictures.drawing import inline_svg
from dsnc.pictures.reliability import reliability_figure

_TRUSTED = (("dsnc", "shortlist"), ("dsnc", "linear"), ("mlp", OWN))
_MISTAKEN = (("dsnc", "shortlist"), ("dsnc_reg", "shortlist"), ("mlp", OWN), ("ecoc", OWN))
_COLUMNS, _ROWS = 16, 6  # of the sheet of classes
# A figure of each epoch, in what unit. Only losses of classes are compared; ECOC's is one of bits.
_PANELS = (
    ("validation_accuracy", 100, "validation accuracy, %", tuple(METHODS)),
    ("loss", 1, "training loss", ("dsnc", "dsnc_reg", "mlp", "mlp_reg")),
)


@dataclass(frozen=True)
class Picture:
    """A figure with its caption: an SVG element, or the address of a small picture."""

    caption: str
    svg: str = ""
    source: str = ""
    description: str = ""  # of a small picture


@dataclass(frozen=True)
class Block:
    """A heading and what stands under it."""

    anchor: str
    title: str
    words: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    table: Table | None = None
    folded: str = ""  # the line that opens the table; empty where it is open
    cards: Sequence[Mapping[str, str]] = ()  # of classes that were taken for others
    shades: Sequence[str] = ()  # of a scale below small pictures
    scale: Sequence[str] = ()  # the words at its ends


def chapter_blocks(chapter: Chapter, data: DataSet, anchor: str) -> list[Block]:
    """Return the blocks of a chapter for which there is something to show."""
    blocks = [make(chapter, f"{anchor}-{name}") for name, make in _BLOCKS.items()]
    blocks.append(_confusions(chapter, data, f"{anchor}-confusions"))
    return [block for block in blocks if block.pictures or block.table or block.cards]


def accuracy_lines(chapter: Chapter) -> list[figures.Line]:
    """Return a line for each column of the table of accuracies."""
    lines = []
    for column, group in groupby(results(chapter), key=lambda result: result.column):
        own = list(group)
        sizes, means = [r.n_bits for r in own], [r.cell.value for r in own]
        spreads = [r.cell.deviation for r in own]
        lines.append(figures.Line(column.key, column.title, sizes, means, spreads))
    return lines


def classes_picture(data: DataSet) -> Picture | None:
    """Return one picture of each of the first classes."""
    pictures = data.pictures
    if pictures is None or not len(pictures):
        return None
    shown = pictures[: _COLUMNS * _ROWS]
    some = "All" if len(shown) == len(pictures) else f"The first {len(shown)} of"
    caption = f"{some} {len(pictures):,} classes: one training row of each."
    source = figures.sheet(shown, min(_COLUMNS, len(shown)))
    return Picture(caption, source=source, description=caption)


def _drawn(figure: Any, anchor: str, caption: str) -> Picture:
    """Return a matplotlib figure as a part of a page; its caption describes it."""
    return Picture(caption, svg=inline_svg(figure, anchor, caption))


def _first(tables: Sequence[Table]) -> Table | None:
    """Return the only table of a chapter, if it has rows."""
    return next((table for table in tables if table.rows), None)


def _accuracy(chapter: Chapter, anchor: str) -> Block:
    """Return the table of accuracies, the paper's figures beside ours."""
    return Block(anchor, "Accuracy", table=_first(accuracy_table.tables(chapter.records)))


def _bits(chapter: Chapter, anchor: str) -> Block:
    """Return how accuracy moves with bits and decoder."""
    band = "; the band is one standard deviation" if len(chapter.seeds) > 1 else ""
    seeds = "one seed" if len(chapter.seeds) == 1 else f"mean over {len(chapter.seeds)} seeds"
    caption = (
        f"Test accuracy against code size, {seeds}{band}. Dashed: regularized, or a method "
        "without a code size."
    )
    pictures = []
    if chapter.sizes:
        figure = figures.accuracy_figure(accuracy_lines(chapter))
        pictures.append(_drawn(figure, anchor, caption))
    return Block(anchor, "How accuracy moves with bits and decoder", (), pictures)


def _latent(chapter: Chapter, anchor: str) -> Block:
    """Return the table of the space of codes."""
    return Block(anchor, "The space of codes", table=_first(latent_table.tables(chapter.records)))


def _cost(chapter: Chapter, anchor: str) -> Block:
    """Return accuracy against cost, by the formulas and measured, and the table of all points."""
    title, curve = "Accuracy against cost", chapter.curve
    if curve is None or not curve.points:
        return Block(anchor, title)
    words, pictures = [], []
    how = {"operations": "by the paper's formulas", "microseconds": "as measured"}
    for cost, said in how.items():
        if any(getattr(point, cost) > 0 for point in curve.points):
            caption = (
                f"Test accuracy against the cost of decoding, {said}. On the gray front no other "
                "model is both cheaper and more accurate; its numbers are bits."
            )
            figure = figures.cost_figure(curve, cost)
            pictures.append(_drawn(figure, f"{anchor}-{cost}", caption))
    if not any(point.microseconds > 0 for point in curve.points):
        words.append("No decoder was timed; dsnc reproduce cost does that.")
    opener = "All models, the fastest first"
    return Block(anchor, title, words, pictures, cost_curve.table(curve), opener)


def _learning(chapter: Chapter, anchor: str) -> Block:
    """Return validation accuracy and loss by epoch, for the smallest and largest codes."""
    pictures = []
    for n_bits in chapter.few_sizes:
        for key, unit, ylabel, methods in _PANELS:
            name = key.replace("_", " ")
            runs = {
                method: (METHODS[method].title, seeds)
                for method in methods
                if (seeds := list(_seeds(chapter.select(method, n_bits), key, unit)))
            }
            if runs:
                figure = figures.learning_figure(f"{n_bits} bits: {name}", ylabel, runs)
                caption = f"{name.capitalize()} by epoch, {n_bits} bits; one line a seed."
                if name == "loss" and chapter.select("ecoc"):
                    caption += " ECOC's loss is over bits, and is left out."
                pictures.append(_drawn(figure, f"{anchor}-{n_bits}-{name.split()[0]}", caption))
    return Block(anchor, "Learning curves", (), pictures)


def _seeds(records: Sequence[Record], key: str, unit: float) -> Iterator[figures.Run]:
    """Yield the epochs and values of each run that has some."""
    for record in records:
        known = [e for e in record.history.get("epochs", ()) if e.get(key) is not None]
        if known:
            yield [e["epoch"] for e in known], [unit * e[key] for e in known]


def _reliability(chapter: Chapter, anchor: str) -> Block:
    """Return whether answers are as often right as they claim, for a few decoders."""
    titles = {column.key: column.title for column in accuracy_table.COLUMNS}
    pictures = []
    for n_bits in chapter.few_sizes:
        curves, looks = {}, []
        for method, decoder in _TRUSTED:
            bins = _bins(chapter.select(method, n_bits), decoder)
            if bins is not None:
                key = series_key(method, decoder)
                curves[titles[key]] = bins
                looks.append(figures.look_of(key)[:2])
        if curves:
            figure = reliability_figure(curves, f"{n_bits} bits", looks)
            errors = ", ".join(f"{name} {bins.error:.3f}" for name, bins in curves.items())
            caption = (
                f"Reliability with {n_bits} bits, seeds together. On the dashed line a confidence "
                f"of 80 % is right 8 times in 10. Expected calibration error: {errors}."
            )
            pictures.append(_drawn(figure, f"{anchor}-{n_bits}", caption))
    return Block(anchor, "How honest the probabilities are", (), pictures)


def _bins(records: Sequence[Record], decoder: str) -> CalibrationBins | None:
    """Return the bins of some runs together; None where confidences are not probabilities."""
    runs = [r.arrays for r in records if len(r.arrays.get(f"confidence.{decoder}", ()))]
    if not runs:
        return None
    right = [arrays[f"top.{decoder}"][:, 0] == arrays["y"] for arrays in runs]
    confidence = [arrays[f"confidence.{decoder}"].astype(np.float64) for arrays in runs]
    return calibration_bins(np.concatenate(right), np.concatenate(confidence))


def _with_codes(chapter: Chapter, n_bits: int) -> Iterator[tuple[str, Record, PackedCodes]]:
    """Yield methods whose codes are looked at, no Reg first, with the run of the first seed."""
    for method in latent_table.METHODS:
        for record in chapter.select(method, n_bits)[:1]:
            if record.test_codes is not None:
                yield method, record, record.test_codes


def _first_seed(chapter: Chapter) -> str:
    return "" if len(chapter.seeds) < 2 else f"Seed {chapter.seeds[0]}."


def _balance(chapter: Chapter, anchor: str) -> Block:
    """Return how often each bit is set, Reg beside no Reg."""
    pictures = []
    for n_bits in chapter.few_sizes:
        shares = {
            method: (METHODS[method].title, shares_of_ones(codes))
            for method, _, codes in _with_codes(chapter, n_bits)
        }
        if shares:
            caption = (
                f"Share of ones of each of {n_bits} bits over the test rows, sorted. A bit at one "
                f"half carries the most information. {_first_seed(chapter)}"
            )
            figure = figures.balance_figure(f"{n_bits} bits", shares)
            pictures.append(_drawn(figure, f"{anchor}-{n_bits}", caption))
    return Block(anchor, "Balance of bits", (), pictures)


def _correlation(chapter: Chapter, anchor: str) -> Block:
    """Return how much bits repeat each other, as pictures of matrices."""
    found = []
    for n_bits in chapter.few_sizes:
        for method, _, codes in _with_codes(chapter, n_bits) if n_bits > 1 else ():
            matrix = correlations(codes)
            off = matrix[~np.eye(n_bits, dtype=bool)]
            found.append((f"{METHODS[method].title}, {n_bits} bits", matrix, off))
    # One scale for all that are compared; the diagonal, always 1, would make the rest pale.
    largest = max((float(np.quantile(off, 0.999)) for *_, off in found), default=0.0)
    largest = max(0.2, min(1.0, largest))
    pictures = []
    for title, matrix, off in found:
        caption = f"{title}: mean {off.mean():.3f}, largest {off.max():.2f}."
        described = f"Matrix of absolute correlations of bits. {caption}"
        source = figures.heat_map(matrix, largest)
        pictures.append(Picture(caption, source=source, description=described))
    words = [
        f"Absolute correlation of each pair of bits over the test rows. {_first_seed(chapter)}"
    ]
    scale = ("0", f"{largest:.2f} and more")
    shades = figures.shades()
    return Block(anchor, "Correlation of bits", words, pictures, shades=shades, scale=scale)


def _distances(chapter: Chapter, anchor: str) -> Block:
    """Return how far rows of one class are apart, and rows of different classes."""
    pictures = []
    for n_bits in chapter.few_sizes:
        found = {
            method: class_histograms(codes, record.arrays["y"])
            for method, record, codes in _with_codes(chapter, n_bits)
            if len(codes) == len(record.arrays.get("y", ()))
        }
        shares = [100 * h / max(1, h.sum()) for pair in found.values() for h in pair]
        highest = 1.08 * max((float(share.max()) for share in shares), default=1.0)
        for method, (within, between) in found.items():
            title = f"{METHODS[method].title}, {n_bits} bits"
            caption = f"Hamming distances of pairs of test rows: {title}."
            figure = figures.distance_figure(title, within, between, highest)
            pictures.append(_drawn(figure, f"{anchor}-{n_bits}-{method}", caption))
    words = [
        f"{PAIRS:,} pairs of each kind, drawn with replacement and a fixed seed from all pairs of "
        f"different test rows. {_first_seed(chapter)}"
    ]
    return Block(anchor, "Distances within and between classes", words, pictures)


def _confusions(chapter: Chapter, data: DataSet, anchor: str) -> Block:
    """Return the classes that are taken for each other most."""
    title = "Classes mistaken for each other"
    for method, decoder in _MISTAKEN:
        for n_bits in reversed(chapter.sizes):
            records = chapter.select(method, n_bits)
            found = confusions(records, decoder)
            if found:
                name = METHODS[method].title + ("" if decoder == OWN else f" {decoder}")
                seeds = f", {len(records)} seeds together" if len(records) > 1 else ""
                words = [
                    f"The most frequent mistakes of {name} with {n_bits} bits on the test "
                    f"rows{seeds}: the class of the row, then the answer."
                ]
                return Block(anchor, title, words, cards=[_card(one, data) for one in found])
    return Block(anchor, title)


def _card(confusion: Confusion, data: DataSet) -> dict[str, str]:
    """Return a class that was taken for another: labels, pictures if any, and how often."""
    words = f"{confusion.mistakes} of {confusion.rows} rows"
    if confusion.reverse:
        words += f"; {confusion.reverse} the other way around"
    card, pictures = {"words": words}, [] if data.pictures is None else [*data.pictures]
    for side, number in (("true", confusion.true), ("predicted", confusion.predicted)):
        card[side] = data.label(number)
        known = number < len(pictures)
        card[f"{side}_picture"] = figures.picture(pictures[number]) if known else ""
    return card


_BLOCKS: Mapping[str, Callable[[Chapter, str], Block]] = {
    "accuracy": _accuracy,
    "bits": _bits,
    "latent": _latent,
    "cost": _cost,
    "learning": _learning,
    "reliability": _reliability,
    "balance": _balance,
    "correlation": _correlation,
    "distances": _distances,
}
