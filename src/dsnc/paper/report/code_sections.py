"""The blocks about codes and classes of a chapter."""

from collections.abc import Iterator

import numpy as np

from dsnc.paper.experiments.latent_table import METHODS as WITH_CODES
from dsnc.paper.experiments.record import OWN, Record
from dsnc.paper.report.blocks import Block, Card, Picture, drawn
from dsnc.paper.report.chapters import Chapter, DataSet
from dsnc.paper.report.code_space import PAIRS, class_histograms, correlations, shares_of_ones
from dsnc.paper.report.confusions import Confusion, confusions
from dsnc.paper.report.figures import balance_figure, distance_figure, heat_map, picture, sheet
from dsnc.paper.report.figures.pictures import shades
from dsnc.paper.report.sections import METHOD_TITLES

_COLUMNS, _ROWS = 16, 6  # of the sheet of classes
_MISTAKEN = (("dsnc", "shortlist"), ("dsnc_reg", "shortlist"), ("mlp", OWN), ("ecoc", OWN))


def balance_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return how often each bit is set, Reg beside no Reg."""
    pictures = []
    for n_bits in chapter.few_sizes:
        shares = {}
        for record in _with_codes(chapter, n_bits):
            method, codes = record.definition.method, record.test_codes
            if codes is not None:
                shares[method] = METHOD_TITLES[method], shares_of_ones(codes)
        if shares:
            caption = (
                f"Share of ones of each of {n_bits} bits over the test rows, sorted. A bit at one "
                f"half tells the most. {_first_seed(chapter)}"
            )
            figure = balance_figure(f"{n_bits} bits", shares)
            pictures.append(drawn(figure, f"{anchor}-{n_bits}", caption))
    return Block(anchor, "Balance of bits", (), pictures) if pictures else None


def correlation_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return how much bits repeat each other, as pictures of matrices."""
    found = []
    for n_bits in chapter.few_sizes:
        for record in _with_codes(chapter, n_bits):
            codes = record.test_codes
            if codes is not None and n_bits > 1:
                matrix = correlations(codes)
                off = matrix[~np.eye(n_bits, dtype=bool)]
                found.append((n_bits, record.definition.method, matrix, off))
    if not found:
        return None
    # One scale for all that are compared; the diagonal, always 1, would make the rest pale.
    largest = max(0.2, min(1.0, max(float(np.quantile(off, 0.999)) for *_, off in found)))
    pictures = []
    for n_bits, method, matrix, off in found:
        title = f"{METHOD_TITLES[method]}, {n_bits} bits"
        caption = f"{title}: mean {off.mean():.3f}, largest {off.max():.2f}."
        described = f"Matrix of absolute correlations of bits. {caption}"
        pictures.append(Picture(caption, source=heat_map(matrix, largest), description=described))
    words = [f"Absolute correlation of each two bits over the test rows. {_first_seed(chapter)}"]
    scale = ("0", f"{largest:.2f} and more")
    return Block(anchor, "Correlation of bits", words, pictures, shades=shades(), scale=scale)


def distance_block(chapter: Chapter, anchor: str) -> Block | None:
    """Return how far rows of one class are apart, and rows of different classes."""
    pictures = []
    for n_bits in chapter.few_sizes:
        found = {}
        for record in _with_codes(chapter, n_bits):
            codes = record.test_codes
            if codes is not None and len(codes) == len(record.arrays.get("y", ())):
                found[record.definition.method] = class_histograms(codes, record.arrays["y"])
        shares = [100 * h / max(1, h.sum()) for pair in found.values() for h in pair]
        highest = 1.08 * max((float(share.max()) for share in shares), default=1.0)
        for method, (within, between) in found.items():
            title = f"{METHOD_TITLES[method]}, {n_bits} bits"
            caption = f"Hamming distances of pairs of test rows: {title}."
            figure = distance_figure(title, within, between, highest)
            pictures.append(drawn(figure, f"{anchor}-{n_bits}-{method}", caption))
    if not pictures:
        return None
    words = [
        f"{PAIRS:,} pairs of each kind, drawn with replacement and a fixed seed from all pairs of "
        f"different test rows. {_first_seed(chapter)}"
    ]
    return Block(anchor, "Distances within and between classes", words, pictures)


def confusion_block(chapter: Chapter, data: DataSet, anchor: str) -> Block | None:
    """Return the classes that are taken for each other most."""
    for method, decoder in _MISTAKEN:
        for n_bits in reversed(chapter.sizes):
            records = chapter.select(method, n_bits)
            found = confusions(records, decoder)
            if found:
                name = METHOD_TITLES[method] + ("" if decoder == OWN else f" {decoder}")
                seeds = f", {len(records)} seeds together" if len(records) > 1 else ""
                words = [
                    f"The most frequent mistakes of {name} with {n_bits} bits on the test "
                    f"rows{seeds}: the class of the row, then the answer."
                ]
                cards = [_card(confusion, data) for confusion in found]
                return Block(anchor, "Classes taken for each other", words, cards=cards)
    return None


def classes_picture(data: DataSet) -> Picture | None:
    """Return one picture of each of the first classes."""
    pictures = data.pictures
    if pictures is None or not len(pictures):
        return None
    shown = pictures[: _COLUMNS * _ROWS]
    some = "All" if len(shown) == len(pictures) else f"The first {len(shown)} of"
    caption = f"{some} {len(pictures):,} classes: one training row of each."
    return Picture(caption, source=sheet(shown, min(_COLUMNS, len(shown))), description=caption)


def _card(confusion: Confusion, data: DataSet) -> Card:
    words = f"{confusion.mistakes} of {confusion.rows} rows"
    if confusion.reverse:
        words += f"; {confusion.reverse} the other way round"
    return Card(
        data.label(confusion.true),
        data.label(confusion.predicted),
        _small_picture(data, confusion.true),
        _small_picture(data, confusion.predicted),
        words,
    )


def _small_picture(data: DataSet, number: int) -> str:
    if data.pictures is None or number >= len(data.pictures):
        return ""
    return picture(data.pictures[number])


def _with_codes(chapter: Chapter, n_bits: int) -> Iterator[Record]:
    """Yield the first seed of each method whose codes are looked at, no Reg first."""
    for method in WITH_CODES:
        yield from chapter.select(method, n_bits)[:1]


def _first_seed(chapter: Chapter) -> str:
    return "" if len(chapter.seeds) < 2 else f"Seed {chapter.seeds[0]}."
