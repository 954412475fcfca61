"""What ``dsnc train`` says at the end: for people, and for a machine."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dsnc.cli.common import STATE, percent, print_json, print_table, size
from dsnc.cli.measure import figure_rows
from dsnc.cli.samples import has_label_sets
from dsnc.progress import count, duration, settings_text

if TYPE_CHECKING:
    from dsnc.classifier.one_vs_rest import Comparison
    from dsnc.data import Finding

_RIVALS = {"one_vs_rest": "an SVM for each class", "nearest_neighbors": "of the training rows"}


@dataclass(frozen=True)
class Report:
    """A run that is over."""

    model: Any
    method: str
    output: Path
    seconds: float
    test: dict[str, float] | None  # figures of test rows
    quality: "list[Finding]"
    compared: Mapping[str, "Comparison"] = field(default_factory=dict)  # with other methods

    def show(self, *, as_json: bool) -> None:
        """Print it: three lines, with --verbose also the details."""
        if as_json:
            print_json(self.plain())
            return
        print_table(["", ""], self.summary())
        if STATE.verbose:
            typer.echo("")
            print_table(["", ""], self.details())

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
            **{name: c and c._asdict() for name in _RIVALS for c in [self.compared.get(name)]},
            "quality": [asdict(finding) for finding in self.quality],
            "bytes": self._n_bytes,
            "seconds": round(self.seconds, 3),
        }

    def summary(self) -> list[list[str]]:
        """Return (what, value) pairs that everybody wants to know: learned, how well, where."""
        model, data = self.model, self.model.data_
        of = count(len(model.classes_), "label" if has_label_sets(model) else "class")
        learned = f"{of} from {count(data.get('rows', 0), 'row')}, in {duration(self.seconds)}"
        stopped = model.history_.stopped
        if stopped and stopped != "max_epochs reached":
            learned += f" ({stopped} after {count(model.n_iter_, 'epoch')})"
        measure = "P@1" if has_label_sets(model) else "accuracy"
        measured, held_out = [], data.get("validation", {})
        if "validation_accuracy" in model.figures_:
            rows = (
                count(held_out["rows"], "held-out row") if "rows" in held_out else "held-out rows"
            )
            name = f" of {held_out['name']}" if "name" in held_out else ""
            if held_out.get("never_held_out"):
                name = f" ({held_out['never_held_out']:,} more are the only ones of their class)"
            measured.append(f"{percent(model.figures_['validation_accuracy'])} of {rows}{name}")
        if self.test:
            best = self.test.get("accuracy", self.test.get("precision_at_1", math.nan))
            measured.append(f"{percent(best)} of {count(int(self.test['rows']), 'test row')}")
        nothing = "not measured, since no rows were held out; give --test FILE"
        saved = f"{self.output} ({size(self._n_bytes)}). Next: {self.advice()}"
        return [
            ["learned", learned],
            [measure, ", ".join(measured) or nothing],
            ["saved in", saved],
        ]

    def details(self) -> list[list[str]]:
        """Return (what, value) pairs about how the model came to be."""
        model, history, report = self.model, self.model.history_, self._choice
        trainer = f", trainer {model.trainer_}" if hasattr(model, "trainer_") else ""
        lines = [["training", f"{count(model.n_iter_, 'epoch')}{trainer}"]]
        if history.best_accuracy is not None:
            before = f"{percent(history.best_accuracy)} before a decoder was chosen"
            lines.append(["best epoch", f"{history.best_epoch}, {before}"])
        for trial in report.trials if report else []:
            settings = settings_text(trial.settings)
            lines.append([trial.decoder, f"{percent(trial.accuracy)} {settings}".rstrip()])
        if report is not None:
            lines.append(["chosen", f"{report.chosen}: {report.reason}"])
        for name, compared in self.compared.items():
            lines.append([name.replace("_", "-"), _in_words(compared, _RIVALS[name])])
        if getattr(model, "_novelty", None) is not None:
            lines.append(["unknown rows", str(model._novelty)])
        return lines + [[f"test {name}", value] for name, value in figure_rows(self.test or {})]

    def advice(self) -> str:
        """Say what is worth trying now."""
        model, history = self.model, self.model.history_
        looks = f"dsnc predict {self.output} FILE, dsnc inspect {self.output}"
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


def _in_words(compared: "Comparison", what: str) -> str:
    """Say how accurate another method is, and which of the two is better."""
    points = 100 * (compared.model_accuracy - compared.accuracy)
    verdicts = {
        "better": f"this model is better by {points:.2f} points",
        "worse": f"this model is worse by {-points:.2f} points",
        "alike": f"no clear difference ({points:+.2f} points for this model)",
    }
    rows = f"{what}, on {compared.rows:,} validation rows"
    return f"{percent(compared.accuracy)} ({rows}): {verdicts[compared.verdict]}"
