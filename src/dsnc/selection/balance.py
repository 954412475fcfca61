"""The balance between old classes and new ones.

A class of few rows is scored lower than it should be, by an amount that no row of its own can tell.
So the model looks at classes that it knows: it forgets some, learns them again from as few codes,
or from their descriptions, and sees what they want on top to be found as often as they should on
held-out codes. Classes of many rows can do without that: some of their rows are held back, and show
what is wanted.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded
from dsnc.decoders import Decoder
from dsnc.decoders.changes import Change
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory, some_of_each
from dsnc.decoders.scoring import FEWEST
from dsnc.selection.attributes import FEWEST_CLASSES, AttributeMap
from dsnc.selection.lesson import Lesson, Rows

DESCRIBED, OF_ATTRIBUTES = 0, -1  # in place of a number of rows
FEW = 8  # rows of a new class that make it hard to find
HELD_BACK = 10  # one of so many rows of a new class shows what it is worth
_SHARE = 0.2  # of the classes, to be forgotten and learned again
_AGAIN, _ROWS_AGAIN = 1000, 10_000  # classes and codes of that, at most
_WORTH, _WORTH_OF_ONE = 0.3, 0.5  # of new classes beside old ones; of those that have one row
_OFFSETS = np.arange(-2, 8.25, 0.25)  # on top of the scores of new classes
_DOUBT = 100  # rows that were held back are believed by half
_TOLERANCE = 0.0005  # of the mean accuracy
_JUDGED = 64  # candidates of a held-out row


def worth_of(n_rows: float) -> float:
    """Return what new classes of so few rows are worth beside old ones, of 1 in all."""
    return _WORTH_OF_ONE if n_rows in (DESCRIBED, 1) else _WORTH


def offset_by_rows(
    decoder: Decoder, memory: Memory, judge: Rows, is_young: NDArray[np.bool_], n_rows: float
) -> float:
    """Return what new classes want on top, as rows of theirs tell that were held back.

    Rows that were held out at fit stand for those of old classes. Most of all rows are to be right,
    where they come as often as in training; a new class counts as an old one does, however few rows
    it has. What few rows tell is believed in part.

    Parameters
    ----------
    decoder : Decoder
        Of all classes, with nothing on top of new ones.
    memory : Memory
        Of the same classes.
    judge : Rows
    is_young : bool array
        Which classes are new.
    n_rows : float
        Of a new class, on average.
    """
    old = memory.counts[~is_young]
    n_new = max(n_rows, float(np.median(old))) * np.count_nonzero(is_young)
    share = n_new / (n_new + float(old.sum()))
    parts = (memory.held_out.logits(), memory.held_out_classes), judge
    worth = np.zeros(len(_OFFSETS))
    for (logits, owners), each in zip(parts, (1 - share, share), strict=True):
        classes, scores = decoder.candidates(Encoded(logits), min(_JUDGED, decoder.n_classes))
        is_new = is_young[np.maximum(classes, 0)]
        truth = classes == owners[:, None]
        right = [_right(scores + offset * is_new, truth).mean() for offset in _OFFSETS]
        worth += each * np.array(right)
    trust = len(judge.classes) / (len(judge.classes) + _DOUBT)
    return trust * float(_OFFSETS[_smooth(worth, 5).argmax()])


def offset_of_new(
    lesson: Lesson, memory: Memory | None, kept: Memory | None, n_rows: int | None, n_new: int
) -> tuple[float, Memory | None]:
    """Return what new classes of so many rows want on top, and the memory, which knows it now."""
    if memory is None or kept is None or n_rows is None:
        return 0.0, kept
    n_rows = min(n_rows, max(1, lesson.how.most))
    found = memory.balance.get(n_rows)
    if found is not None:
        return found, kept
    found = _balance(lesson, memory, n_rows, n_new)
    if n_rows == DESCRIBED:  # which training saw, if classes are known: it may help as a row does
        of_one = _balance(lesson, memory, 1, n_new)
        found = max((offset for offset in (found, of_one) if offset is not None), default=None)
    if found is None:
        return 0.0, kept
    return found, replace(kept, balance={**kept.balance, n_rows: found})


def _balance(lesson: Lesson, memory: Memory, n_rows: int, n_new: int) -> float | None:
    """Forget some classes, learn them again from few codes, and see what they lack."""
    n_classes = lesson.linear.n_classes
    is_again = np.zeros(n_classes, dtype=np.bool_)
    is_again[_learned_again(memory, n_rows, n_new, lesson.how.seed)] = True
    judged = is_again[memory.held_out_classes]
    if min(judged.sum(), (~judged).sum()) < FEWEST // 10 or not len(memory.codes):
        return None
    before = np.where(is_again, -1, np.arange(n_classes))
    others = memory.changed(Change(before))
    rows = _rows_again(memory, others, is_again, n_rows, lesson.how.seed)
    decoder = lesson.learned(others, before, rows).decoder
    width = min(_JUDGED, n_classes)
    classes, scores = decoder.candidates(Encoded(memory.held_out.logits()), width)
    is_new = is_again[np.maximum(classes, 0)]
    truth = classes == memory.held_out_classes[:, None]
    share = worth_of(n_rows)
    worth = [_harmonic(scores + offset * is_new, truth, judged, share) for offset in _OFFSETS]
    smooth = _smooth(worth, 3)
    good = _OFFSETS[smooth >= smooth.max() - _TOLERANCE]
    return float(good[np.abs(good).argmin()])  # no farther than it has to


def _smooth(worth: Any, width: int) -> NDArray[np.float64]:
    """Return the mean of each number and its neighbors, so many in all."""
    padded = np.pad(worth, width // 2, mode="edge")
    return np.convolve(padded, np.ones(width) / width, "valid")


def _rows_again(
    memory: Memory, others: Memory, is_again: NDArray[np.bool_], n_rows: int, seed: int
) -> Rows:
    """Return what classes are learned again from."""
    if n_rows == OF_ATTRIBUTES:
        classes = np.flatnonzero(is_again)
        return Rows(AttributeMap.learned(others).logits(memory.attributes[classes]), classes)
    mine = np.flatnonzero(is_again[memory.classes] & (memory.described == (n_rows == DESCRIBED)))
    if n_rows != DESCRIBED:
        mine = mine[some_of_each(memory.classes[mine], n_rows, seed)]
    return Rows(memory.codes.take(mine).logits(), memory.classes[mine])


def _learned_again(memory: Memory, n_rows: int, n_new: int, seed: int) -> Ints:
    """Return classes to forget: a fifth of all, but no more than can be learned in seconds.

    Where very many come, as large a share: old classes lose more rows to more new ones. Half of
    those that have held-out rows are enough to judge by.
    """
    n_classes = len(memory.counts)
    able = np.ones(n_classes, np.bool_)
    if n_rows == DESCRIBED:
        able = np.isin(np.arange(n_classes), memory.classes[memory.described])
    elif n_rows == OF_ATTRIBUTES:
        able = memory.has_attributes
    is_judged = np.isin(np.arange(n_classes), memory.held_out_classes)
    each = max(1.0, min(n_rows, len(memory.codes) / max(1, n_classes)))
    at_once = min(_AGAIN, _ROWS_AGAIN / each)
    most = int(min(_SHARE * n_classes, max(at_once, n_classes * n_new / (n_classes + n_new))))
    spare = int(able.sum()) // 2
    most = min(most, spare) if spare >= FEWEST_CLASSES else 0
    rng = np.random.default_rng([seed, 11])
    judged = rng.permutation(np.flatnonzero(able & is_judged))
    judged = judged[: min(most, int(is_judged.sum()) // 2)]
    others = rng.permutation(np.flatnonzero(able & ~is_judged))
    return np.sort(np.concatenate([judged, others[: most - len(judged)]]))


def _harmonic(
    scores: NDArray[Any], truth: NDArray[np.bool_], is_new: NDArray[np.bool_], share: float
) -> float:
    """Return the harmonic mean of the accuracies of old and new classes; the new count `share`."""
    right = _right(scores, truth)
    old, new = max(right[~is_new].mean(), 1e-9), max(right[is_new].mean(), 1e-9)
    return float(1 / ((1 - share) / old + share / new))


def _right(scores: NDArray[Any], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which rows are right by the best of their scores."""
    return np.asarray(truth[np.arange(len(truth)), scores.argmax(axis=1)])
