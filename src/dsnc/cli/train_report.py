"""What ``dsnc train`` says at the end: for people, and for a machine."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsnc.cli.common import percent, size
from dsnc.cli.measure import figure_rows
from dsnc.cli.samples import has_label_sets
from dsnc.progress import duration, settings_text

if TYPE_CHECKING:
    from dsnc.classifier.one_vs_rest import Comparison


@dataclass(frozen=True)
class Report:
    """A run that is over."""

    model: Any
    method: str
    output: Path
    seconds: float
    test: dict[str, float] | None  # figures of test rows
    quality: list[dict[str, Any]]
    compared: "Comparison | None" = None  # with one-vs-rest

    def plain(self) -> dict[str, Any]:
        """Return all of it as JSON has it."""
        model, history, report = self.model, self.model.history_, self._choice
        trials = [trial._asdict() for trial in report.trials] if report else []
        return {
            "model": str(self.output),
            "method": self.method,
            "label_sets": has_label_sets(model),
            "classes": len(model.classes_),
            "epochs": model.n_iter_,
            "stopped": history.stopped,
            "validation_accuracy": model.figures_.get("validation_accuracy"),
            "best_epoch_accuracy": history.best_accuracy,
            "decoder": {**asdict(report), "trials": trials} if report else None,
            "test": self.test,
            "one_vs_rest": self.compared and self.compared._asdict(),
            "quality": self.quality,
            "bytes": self._n_bytes,
            "seconds": round(self.seconds, 3),
        }

    def lines(self) -> list[list[str]]:
        """Return (what, value) pairs, ready to print."""
        model, history, report = self.model, self.model.history_, self._choice
        sets = has_label_sets(model)
        n_classes = f"{len(model.classes_):,} {'labels' if sets else 'classes'}"
        lines = [["model", f"{self.output} ({size(self._n_bytes)}, {n_classes})"]]
        trainer = f" ({model.trainer_})" if hasattr(model, "trainer_") else ""
        spent = duration(self.seconds)
        lines.append(["training", f"{model.n_iter_} epochs{trainer}, {spent} in all"])
        if history.stopped and history.stopped != "max_epochs reached":
            lines[-1][1] += f" ({history.stopped})"
        if history.best_accuracy is not None:
            trained = f"{percent(history.best_accuracy)} with the decoder of training"
            lines.append(["best epoch", f"{history.best_epoch}, {trained}"])
        if "validation_accuracy" in model.figures_:
            decoder = f"decoder {model.predictor_.decoder.name}"
            if model.predictor_.reranker is not None:
                decoder += ", then features"
            accuracy = percent(model.figures_["validation_accuracy"])
            measure = "validation P@1" if sets else "validation accuracy"
            lines.append([measure, f"{accuracy} ({decoder})"])
        for trial in report.trials if report else []:
            settings = settings_text(trial.settings)
            lines.append(["  " + trial.decoder, f"{percent(trial.accuracy)} {settings}".rstrip()])
        if report is not None:
            lines.append(["decoder", f"{report.chosen}: {report.reason}"])
        if self.compared is not None:
            lines.append(["one-vs-rest", _in_words(self.compared)])
        if model._novelty is not None:
            lines.append(["unknown rows", str(model._novelty)])
        return lines + [[f"test {name}", value] for name, value in figure_rows(self.test or {})]

    def advice(self) -> str:
        """Say what is worth trying now."""
        model, history = self.model, self.model.history_
        looks = f"dsnc inspect {self.output}, dsnc predict {self.output} FILE"
        n_bits = getattr(model, "n_bits", None)
        enough = 4 * math.ceil(math.log2(max(2, len(model.classes_))))
        if n_bits is not None and n_bits < enough:
            return f"--bits {enough} may be more accurate; {looks}"
        given = getattr(model, "max_epochs", "auto")
        if history.best_epoch is not None and history.best_epoch == given:
            if history.best_epoch < 30:
                return f"--epochs {2 * given} may be more accurate; {looks}"
        return looks

    @property
    def _choice(self) -> Any:
        """How the decoder was chosen, of models that choose one."""
        return getattr(self.model, "decoder_report_", None)

    @property
    def _n_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.output.iterdir())


def _in_words(compared: "Comparison") -> str:
    """Say what one-vs-rest is worth, and which of the two is better."""
    points = 100 * (compared.model_accuracy - compared.accuracy)
    verdicts = {
        "better": f"this model is better by {points:.2f} points",
        "worse": f"this model is worse by {-points:.2f} points",
        "alike": f"no clear difference ({points:+.2f} points for this model)",
    }
    rows = f"an SVM for each class, on {compared.rows:,} validation rows"
    return f"{percent(compared.accuracy)} ({rows}): {verdicts[compared.verdict]}"
