"""How good a model is on labelled rows, block by block: what `evaluate` and `train` report."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import percent, plain_errors
from dsnc.cli.samples import rows_of
from dsnc.errors import InputError
from dsnc.progress import figure_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dsnc.data import Dataset
    from dsnc.metrics import CalibrationBins, ClassScores, ConfusedPairs
    from dsnc.targets import Targets

_ROWS = 8192  # at a time


@dataclass(frozen=True)
class Answers:
    """The best classes of each row and what they should have been."""

    truth: "NDArray[Any]"  # (n,) labels
    targets: "Targets"  # the same as numbers
    labels: "NDArray[Any]"  # (n, k), best first
    hits: "NDArray[np.bool_]"  # (n, k), which of these are right
    probabilities: "NDArray[np.float32]"
    seconds: float

    @property
    def is_right(self) -> "NDArray[np.bool_]":
        """Tell which rows are right."""
        return self.hits[:, 0]

    @cached_property
    def scores(self) -> "ClassScores":
        """Precision, recall and F1 of each class."""
        from dsnc.metrics import class_scores

        return class_scores(self.truth, self.labels[:, 0])

    @cached_property
    def pairs(self) -> "ConfusedPairs":
        """Which classes were taken for which."""
        from dsnc.metrics import confused_pairs

        return confused_pairs(self.truth, self.labels[:, 0])

    @cached_property
    def bins(self) -> "CalibrationBins":
        """How often answers are right that claim a probability."""
        import numpy as np

        from dsnc.metrics import calibration_bins

        return calibration_bins(self.is_right, np.clip(self.probabilities[:, 0], 0, 1))

    def shown(self, row: int) -> dict[str, Any]:
        """Return what a row should have been, and what it was said to be."""
        label, answer = self.truth[row : row + 1].tolist(), self.labels[row, :1].tolist()
        return {"label": label[0], "answer": answer[0]}

    def columns(self) -> dict[str, list[Any]]:
        """Return the answer to each row, column by column."""
        shares = [round(share, 6) for share in self.probabilities[:, 0].tolist()]
        best = self.labels[:, 0].tolist()
        return {"label": self.truth.tolist(), "predicted": best, "probability": shares}

    def confusions(self, n: int | None = None) -> list[dict[str, Any]]:
        """Return (label, answer) and how often it happened, the most frequent first."""
        columns = (column[:n].tolist() for column in self.pairs)
        return [
            {"label": label, "answer": answer, "rows": count}
            for label, answer, count in zip(*columns, strict=True)
        ]

    def figures(self, ks: list[int]) -> dict[str, float]:
        """Return the accuracies, F1, the calibration error and the speed."""
        right = self.is_right
        figures: dict[str, float] = {"rows": len(right), "accuracy": float(right.mean())}
        for k in ks:
            figures[f"top_{k}_accuracy"] = float(self.hits[:, :k].any(axis=1).mean())
        of_class = self.targets.counts(right) / self.targets.counts()
        figures["macro_accuracy"] = float(of_class.mean())
        figures["macro_f1"] = self.scores.macro_f1
        figures["weighted_f1"] = self.scores.weighted_f1
        figures["calibration_error"] = self.bins.error
        figures["seconds"] = self.seconds
        figures["rows_per_second"] = len(right) / max(self.seconds, 1e-9)
        return figures


def answer(model: Any, dataset: "Dataset", k: int) -> Answers:
    """Ask the model for the k best classes of every row."""
    import numpy as np

    from dsnc.labels import Labels, warn_of_unknown
    from dsnc.targets import Targets

    if not len(dataset):
        raise InputError(f"{dataset.name} has no rows to measure.")
    truth = dataset.labels
    occurring, numbers = Labels.fit(truth)
    known = np.isin(numbers, occurring.find(model.classes_))
    warn_of_unknown("test", truth, known, "they count as wrong")
    rows, labels, probabilities = rows_of(dataset), [], []
    with plain_errors():
        model.predict_top_k(rows[:1], k=k)  # the first answer makes indices ready
        begin = time.perf_counter()
        for start in range(0, len(dataset), _ROWS):
            best, sure = model.predict_top_k(rows[start : start + _ROWS], k=k)
            labels.append(best)
            probabilities.append(sure)
    seconds = time.perf_counter() - begin
    targets, best = Targets(numbers, len(occurring)), np.concatenate(labels)
    hits = targets.contains(occurring.find(best))
    return Answers(truth, targets, best, hits, np.concatenate(probabilities), seconds)


def figure_rows(figures: dict[str, float]) -> list[list[str]]:
    """Return names and values as people read them."""
    rows = []
    for name, value in figures.items():
        if name == "seconds":
            continue
        text = f"{value:,.0f}" if name.startswith("rows") else percent(value)
        if name == "calibration_error":
            text = f"{value:.4f}"
        if name.endswith("labels_per_row"):
            text = f"{value:.2f}"
        rows.append([figure_name(name), text])
    return rows
