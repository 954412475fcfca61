"""What a model is made of and how it was made, as plain facts and in words."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsnc.data.columns import Columns
from dsnc.encoders import NumpyEncoder
from dsnc.errors import InputError
from dsnc.model.facts import takes_text
from dsnc.model.provenance import figures, plain_history
from dsnc.persistence import read_model
from dsnc.progress import count, figure_name, settings_text


@dataclass(frozen=True)
class ModelFacts:
    """What a model is made of."""

    kind: str
    n_classes: int
    n_features: int
    n_bits: int
    takes_text: bool
    layers: list[tuple[int, int]]  # inputs and outputs of the encoder's; none of a user's module
    decoder: str
    decoder_settings: dict[str, Any]
    reason: str  # why this decoder; empty where nobody chose
    second_stage: str  # empty where there is none
    trials: list[dict[str, Any]]  # what others were worth on held-out rows
    calibration: dict[str, float]
    sets: str  # which labels a row gets, where it may have several
    unknown: str  # how well rows of no known class are told; empty where nobody measured
    metrics: dict[str, Any]  # as in model.json, without the decoder's report
    history: list[dict[str, Any]]  # the epochs, without times
    parameters: dict[str, Any]
    data: dict[str, Any]  # rows and fingerprints; names of files if it was just trained
    versions: dict[str, str] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)  # name to bytes


def model_facts(model: Any, folder: str | os.PathLike[str] | None = None) -> ModelFacts:
    """Gather what is known of a fitted model; its folder tells sizes and versions."""
    predictor = model.predictor_
    decoder, report = predictor.decoder, getattr(model, "decoder_report_", None)
    layers: list[tuple[int, int]] = []
    if isinstance(predictor.encoder, NumpyEncoder):
        layers = [layer.weight.shape for layer in predictor.encoder.layers]
    calibration = decoder.confidence._asdict()
    calibration["curve"] = len(decoder.confidence.curve[0])
    if predictor.rule is not None:
        calibration = {"knots": len(predictor.rule.knots)}
    versions, files = _of_folder(Path(folder)) if folder is not None else ({}, {})
    return ModelFacts(
        kind=model.kind,
        n_classes=predictor.n_classes,
        n_features=predictor.n_features,
        n_bits=predictor.n_bits,
        takes_text=takes_text(model),
        layers=layers,
        decoder=decoder.name,
        decoder_settings={} if report is None else dict(report.settings),
        reason="" if report is None else report.reason,
        second_stage="" if predictor.reranker is None else str(predictor.reranker),
        trials=[] if report is None else [trial._asdict() for trial in report.trials],
        calibration=calibration,
        sets=_sets(model),
        unknown=str(model._novelty or ""),
        metrics=figures(model),
        history=plain_history(model.history_),
        parameters=model.get_params(deep=False),
        data=model.data_,
        versions=versions,
        files=files,
    )


def summary(facts: ModelFacts) -> list[tuple[str, str]]:
    """Return names and values of the most important facts, as people read them."""
    rows = "texts, " if facts.takes_text else ""
    sizes = " → ".join(f"{n:,}" for n in (facts.n_features, *(out for _, out in facts.layers)))
    lines = [
        ("kind", facts.kind),
        ("labels" if facts.sets else "classes", f"{facts.n_classes:,}"),
        ("label sets", facts.sets),
        ("input", f"{rows}{count(facts.n_features, 'feature')}"),
        ("columns", _columns(facts.data.get("columns"))),
        ("encoder", f"{sizes} ({facts.parameters.get('encoder', 'linear')})"),
        ("bits", f"{facts.n_bits:,}"),
        ("decoder", facts.decoder + (f": {facts.reason}" if facts.reason else "")),
        ("decoder settings", settings_text(facts.decoder_settings)),
        ("second stage", facts.second_stage),
        ("calibration", settings_text(facts.calibration)),
        *_measured(facts),
        ("unknown rows", facts.unknown),
        ("trained on", _rows(facts.data)),
        ("validated on", _rows(facts.data.get("validation"))),
        ("tested on", _rows(facts.data.get("test"))),
        ("training", _story(facts)),
        ("files", ", ".join(f"{name} {size:,} bytes" for name, size in facts.files.items())),
        ("written by", ", ".join(f"{name} {v}" for name, v in facts.versions.items())),
    ]
    return [(name, value) for name, value in lines if value]


def trial_cells(trial: dict[str, Any]) -> list[str]:
    """Return decoder, accuracy, time and settings of a trial, as people read them."""
    return [
        trial["decoder"],
        f"{100 * trial['accuracy']:.2f} %",
        f"{trial['nanoseconds'] / 1000:.2f} µs",
        settings_text(trial["settings"]),
    ]


def _measured(facts: ModelFacts) -> list[tuple[str, str]]:
    """Return what the decoder that predicts is worth."""
    accuracy = facts.metrics["validation_accuracy"]
    measure = "P@1" if facts.sets else "accuracy"
    lines = [] if accuracy is None else [(f"validation {measure}", f"{100 * accuracy:.2f} %")]
    if "calibration_error" in facts.metrics:
        lines.append(("calibration error", f"{facts.metrics['calibration_error']:.4f}"))
    if "confidence_auroc" in facts.metrics:
        area = facts.metrics["confidence_auroc"]
        lines.append(("confidence", f"above that of wrong answers in {area:.0%} of pairs"))
    for name, value in facts.metrics.get("test", {}).items():
        is_share = name.endswith("accuracy") or "_at_" in name
        shown = f"{100 * value:.2f} %" if is_share else f"{value:.4g}"
        if name != "rows":
            words = figure_name(name) if "_at_" in name else name.replace("_", " ")
            lines.append((f"test {words}", shown))
    return lines


def _sets(model: Any) -> str:
    """Return how probable a label must be to be in the set of a row; empty for one label a row."""
    rule = model.predictor_.rule
    if rule is None:
        return ""
    low, high = float(rule.threshold.min()), float(rule.threshold.max())
    spread = (
        f"{low:.3g} or more" if len(rule.threshold) == 1 else f"{low:.3g} to {high:.3g}, by label"
    )
    wish = model.get_params(deep=False).get("threshold")
    why = f"fitted for {wish} F1" if isinstance(wish, str) else "as given"
    return f"labels with a probability of {spread} ({why})"


def _columns(plain: Any) -> str:
    """Return the columns of the table that was learned from; a file may say anything."""
    try:
        return "" if plain is None else str(Columns.from_plain(plain))
    except InputError:
        return ""


def _rows(known: Any) -> str:
    """Return what is known of a part of the data; a file may say anything."""
    if not isinstance(known, dict) or type(known.get("rows")) is not int:
        return ""
    name, mark = known.get("name"), known.get("fingerprint")
    source = f" of {name}" if isinstance(name, str) else ""
    checksum = f" (checksum {mark})" if isinstance(mark, str) else ""
    return f"{count(known['rows'], 'row')}{source}{checksum}"


def _story(facts: ModelFacts) -> str:
    """Return what happened in training, in one line."""
    metrics, epochs = facts.metrics, facts.history
    if not epochs and metrics["best_epoch"] is None:
        return ""
    text = count(metrics["epochs"], "epoch")
    if epochs and None not in (epochs[0]["loss"], epochs[-1]["loss"]):
        text += f", loss {epochs[0]['loss']:.4f} → {epochs[-1]['loss']:.4f}"
    if metrics["best_epoch_accuracy"] is not None:
        accuracy = f"{100 * metrics['best_epoch_accuracy']:.2f} %"
        text += f", best epoch {metrics['best_epoch']} ({accuracy} before a decoder was chosen)"
    return f"{text}; {metrics['stopped']}" if metrics["stopped"] else text


def _of_folder(folder: Path) -> tuple[dict[str, str], dict[str, int]]:
    header, _ = read_model(folder, verify=False)
    versions = {str(key): str(value) for key, value in header.get("versions", {}).items()}
    return versions, {file.name: file.stat().st_size for file in sorted(folder.iterdir())}
