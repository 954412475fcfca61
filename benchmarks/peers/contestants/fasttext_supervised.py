"""fastText's supervised classifier, by the fork that knows numpy 2.

Where there is no wheel for the Python at hand pip builds it, which takes a C++ compiler. Texts have
their character n-grams as well as their words; nothing is inside tokens made of feature numbers.

It must have eleven threads: ten fill a tenth each of the matrix of its words with first values, the
next what is left over, and without them there is whatever was in memory (facebookresearch/fastText,
issue 1061): accuracy is lost, and often all of it ("Encountered NaN"). They share the cores that
are allowed. Of the labels of a set it draws one for each row of an epoch.

``crop`` is a setting of ours: the share of rows of which an epoch sees only some words in a row. It
reads the same file in each epoch, so the file has several copies of each row, each cropped anew.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data

_LABEL = "__label__"
_BLOCKS = 11
_COPIES = 5  # of each row, where some are cropped


@contextlib.contextmanager
def _on_cores(n: int) -> Iterator[None]:
    """Hold this process to `n` cores for a while, where the system can."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cropped(text: str, rng: np.random.Generator) -> str:
    """Return some of the words, one after another: at least one."""
    words = text.split(" ")
    first, last = sorted(rng.integers(0, len(words), 2))
    return " ".join(words[first : last + 1])


class FastText(Contestant):
    """`fasttext.train_supervised`."""

    package = "fasttext-numpy2"
    module = "fasttext"
    requirements = ("fasttext-numpy2==0.10.4",)
    if_it_fails = "It needs a C++ compiler where there is no wheel for this Python."
    reads = "texts"
    takes_sets = True
    choices = (
        {},
        {"lr": 0.2},
        {"lr": 0.5, "minn": 0, "maxn": 0},
        {"wordNgrams": 2, "bucket": 1 << 18},
    )
    variations = ({"crop": 0.3},)

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int | None:
        """Return few for a softmax, which goes over all classes for each row of each epoch."""
        return 5000 if settings["loss"] == "softmax" else None

    def prepare(self, data: Data) -> None:
        """Write the file that it trains from."""
        y = data.train.y
        sets = y.tolil().rows.tolist() if data.has_sets else y[:, None].tolist()
        share, rng = self.settings.get("crop", 0), np.random.default_rng(0)
        with (self.work / "train.txt").open("w", encoding="utf-8") as file:
            for _ in range(_COPIES if share else 1):
                for labels, text in zip(sets, data.train.texts or (), strict=True):
                    if labels:
                        words = _cropped(text, rng) if rng.random() < share else text
                        named = (f"{_LABEL}{number}" for number in labels)
                        file.write(" ".join([*named, words, "\n"]))

    def fit(self, data: Data) -> None:
        """Train, reading included: it knows no other way."""
        import fasttext

        inside = {"minn": 2, "maxn": 5, "bucket": 1 << 18} if data.own_texts else {}
        settings = {"dim": 100, "epoch": 25, "seed": 0, "verbose": 0} | inside | self.settings
        if settings.pop("crop", 0):
            settings["epoch"] = max(1, settings["epoch"] // _COPIES)
        with _on_cores(self.threads):
            threads = max(_BLOCKS, self.threads)
            self.model = fasttext.train_supervised(
                str(self.work / "train.txt"), **{"thread": threads} | settings
            )

    def predict(self, rows: Any, k: int) -> Any:
        """Return lists of labels, which are strings."""
        return (
            self.model.predict(rows, k)[0] if len(rows) > 1 else [self.model.predict(rows[0], k)[0]]
        )

    def confidences(self, rows: Any) -> NDArray[Any]:
        """Return them beside the best, 0 for a text without any word that is known."""
        found = self.model.predict(rows, 1)[1]
        return np.array([p[0] if len(p) else 0.0 for p in found]).clip(0, 1)

    def numbers(self, answers: Any) -> NDArray[Any]:
        """Read the numbers in the labels."""
        found = ([int(label.removeprefix(_LABEL)) for label in labels] for labels in answers)
        return super().numbers(list(found))

    def save(self) -> Path:
        """Write its binary file, not quantized."""
        self.model.save_model(str(self.work / "model.bin"))
        return self.work / "model.bin"
