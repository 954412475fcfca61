"""The card of a model: what it does, how good it is and how it was made, for people and model hubs.

A head of YAML as hubs read it, then Markdown. A licence is nobody's to guess, and is left out.
"""

import html
import json
import math
import os
import platform
import re
import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dsnc.classifier.provenance import data_names
from dsnc.model import SetModel
from dsnc.persistence import sealed
from dsnc.progress import duration, figure_name

if TYPE_CHECKING:
    from dsnc.classifier.base import PredictorClassifier

_EXAMPLES = 5  # classes
_LONGEST = 60  # characters of a label or a setting
_PARTS = ("validation", "test")


def make_card(
    model: "PredictorClassifier",
    header: Mapping[str, Any],
    usual: Mapping[str, Any],
    *,
    name: str,
    arrays: Mapping[str, Any],
) -> str:
    """Return the card of a fitted model.

    Parameters
    ----------
    model : estimator of this package
    header : mapping
        What goes into its ``model.json``.
    usual : mapping
        The default parameters, as JSON has them.
    name : str
        Of the model: its folder.
    arrays : mapping
        What goes into its other file.
    """
    names = {part: _printable(known) for part, known in data_names(model.data_).items()}
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_text, machine = model.predictor_.features is not None, _machine(model)
    results = _results(header["metrics"], sets=isinstance(model, SetModel))
    size = sum(array.nbytes for array in arrays.values())
    sections = [
        _head(name, "text" if is_text else "tabular", names, results),
        f"# {html.escape(_printable(name), quote=False)}",
        _what(model, header, is_text=is_text, size=size),
        _use(name, model.n_features_in_, is_text=is_text),
        _figures(results),
        _training(model, header, usual, names),
        _changes(header["data"].get("changes")),
        f"Written on {date[:10]} by {_listed(header['versions'])}. Machine: {machine}.",
    ]
    facts = {"date": date, "data": names, "machine": machine}
    return sealed("\n\n".join(filter(None, sections)), facts)


def _results(metrics: Mapping[str, Any], *, sets: bool) -> dict[str, dict[str, float]]:
    """Return the figures of the decoder that predicts, by part of the data."""
    validation = metrics["validation_accuracy"]
    measure = "precision_at_1" if sets else "accuracy"
    honest = ("calibration_error", "confidence_auroc")
    results = {
        "validation": {
            **({} if validation is None else {measure: validation}),
            **{name: metrics[name] for name in honest if name in metrics},
        },
        "test": {key: v for key, v in metrics.get("test", {}).items() if key != "rows"},
    }
    return {part: found for part, found in results.items() if found}


def _head(
    name: str, kind: str, names: Mapping[str, str], results: Mapping[str, Mapping[str, float]]
) -> str:
    task = f"{kind}-classification"
    lines = ["---", "library_name: dsnc", f"pipeline_tag: {task}"]
    lines += ["tags:", "- dsnc", "- classification", "- binary-codes"]
    if results:
        lines += ["metrics:", "- accuracy", "model-index:", f"- name: {_yaml(name)}", "  results:"]
    for part, found in results.items():
        data = names.get(part, names.get("train", "unnamed"))
        lines += ["  - task:", f"      type: {task}", "    dataset:"]
        lines += [
            f"      name: {_yaml(data)}",
            f"      type: {_yaml(data)}",
            f"      split: {part}",
        ]
        lines += ["    metrics:"]
        for figure, value in found.items():
            label = figure.replace("_", " ")
            lines += [f"    - type: {figure}", f"      name: {label}", f"      value: {value!r}"]
    return "\n".join([*lines, "---"])


def _what(
    model: "PredictorClassifier", header: Mapping[str, Any], *, is_text: bool, size: int
) -> str:
    predictor, classes = model.predictor_, header["classes"]
    some = ", ".join(_code(label) for label in classes[:_EXAMPLES])
    rows = "a text" if is_text else "a row of numbers"
    report = getattr(model, "decoder_report_", None)
    reason = f" ({report.reason})" if report is not None else ""
    width = "units" if model.width == "n_units" else "bits"
    lines = [
        ("kind", model.kind),
        ("input", f"{rows}, {predictor.n_features:,} features"),
        ("classes", f"{len(classes):,}"),
        ("encoder", header["parameters"].get("encoder") or "linear"),
        (width, f"{predictor.n_bits:,}" if model.width else ""),
        ("decoder", f"{predictor.decoder.name}{reason}"),
        ("second stage", str(predictor.reranker or "")),
        ("unknown rows", str(model._novelty or "")),
        ("arrays", f"{size:,} bytes"),
    ]
    table = "\n".join(f"| {what} | {value} |" for what, value in lines if value)
    more = ", ..." if len(classes) > _EXAMPLES else ""
    return (
        f"Predicts which of {len(classes):,} classes {rows} belongs to: {some}{more}\n\n"
        f"| | |\n|---|---|\n{table}"
    )


def _use(name: str, n_features: int, *, is_text: bool) -> str:
    call = '["a text"], k=3)' if is_text else f"X, k=3)  # X has {n_features:,} columns"
    file = "texts.txt" if is_text else "rows.csv"
    folder = _printable(name)
    return (
        "## Use\n\n```python\nimport dsnc\n\n"
        f"model = dsnc.load({json.dumps(folder, ensure_ascii=False)})\n"
        f"labels, probabilities = model.predict_top_k({call}\n```\n\n"
        f"```bash\ndsnc predict {shlex.quote(folder)} {file} --top-k 3 --proba\n```"
    )


def _figures(results: Mapping[str, Mapping[str, float]]) -> str:
    if not results:
        return ""
    lines = ["## Figures", "", "| rows | figure | |", "|---|---|---|"]
    for part, found in results.items():
        for figure, value in found.items():
            is_share = figure.endswith("accuracy") or "_at_" in figure
            shown = f"{100 * value:.2f} %" if is_share else f"{value:.4g}"
            lines.append(f"| {part} | {figure_name(figure)} | {shown} |")
    if "validation" in results:
        lines += [
            "",
            "The validation rows were used to choose the epoch and the decoder, so figures on "
            "them are slightly optimistic.",
        ]
    return "\n".join(lines)


def _training(
    model: "PredictorClassifier",
    header: Mapping[str, Any],
    usual: Mapping[str, Any],
    names: Mapping[str, str],
) -> str:
    data, metrics, history = header["data"], header["metrics"], model.history_
    lines = [_rows("Rows", data, names.get("train"))]
    lines += [_rows(f"Rows to {_verb(part)}", data.get(part), names.get(part)) for part in _PARTS]
    if history.epochs:
        seconds = history.epochs[-1].seconds
        time = "" if math.isnan(seconds) else f" in {duration(seconds)}"
        best = metrics["best_epoch"]
        kept = "" if best is None else f"; the best was epoch {best}"
        lines.append(f"- Epochs: {metrics['epochs']}{time} ({metrics['stopped']}){kept}")
    given = header["parameters"]
    other = {key: value for key, value in given.items() if key in usual and value != usual[key]}
    said = ", ".join(_code(f"{key}={value}") for key, value in other.items()) or "none"
    lines.append(f"- Settings that differ from the defaults: {said}")
    return "\n".join(["## Training", "", *filter(None, lines)])


def _changes(changes: Any) -> str:
    """Return what has come and gone since then."""
    if not isinstance(changes, list) or not changes:
        return ""
    lines = ["## Changes since training", ""]
    for change in changes:
        if not isinstance(change, dict):
            continue
        said = [f"{_printable(key)} {_printable(value)}" for key, value in change.items()]
        lines.append(f"- {', '.join(said)}")
    return "\n".join(lines)


def _rows(what: str, known: Any, name: str | None) -> str:
    """Return a line about a part of the data; none where nothing is known."""
    if not isinstance(known, dict) or type(known.get("rows")) is not int:
        return ""
    source = f" of {_code(name)}" if name else ""
    mark = known.get("fingerprint")
    return f"- {what}: {known['rows']:,}{source}" + (f", checksum {_code(mark)}" if mark else "")


def _verb(part: str) -> str:
    return "validate" if part == "validation" else part


def _machine(model: "PredictorClassifier") -> str:
    learner = getattr(model, "_learner", None)  # only of a model that has just been trained
    device = f", device {learner.device}" if learner is not None else ""
    return f"{platform.system()} {platform.machine()}, CPU cores: {os.cpu_count() or 1}{device}"


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _printable(value: Any) -> str:
    """Return a text in one line, without what cannot be seen."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def _code(value: Any) -> str:
    """Return a text as Markdown's code, shortened."""
    text = _printable(value)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    ticks = max(map(len, re.findall("`+", text)), default=0)
    fence, space = "`" * (ticks + 1), " " if ticks or not text.strip() else ""
    return f"{fence}{space}{text}{space}{fence}"


def _yaml(value: str) -> str:
    """Return a text of YAML, which takes those of JSON."""
    return json.dumps(_printable(value), ensure_ascii=False)
