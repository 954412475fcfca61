"""What a tool has to be able to do to take part.

Files of contestants are imported by every environment: they import their library inside their
methods, and from here only numpy, scipy and the standard library.
"""

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from peers.data import Data, Part


class Contestant(ABC):
    """A tool with its settings.

    Parameters
    ----------
    settings : dict
        Whatever the tool takes, by its own names; those of the command line come last.
    threads : int
        How many it may use, if it can.
    work : Path
        An empty folder for files of its own.
    """

    package: ClassVar[str]
    """The distribution whose version is reported."""
    module: ClassVar[str]
    """What is imported of it, once."""
    requirements: ClassVar[tuple[str, ...]] = ()
    """What pip installs into its environment; nothing: it runs in the project's own."""
    alone: ClassVar[tuple[str, ...]] = ()
    """What pip installs besides, without what that depends on."""
    takes_sets: ClassVar[bool] = False
    """Whether rows may have label sets."""
    if_it_fails: ClassVar[str] = ""
    """What may help if pip cannot install that."""
    reads: ClassVar[str] = "rows"
    """"rows", or "texts": those of the data, or else tokens made of feature numbers."""
    needs_texts: ClassVar[bool] = False
    """Whether tokens made of feature numbers are no use to it."""
    choices: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    """Settings of which validation rows choose, the usual one first."""
    variations: ClassVar[tuple[dict[str, Any], ...]] = ()
    """Settings that are tried on top of the best of those."""

    def __init__(self, settings: dict[str, Any], threads: int, work: Path) -> None:
        self.settings, self.threads, self.work = settings, threads, work

    @classmethod
    def most_classes(cls, settings: dict[str, Any]) -> int | None:
        """Return for how many classes it is a matter of minutes; None if of any number."""
        return None

    def prepare(self, data: Data) -> None:
        """Bring training rows into the form that the tool wants, before any clock runs."""
        return None

    def warm_up(self, data: Data) -> None:
        """Import, and compile what must be; it is timed, but not part of the training."""
        importlib.import_module(self.module)

    @abstractmethod
    def fit(self, data: Data) -> None:
        """Train. Who chooses epochs by validation rows may; nobody sees test rows."""

    @abstractmethod
    def predict(self, rows: Any, k: int) -> Any:
        """Return the best `k` classes of rows or texts, as the tool gives them to its users."""

    def chosen(self) -> dict[str, Any]:
        """Return the settings that `fit` itself has chosen by validation rows."""
        return {}

    def confidences(self, rows: Any) -> NDArray[Any] | None:
        """Return the probability of the best class of each row, if the tool has probabilities."""
        return None

    def numbers(self, answers: Any) -> NDArray[Any]:
        """Return answers as class numbers (rows, k), -1 where there are fewer; not timed."""
        result = np.full((len(answers), max(map(np.size, answers))), -1)
        for row, classes in zip(result, answers, strict=True):
            row[: np.size(classes)] = classes
        return result

    @abstractmethod
    def save(self) -> Path:
        """Write what is needed to predict; return the file or folder."""

    def rows(self, part: Part) -> Any:
        """Return what `predict` gets of a part."""
        return part.texts if self.reads == "texts" else part.X
