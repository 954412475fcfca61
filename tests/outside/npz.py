"""A file of arrays that ``numpy.savez`` writes: rows under X, and their labels under y."""

from pathlib import Path

import numpy as np

from dsnc.data import Dataset, Reader
from dsnc.data.reader import NO, SURE, blocks_of
from dsnc.errors import DataFileError


class NpzReader(Reader):
    """Rows and labels in one file."""

    endings = ("npz",)

    def detect(self, start):
        is_archive = start.begin.startswith(b"PK\3\4")
        return SURE if is_archive and start.named(self.endings) else NO

    def read(self, path, *, multilabel="auto", classes=None):
        X, y = _arrays(path, "X", "y")
        data = Dataset.from_labels(
            X, y, classes=classes, name=Path(path).stem, source=f"arrays {path}"
        )
        return data.as_label_sets() if multilabel is True else data

    def stream(self, path, options):
        (X,) = _arrays(path, "X")
        return blocks_of(path, X, options)


def _arrays(path, *names):
    with np.load(path, allow_pickle=False) as archive:
        if missing := [name for name in names if name not in archive]:
            raise DataFileError.at(path, f"has no array {missing[0]!r}")
        return [archive[name] for name in names]
