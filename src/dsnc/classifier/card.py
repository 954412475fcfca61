"""The card of a model: what it does, how good it is and how it was made, for people and model hubs.

A head of YAML as hubs read it, then Markdown. A licence is nobody's to guess, and is left out.
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dsnc.model.summary import ModelFacts, model_facts, summary

if TYPE_CHECKING:
    from dsnc.classifier.base import PredictorClassifier

_EXAMPLES = 5  # classes
_LONGEST = 60  # characters of a label or a setting
# What Markdown would not show as it is; within a word, it shows an underscore.
_SPECIAL = re.compile(r"([\\`*\[\]<>&|~]|(?<![^\W_])_|_(?![^\W_]))")
_CONFIDENCE = ("calibration_error", "confidence_auroc")


def make_card(
    model: "PredictorClassifier", header: Mapping[str, Any], usual: Mapping[str, Any], *, name: str
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
    """
    facts = replace(model_facts(model), versions=header["versions"])
    sections = [
        _head(name, facts),
        f"# {_escaped(name)}",
        _what(facts, header["classes"]),
        _table([*summary(facts), ("settings", _settings(header["parameters"], usual))]),
        _use(name, facts),
        _changes(header["data"].get("changes")),
    ]
    return "\n\n".join(filter(None, sections))


def _head(name: str, facts: ModelFacts) -> str:
    task = "text-classification" if facts.takes_text else "tabular-classification"
    lines = ["---", "library_name: dsnc", f"pipeline_tag: {task}"]
    lines += ["tags:", "- dsnc", "- classification", "- binary-codes"]
    results = _results(facts)
    if results:
        lines += ["metrics:", "- accuracy", "model-index:", f"- name: {_yaml(name)}", "  results:"]
    for part, found in results.items():
        data = _yaml(_data_name(facts.data, part))
        lines += ["  - task:", f"      type: {task}", "    dataset:"]
        lines += [f"      name: {data}", f"      type: {data}", f"      split: {part}"]
        lines += ["    metrics:"]
        for figure, value in found.items():
            label = figure.replace("_", " ")
            lines += [f"    - type: {figure}", f"      name: {label}", f"      value: {value!r}"]
    return "\n".join([*lines, "---"])


def _results(facts: ModelFacts) -> dict[str, dict[str, float]]:
    """Return the figures of the decoder that predicts, by part of the data."""
    metrics = facts.metrics
    validation = {name: metrics[name] for name in _CONFIDENCE if name in metrics}
    if metrics["validation_accuracy"] is not None:
        measure = "precision_at_1" if facts.sets else "accuracy"
        validation = {measure: metrics["validation_accuracy"], **validation}
    test = {name: value for name, value in metrics.get("test", {}).items() if name != "rows"}
    results = {"validation": validation, "test": test}
    return {part: found for part, found in results.items() if found}


def _data_name(data: Mapping[str, Any], part: str) -> str:
    known = data.get(part)
    own = known.get("name") if isinstance(known, dict) else None
    return str(own or data.get("name", "unnamed"))


def _what(facts: ModelFacts, classes: list[Any]) -> str:
    rows = "a text" if facts.takes_text else "a row of numbers"
    some = [_escaped(str(label)[:_LONGEST]) for label in classes[:_EXAMPLES]]
    some += ["..."] if len(classes) > _EXAMPLES else []
    said = f"Predicts which of {len(classes):,} classes {rows} belongs to: {', '.join(some)}"
    if facts.metrics["validation_accuracy"] is not None:
        said += (
            "\n\nThe validation rows were used to choose the epoch and the decoder, so figures on "
            "them are slightly optimistic."
        )
    return said


def _settings(given: Mapping[str, Any], usual: Mapping[str, Any]) -> str:
    """Return the parameters that differ from the defaults."""
    other = {key: value for key, value in given.items() if key in usual and value != usual[key]}
    return ", ".join(f"{key}={value}"[:_LONGEST] for key, value in other.items()) or "the defaults"


def _table(lines: list[tuple[str, str]]) -> str:
    rows = [f"| {what} | {_escaped(value)} |" for what, value in lines]
    return "\n".join(["| | |", "|---|---|", *rows])


def _use(name: str, facts: ModelFacts) -> str:
    is_text, folder = facts.takes_text, _printable(name)
    call = '["a text"], k=3)' if is_text else f"X, k=3)  # X has {facts.n_features:,} columns"
    file = "texts.txt" if is_text else "rows.csv"
    return (
        "## Use\n\n```python\nimport dsnc\n\n"
        f"model = dsnc.load({json.dumps(folder, ensure_ascii=False)})\n"
        f"labels, probabilities = model.predict_top_k({call}\n```\n\n"
        f"```bash\ndsnc predict {shlex.quote(folder)} {file} --top-k 3 --proba\n```"
    )


def _changes(changes: Any) -> str:
    """Return what has come and gone since then."""
    if not isinstance(changes, list) or not changes:
        return ""
    lines = ["## Changes since training", ""]
    for change in changes:
        if isinstance(change, dict):
            said = [f"{key} {value}" for key, value in change.items()]
            lines.append(f"- {_escaped(', '.join(said))}")
    return "\n".join(lines)


def _printable(value: Any) -> str:
    """Return a text in one line, without what cannot be seen."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(value))


def _escaped(value: Any) -> str:
    """Return a text as Markdown shows it unchanged."""
    return _SPECIAL.sub(r"\\\1", _printable(value))


def _yaml(value: str) -> str:
    """Return a text of YAML, which takes those of JSON."""
    return json.dumps(_printable(value), ensure_ascii=False)
