"""The classes that are taken for each other most."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dsnc.paper.experiments import Record


class Confusion(NamedTuple):
    """Rows of one class that were given another one."""

    true: int
    predicted: int
    mistakes: int  # rows, over all runs
    rows: int  # of the true class, over all runs
    reverse: int  # rows of the other class that were given this one


def confusions(records: Iterable[Record], decoder: str, most: int = 12) -> list[Confusion]:
    """Return the most frequent mistakes of some runs together, ties by class number.

    Parameters
    ----------
    records : iterable of Record
        Runs on the same test rows; those without answers of the decoder are left out.
    decoder : str
        Whose first answers are looked at.
    most : int
        How many pairs are returned.
    """
    true, predicted = [], []
    for record in records:
        top = record.arrays.get(f"top.{decoder}")
        if top is not None and len(top):
            true.append(record.arrays["y"].astype(np.int64))
            predicted.append(top[:, 0].astype(np.int64))
    if not true:
        return []
    y, answers = np.concatenate(true), np.concatenate(predicted)
    wrong = y != answers
    n = int(max(y.max(), answers.max())) + 1
    pairs, counts = np.unique(y[wrong] * n + answers[wrong], return_counts=True)
    number = dict(zip(pairs.tolist(), counts.tolist(), strict=True))
    rows = np.bincount(y, minlength=n)
    order = np.argsort(-counts, kind="stable")[:most]
    found = []
    for pair, count in zip(pairs[order].tolist(), counts[order].tolist(), strict=True):
        a, b = divmod(pair, n)
        found.append(Confusion(a, b, count, int(rows[a]), number.get(b * n + a, 0)))
    return found
