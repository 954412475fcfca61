"""The figures of the paper, to be shown beside ours.

T. Gerald, A. Léon, N. Baskiotis, L. Denoyer, "Binary Stochastic Representations for Large
Multi-class Classification": its Table 2 (test accuracy in percent) and Table 3.
"""

import json
from collections.abc import Mapping
from pathlib import Path

from dsnc.paper.experiments.definition import Source

COLUMNS = (
    "dsnc/linear",
    "dsnc/nearest",
    "dsnc_reg/linear",
    "dsnc_reg/nearest",
    "mlp",
    "mlp_reg",
    "ecoc",
)

_FIGURES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

ACCURACY: Mapping[str, Mapping[int, tuple[float | None, ...]]] = {
    name: {int(n_bits): tuple(row) for n_bits, row in rows.items()}
    for name, rows in _FIGURES["accuracy"].items()
}
"""Data set to code size to accuracy, in the order of `COLUMNS`. (The MLP of 100 units on ALOI is
printed as 99.96, out of line with its neighbors.)"""

LATENT_COLUMNS = ("train intra", "train inter", "train codes", "test intra", "test inter")

LATENT: Mapping[str, Mapping[tuple[int, bool], tuple[str, ...]]] = {
    name: {(n_bits, is_regularized): tuple(cells) for n_bits, is_regularized, cells in rows}
    for name, rows in _FIGURES["latent"].items()
}
"""Data set to (code size, regularized) to the cells of Table 3, as `LATENT_COLUMNS` has them."""

NAMES: Mapping[str, str] = {
    "dmoz-1k": "DMOZ-1K",
    "dmoz-12k": "DMOZ-12K",
    "aloi": "ALOI",
    "imagenet-resnet152": "IMAGENET",
}
"""Our catalog's name of a data set to the paper's."""


def paper_set(source: Source, data: str) -> str:
    """Return the paper's data set whose figures belong beside ours; empty if there is none."""
    return source.beside or NAMES.get(data, "")
