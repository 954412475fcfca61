"""napkinXC's probabilistic label trees: linear classifiers in a tree of the classes.

There are wheels for common systems. Elsewhere it must be built, with a C++ compiler and CMake, and
its source archives (0.6.2 to 0.7.2) do not build as they are: they lack the .cmake files of
pybind11. What worked for 0.7.2, in the environment that the benchmark has begun:

1. unpack the archive, and ``pip install pybind11==3.0.1``, the version that is inside;
2. copy the files of ``python -m pybind11 --cmakedir`` to its ``pybind11/tools``, and add there
   a ``JoinPaths.cmake`` with a function ``join_paths(joined first)`` that sets one to the other;
3. ``pip install numpy scipy`` and the folder; write the lines "napkinxc==0.7.2", "numpy" and
   "scipy" into ``ready.txt`` of the environment, without a line end after the last.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers.contestant import Contestant
from peers.data import Data


class NapkinXC(Contestant):
    """`napkinxc.models.PLT`; it writes its model while it trains."""

    package = "napkinxc"
    module = "napkinxc.models"
    requirements = ("napkinxc==0.7.2",)
    takes_sets = True
    choices = (
        {},
        {"loss": "l2", "liblinear_c": 1.0},
        {"loss": "l2", "liblinear_c": 1.0, "arity": 16},
        {"loss": "l2", "liblinear_c": 0.3},
        {"loss": "l2", "liblinear_c": 4.0},
        {"liblinear_c": 50.0},
    )
    if_it_fails = (
        "There is no wheel for this Python: contestants/napkinxc_tree.py says how to build."
    )

    def prepare(self, data: Data) -> None:
        """Write targets as lists, which it reads fastest."""
        self.targets = (
            data.train.y.tolil().rows.tolist() if data.has_sets else data.train.y.tolist()
        )

    def fit(self, data: Data) -> None:
        """Train."""
        from napkinxc.models import PLT

        settings = {"seed": 0, "threads": self.threads} | self.settings
        self.model = PLT(str(self.work / "model"), **settings)
        self.model.fit(data.train.X, self.targets)
        self.model.load()

    def predict(self, rows: Any, k: int) -> Any:
        """Return lists of class numbers."""
        return self.model.predict(rows, top_k=k)

    def confidences(self, rows: Any) -> NDArray[Any]:
        """Return its estimate, which can be over 1 where classes share a row."""
        found = self.model.predict_proba(rows, top_k=1)
        return np.array([pairs[0][1] if pairs else 0.0 for pairs in found]).clip(0, 1)

    def save(self) -> Path:
        """Return what `fit` has written."""
        return self.work / "model"
