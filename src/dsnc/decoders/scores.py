"""No decoding: the encoder has one output for each class, which is the score of the class."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dsnc.arrays import check_arrays, numbers
from dsnc.checks import one_of, whole
from dsnc.codes import Encoded
from dsnc.decoders.base import Decoder
from dsnc.decoders.linear import Floats, best_classes, keep_best
from dsnc.errors import InputError
from dsnc.rows import Cost

_LARGEST = float(np.finfo(np.float32).max) / 4  # a difference of two is still a number
_LEAST = np.float32(1e-30)  # probability of a class that its classifier rules out
LINKS = ("softmax", "sigmoid", "margin")  # model files hold the position: append only


class ScoresDecoder(Decoder):
    """Uses the outputs of the encoder as the scores of the classes.

    Parameters
    ----------
    n_classes : int
        Number of classes, and of outputs.
    link : "softmax", "sigmoid" or "margin", default "softmax"
        How scores become probabilities. "softmax" is a softmax over all classes. With the others,
        each score f becomes a probability by itself, and these are divided by their sum: "sigmoid"
        takes f for the log-odds of its class against the rest; "margin" takes (1 + f) / 2, but at
        least 0, which is what the squared hinge estimates (T. Zhang, "Statistical behavior and
        consistency of classification methods based on convex risk minimization", 2004).

    Examples
    --------
    >>> ScoresDecoder(3).top_k(Encoded([[0.5, 2.0, -1.0]]), 2)
    (array([[1, 0]]), array([[2. , 0.5]], dtype=float32))
    """

    name: ClassVar[str] = "scores"

    def __init__(self, n_classes: int, link: str = "softmax") -> None:
        self.n_classes = self.n_bits = whole("n_classes", n_classes)
        self.link = one_of("link", link, LINKS)

    def top_k(self, encoded: Encoded, k: int) -> tuple[NDArray[np.int64], Floats]:
        """Find the k best classes of each row, as `Decoder.top_k` does."""
        return best_classes(iter([(0, self._scores(encoded))]), self.check_k(k))

    def proba(self, encoded: Encoded) -> Floats:
        """Return (n, n_classes) probabilities, as the link says."""
        logits = self._scores(encoded)
        scores: Floats = np.clip(logits, -_LARGEST, _LARGEST)
        if self.link != "softmax":
            best = logits.argmax(axis=1)
            if self.link == "sigmoid":
                scores = -np.logaddexp(np.float32(0), -scores)
            else:
                scores = np.log(np.maximum((1 + scores) / 2, _LEAST))
            keep_best(scores, best)
        self.confidence.softmax(scores)
        return scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the number of classes and the number of the link."""
        link = np.array([LINKS.index(self.link)], dtype=np.int8)
        return {"n_classes": np.array([self.n_classes], dtype=np.int64), "link": link}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Self:
        """Make the decoder from its arrays, which are checked."""
        check_arrays("scores decoder", arrays, {"n_classes": "int64 1", "link": "int8 1"})
        settings = numbers("scores decoder", arrays, arrays)
        if not 0 <= settings["link"] < len(LINKS):
            raise InputError(f"scores decoder: array 'link' is {settings['link']}.")
        return cls(settings["n_classes"], LINKS[settings["link"]])

    def cost(self) -> Cost:
        """Return one operation for each class; nothing is kept in memory."""
        return Cost(float(self.n_classes), sum(array.nbytes for array in self.arrays().values()))

    def _scores(self, encoded: Encoded) -> Floats:
        self.check_width(encoded)
        return encoded.numbers()
