"""A tour of one model of characters: trained in seconds, with strangers and newcomers."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dsnc.classifier import DSNCClassifier
from dsnc.data import Dataset, load_dataset
from dsnc.decoders.memory import some_of_each

_NEW = 0.04  # share of the characters that the model does not know at first
_ROWS_OF_NEW = 5  # pictures of each that it is shown later
_ROWS_TO_TEST = 6  # of each that it knows


@dataclass
class Tour:
    """What a model does, step by step.

    Parameters
    ----------
    n_classes : int
        Characters; some of them are held back at first.
    max_epochs : int
        Passes over the pictures.
    """

    n_classes: int
    max_epochs: int
    model: DSNCClassifier = field(init=False)
    example: Any = field(init=False)  # a picture of a character that came later, if it can be right

    def steps(self) -> Iterator[str]:
        """Train, meet strangers, make their acquaintance; yield what happened, in sentences."""
        data = load_dataset("glyphs", n_classes=self.n_classes)
        n_new = max(2, round(_NEW * self.n_classes))
        is_new = np.isin(data.targets.y, np.linspace(0, self.n_classes - 1, n_new).astype(int))
        test, known = _divided(data.take(np.flatnonzero(~is_new)), _ROWS_TO_TEST)
        few, strangers = _divided(data.take(np.flatnonzero(is_new)), _ROWS_OF_NEW)
        yield self._train(known, test)
        yield self._meet(strangers, test, n_new)
        yield self._add(few, strangers, test)

    def _train(self, known: Dataset, test: Dataset) -> str:
        model = DSNCClassifier(n_bits=64, max_epochs=self.max_epochs, random_state=0)
        begin = time.monotonic()
        self.model = model.fit(known.X, known.labels)
        seconds, accuracy = time.monotonic() - begin, model.score(test.X, test.labels)
        return (
            f"Trained on {len(known):,} pictures of {len(model.classes_):,} characters in "
            f"{seconds:.1f} s, without torch: {accuracy:.1%} of other pictures are right."
        )

    def _meet(self, strangers: Dataset, test: Dataset, n_new: int) -> str:
        noticed = float(self.model.is_unknown(strangers.X).mean())
        lost = float(self.model.is_unknown(test.X).mean())
        return (
            f"Shown {n_new} characters that it has never seen, it takes {noticed:.0%} of the "
            f"pictures for strangers, and {lost:.0%} of those of characters that it knows."
        )

    def _add(self, few: Dataset, strangers: Dataset, test: Dataset) -> str:
        begin = time.monotonic()
        self.model.add_classes(few.X, few.labels)
        seconds = time.monotonic() - begin
        is_right = self.model.predict(strangers.X) == strangers.labels
        self.example = strangers.X[is_right.argmax()][None]
        old = self.model.score(test.X, test.labels)
        return (
            f"Added from {_ROWS_OF_NEW} pictures each in {seconds:.1f} s, without retraining: "
            f"{is_right.mean():.1%} of the new characters' other pictures are right, and "
            f"{old:.1%} of the old ones'."
        )


def _divided(data: Dataset, n: int) -> tuple[Dataset, Dataset]:
    """Return n rows of each class, and the others."""
    some = np.sort(some_of_each(data.targets.y, n, seed=0))
    return data.take(some), data.take(np.setdiff1d(np.arange(len(data)), some))
