"""How good a model of label sets is on labelled rows: what `evaluate` and `train` report."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import plain_errors
from dsnc.cli.samples import rows_of, sets_over, warn_of_strange
from dsnc.errors import InputError, warn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dsnc.data import Dataset
    from dsnc.labels import Labels
    from dsnc.metrics import CalibrationBins, ClassScores
    from dsnc.targets import Targets

_ROWS = 8192  # at a time
THRESHOLD_COLUMNS = ("threshold", "precision", "recall", "micro_f1", "macro_f1")
_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class SetAnswers:
    """The best labels of each row, the set that was predicted, and what it should have been."""

    names: "Labels"  # those of the model, then those that it does not know
    truth: "Targets"
    predicted: "Targets"
    best: "NDArray[np.int32]"  # (n, k) label numbers, best first
    probabilities: "NDArray[np.float32]"  # of these
    propensity: "NDArray[np.float64] | None"  # of each label, where training rows are known
    seconds: float

    @cached_property
    def is_right(self) -> "NDArray[np.bool_]":
        """Tell which rows have their best label."""
        return self.truth.contains(self.best[:, 0])

    @cached_property
    def bins(self) -> "CalibrationBins":
        """How often the best labels are right that claim a probability."""
        import numpy as np

        from dsnc.metrics import calibration_bins

        return calibration_bins(self.is_right, np.clip(self.probabilities[:, 0], 0, 1))

    @cached_property
    def scores(self) -> "ClassScores":
        """Precision, recall and F1 of each label that occurs in sets, true or predicted."""
        import numpy as np

        from dsnc.metrics import ClassScores

        both = self.truth.classes.astype(bool).multiply(self.predicted.classes.astype(bool))
        right = np.bincount(both.tocsr().indices, minlength=len(self.names))
        support, given = self.truth.counts(), self.predicted.counts()
        occurs = np.flatnonzero(support + given)
        right, support, given = right[occurs], support[occurs], given[occurs]
        precision, recall = right / np.maximum(given, 1), right / np.maximum(support, 1)
        f1 = 2 * right / (support + given)
        return ClassScores(self.names.of(occurs), precision, recall, f1, support, given)

    def figures(self, ks: list[int]) -> dict[str, float]:
        """Return what rankings and sets are worth, the calibration error and the speed."""
        from dsnc import metrics

        figures: dict[str, float] = {"rows": len(self.truth)}
        ranking = (self.truth.classes, self.best)
        for name in ("precision", "psprecision", "recall", "ndcg", "coverage"):
            if name == "psprecision" and self.propensity is None:
                continue
            more = {"propensity": self.propensity} if name == "psprecision" else {}
            for k, value in zip(
                ks, getattr(metrics, f"{name}_at_k")(*ranking, ks, **more), strict=True
            ):
                figures[f"{name}_at_{k}"] = float(value)
        sets = (self.truth.classes, self.predicted.classes)
        figures["micro_f1"] = metrics.f1_of_sets(*sets, "micro")
        occurs = len(self.scores.classes) > 0
        figures["macro_f1"] = self.scores.macro_f1 if occurs else 0.0
        figures["samples_f1"] = metrics.f1_of_sets(*sets, "samples")
        figures["labels_per_row"] = self.truth.classes.nnz / len(self.truth)
        figures["predicted_labels_per_row"] = self.predicted.classes.nnz / len(self.truth)
        figures["calibration_error"] = self.bins.error
        figures["seconds"] = self.seconds
        figures["rows_per_second"] = len(self.truth) / max(self.seconds, 1e-9)
        return figures

    @property
    def pairs(self) -> None:
        """There are none: a label that is missed is not taken for another one."""

    def shown(self, row: int) -> dict[str, Any]:
        """Return what a row should have had, and its best label."""
        labels = self.lists(self.truth.take([row]))[0]
        return {"labels": labels, "answer": self.names.of(self.best[row, :1]).tolist()[0]}

    def columns(self) -> dict[str, list[Any]]:
        """Return the answer to each row, column by column."""
        return {
            "labels": self.lists(self.truth),
            "predicted": self.lists(self.predicted),
            "best": self.names.of(self.best[:, 0]).tolist(),
            "probability": [round(share, 6) for share in self.probabilities[:, 0].tolist()],
        }

    def confusions(self, n: int | None = None) -> list[dict[str, Any]]:
        """Return the labels that were missed, the most frequent first, and how often."""
        import numpy as np

        scores = self.scores
        found = np.rint(scores.recall * scores.support).astype(int)
        missed = scores.support - found
        order = np.argsort(-missed, kind="stable")
        order = order[missed[order] > 0][:n]
        columns = (scores.classes, missed, scores.support, scores.predicted - found)
        names = ("label", "rows", "of", "wrongly given")
        return [
            dict(zip(names, row, strict=True))
            for row in zip(*(column[order].tolist() for column in columns), strict=True)
        ]

    def lists(self, targets: "Targets") -> list[list[Any]]:
        """Return sets as lists of labels."""
        sets = targets.classes
        flat, ends = self.names.of(sets.indices).tolist(), sets.indptr.tolist()
        return [flat[start:end] for start, end in zip(ends[:-1], ends[1:], strict=True)]


def answer_sets(model: Any, dataset: "Dataset", k: int) -> SetAnswers:
    """Ask the model for the set of every row, and for its k best labels."""
    import numpy as np
    import scipy.sparse as sp

    from dsnc.labels import Labels, object_array
    from dsnc.targets import Targets

    if not len(dataset):
        raise InputError(f"{dataset.name} has no rows to measure.")
    known = model.classes_
    sets = sets_over(dataset, known)
    warn_of_strange("test", sets, "they count as missed")
    if not sets.Y.nnz:
        warn(f"no row of {dataset.name} has a label, so that nothing can be found.")
    names = Labels(known)
    if sets.strange:
        names = Labels(object_array([*known.tolist(), *sets.strange]))
    rows, best, probabilities, predicted = rows_of(dataset), [], [], []
    labels = Labels(known)
    with plain_errors():
        model.predict_top_k(rows[:1], k=k)  # the first answer makes indices ready
        begin = time.perf_counter()
        for start in range(0, len(dataset), _ROWS):
            block = rows[start : start + _ROWS]
            some, sure = model.predict_top_k(block, k=k)
            best.append(labels.find(some))
            probabilities.append(sure)
            predicted.append(sp.csr_array(model.predict(block)))
    seconds = time.perf_counter() - begin
    answers = sp.vstack(predicted, format="csr")
    answers = sp.csr_array((answers.data, answers.indices, answers.indptr), shape=sets.Y.shape)
    return SetAnswers(
        names=names,
        truth=Targets(sets.Y, len(names)),
        predicted=Targets(answers, len(names)),
        best=np.concatenate(best),
        probabilities=np.concatenate(probabilities),
        propensity=_propensity(model, len(sets.strange)),
        seconds=seconds,
    )


def by_threshold(model: Any, dataset: "Dataset", answers: Any) -> list[dict[str, float]]:
    """Return how good sets would be that have all labels of at least some probability."""
    import scipy.sparse as sp

    from dsnc.metrics import f1_of_sets

    rows, truth = rows_of(dataset), answers.truth.classes.astype(bool)
    starts = range(0, len(dataset), _ROWS)
    parts = [model.predict_proba(rows[start : start + _ROWS], sparse=True) for start in starts]
    likely = sp.vstack(parts, format="csr")
    likely.resize(truth.shape)
    table = []
    for threshold in _THRESHOLDS:
        sets = likely >= threshold
        hits = sets.multiply(truth).nnz
        shares = hits / max(1, sets.nnz), hits / max(1, truth.nnz)
        micro, macro = (f1_of_sets(truth, sets, average) for average in ("micro", "macro"))
        occur = len(set(sets.indices) | set(truth.indices))  # the labels of a macro F1, here
        figures = threshold, *shares, micro, macro * truth.shape[1] / max(1, occur)
        table.append(dict(zip(THRESHOLD_COLUMNS, figures, strict=True)))
    return table


def _propensity(model: Any, n_strange: int) -> "NDArray[np.float64] | None":
    """Return the propensity of each label by the rows that the model learned from, if known."""
    import numpy as np

    from dsnc.metrics import propensities_of_counts

    counts, n_rows = model.data_.get("label_counts"), model.data_.get("rows")
    known = isinstance(counts, list) and all(type(x) is int and x >= 0 for x in counts)
    if not known or len(counts) != len(model.classes_) or type(n_rows) is not int or n_rows < 3:
        return None  # a baseline, or a file that says anything
    return propensities_of_counts(np.append(counts, np.zeros(n_strange)), n_rows)
