"""How good a model is on labelled rows, block by block: what `evaluate` and `train` report."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import percent, plain_errors
from dsnc.cli.samples import is_known, rows_of, warn_of_unknown
from dsnc.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dsnc.data import Dataset

_ROWS = 8192  # at a time


@dataclass(frozen=True)
class Answers:
    """The best classes of each row and what they should have been."""

    truth: "NDArray[Any]"  # (n,) labels
    known: "NDArray[np.bool_]"  # whether the model could know them
    labels: "NDArray[Any]"  # (n, k), best first
    probabilities: "NDArray[np.float32] | None"  # None for a model that gives none
    seconds: float

    @property
    def is_right(self) -> "NDArray[np.bool_]":
        """Tell which rows are right."""
        right: NDArray[np.bool_] = (self.labels[:, 0] == self.truth) & self.known
        return right

    def figures(self, ks: list[int]) -> dict[str, float]:
        """Return the accuracies, the calibration error and the speed."""
        import numpy as np

        from dsnc.metrics import expected_calibration_error

        right = self.is_right
        figures: dict[str, float] = {"rows": len(right), "accuracy": float(right.mean())}
        hits = (self.labels == self.truth[:, None]) & self.known[:, None]
        for k in ks:
            figures[f"top_{k}_accuracy"] = float(hits[:, :k].any(axis=1).mean())
        _, number = np.unique(self.truth, return_inverse=True)
        figures["macro_accuracy"] = float((np.bincount(number, right) / np.bincount(number)).mean())
        if self.probabilities is not None:
            sure = np.clip(self.probabilities[:, 0], 0, 1)
            figures["calibration_error"] = expected_calibration_error(right, sure)
        figures["seconds"] = self.seconds
        figures["rows_per_second"] = len(right) / max(self.seconds, 1e-9)
        return figures


def answer(model: Any, dataset: "Dataset", k: int) -> Answers:
    """Ask the model for the k best classes of every row."""
    import numpy as np

    from dsnc.inspection import gives_probabilities

    if not len(dataset):
        raise InputError(f"{dataset.name} has no rows to measure.")
    truth = dataset.labels
    known = is_known(truth, model.classes_)
    warn_of_unknown("test", truth, known, "they count as wrong")
    rows, labels, probabilities = rows_of(dataset), [], []
    with plain_errors():
        model.predict_top_k(rows[:1], k=k)  # the first answer makes kernels and indices ready
        begin = time.perf_counter()
        for start in range(0, len(dataset), _ROWS):
            best, sure = model.predict_top_k(rows[start : start + _ROWS], k=k)
            labels.append(best)
            probabilities.append(sure)
    seconds = time.perf_counter() - begin
    sure = np.concatenate(probabilities) if gives_probabilities(model) else None
    return Answers(truth, known, np.concatenate(labels), sure, seconds)


def figure_rows(figures: dict[str, float]) -> list[list[str]]:
    """Return names and values as people read them."""
    rows = []
    for name, value in figures.items():
        if name == "seconds":
            continue
        text = f"{value:,.0f}" if name.startswith("rows") else percent(value)
        if name == "calibration_error":
            text = f"{value:.4f}"
        rows.append([name.replace("_", " ").replace("top ", "top-"), text])
    return rows
