"""The folder that every contestant reads: rows as .npz, texts as .txt, classes as .npy.

Train, validation and test have ``PART.npz`` (CSR, or dense under key X), ``PART.txt`` (a text in
each line) and ``PART_y.npy`` (class numbers 0..K-1, each with a training row) or, where rows have
label sets, ``PART_Y.npz`` (CSR, a column for each label); ``about.json`` has the rest. Needs numpy
and scipy only.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

PARTS = ("train", "validation", "test")


class Part(NamedTuple):
    """Rows with their classes."""

    X: Any  # csr_matrix or ndarray, float32; None if not asked for
    y: Any  # int32 array, or csr_matrix of label sets
    texts: list[str] | None


class Data(NamedTuple):
    """A data set."""

    name: str
    n_classes: int
    own_texts: bool  # else the lines of PART.txt are tokens made of feature numbers
    train: Part
    validation: Part
    test: Part

    @property
    def has_sets(self) -> bool:
        """Whether rows have label sets."""
        return bool(sp.issparse(self.train.y))


def read(folder: Path, reads: str) -> Data:
    """Read the folder: its "rows", or its "texts"."""
    about = read_about(folder)
    parts = (_read_part(folder, part, reads) for part in PARTS)
    return Data(about["name"], about["classes"], about["own texts"], *parts)


def read_about(folder: Path) -> dict[str, Any]:
    """Read what the folder says of itself."""
    about: dict[str, Any] = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return about


def write_part(folder: Path, name: str, part: Part) -> None:
    """Write one part."""
    if sp.issparse(part.X):
        sp.save_npz(folder / f"{name}.npz", sp.csr_matrix(part.X), compressed=False)
    else:
        np.savez(folder / f"{name}.npz", X=part.X)
    if sp.issparse(part.y):
        sp.save_npz(folder / f"{name}_Y.npz", sp.csr_matrix(part.y))
    else:
        np.save(folder / f"{name}_y.npy", part.y)
    lines = "".join(f"{' '.join(text.split())}\n" for text in part.texts or ())
    (folder / f"{name}.txt").write_text(lines, encoding="utf-8", errors="replace")


def _read_part(folder: Path, name: str, reads: str) -> Part:
    if (folder / f"{name}_Y.npz").is_file():
        y: Any = sp.load_npz(folder / f"{name}_Y.npz")
    else:
        y = np.load(folder / f"{name}_y.npy")
    if reads == "texts":
        lines = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
        return Part(None, y, lines[:-1])
    with np.load(folder / f"{name}.npz") as archive:
        if "X" in archive:
            return Part(archive["X"], y, None)
        parts = archive["data"], archive["indices"], archive["indptr"]
        return Part(sp.csr_matrix(parts, shape=tuple(archive["shape"])), y, None)
