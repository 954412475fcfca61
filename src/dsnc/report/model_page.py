"""A page about a model: one small file without scripts or links, to look at on any screen."""

import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dsnc.errors import require
from dsnc.report.files import write_whole
from dsnc.report.inspection import BitFacts, ModelFacts, Neighbor, Pair

_CALLER = "A page about a model"


def model_page(
    path: str | os.PathLike[str],
    facts: ModelFacts,
    *,
    title: str,
    bits: Sequence[BitFacts] = (),
    pairs: Sequence[Pair] = (),
    label: Any = None,
    neighbors: Sequence[Neighbor] = (),
) -> Path:
    """Write a page about a model.

    Parameters
    ----------
    path : path
        The file to write; an older one is replaced.
    facts : ModelFacts
        As `dsnc.report.inspection.model_facts` gives them.
    title : str
        Stands above.
    bits : sequence of BitFacts
        What bits separate.
    pairs : sequence of Pair
        Classes that are near each other.
    label, neighbors : label and sequence of Neighbor
        A class and those near it.

    Returns
    -------
    Path
        The file that was written.
    """
    jinja2 = require("jinja2", extra="report", caller=_CALLER)
    template = resources.files("dsnc.report").joinpath("templates/model.html")
    # Labels and n-grams come from data: everything is escaped.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    html = environment.from_string(template.read_text(encoding="utf-8")).render(
        title=title,
        summary=summary(facts),
        trials=[trial_cells(trial) for trial in facts.trials],
        bits=bits,
        pairs=pairs,
        label=label,
        neighbors=neighbors,
    )
    # Half a surrogate pair may stand in a label; HTML has no way to hold it.
    octets = html.encode("utf-8", errors="backslashreplace")
    return write_whole(Path(path), lambda file: file.write(octets))


def summary(facts: ModelFacts) -> list[tuple[str, str]]:
    """Return names and values of the most important facts, as people read them."""
    rows = "texts, " if facts.takes_text else ""
    sizes = " → ".join(f"{n:,}" for n in (facts.n_features, *(out for _, out in facts.layers)))
    accuracy, epoch = facts.metrics["validation_accuracy"], facts.metrics["best_epoch"]
    lines = [
        ("kind", facts.kind),
        ("classes", f"{facts.n_classes:,}"),
        ("input", f"{rows}{facts.n_features:,} features"),
        ("encoder", f"{sizes} ({facts.parameters.get('encoder', 'linear')})"),
        ("bits", f"{facts.n_bits:,}"),
        ("decoder", facts.decoder + (f": {facts.reason}" if facts.reason else "")),
    ]
    if facts.decoder_settings:
        lines.append(("decoder settings", _settings(facts.decoder_settings)))
    if facts.calibration:
        lines.append(("calibration", _settings(facts.calibration)))
    if accuracy is not None:
        lines.append(("validation accuracy", f"{100 * accuracy:.2f} % (epoch {epoch})"))
    n_rows = facts.data.get("rows")
    if type(n_rows) is int:  # a file may say anything
        lines.append(("trained on", f"{n_rows:,} rows"))
    if facts.files:
        lines.append(("files", ", ".join(f"{n} {size:,} bytes" for n, size in facts.files.items())))
    if facts.versions:
        lines.append(("written by", ", ".join(f"{n} {v}" for n, v in facts.versions.items())))
    return lines


def trial_cells(trial: dict[str, Any]) -> list[str]:
    """Return decoder, accuracy, time and settings of a trial, as people read them."""
    return [
        trial["decoder"],
        f"{100 * trial['accuracy']:.2f} %",
        f"{trial['nanoseconds'] / 1000:.2f} µs",
        _settings(trial["settings"]),
    ]


def _settings(settings: dict[str, Any]) -> str:
    shown = {k: f"{v:.3g}" if isinstance(v, float) else v for k, v in settings.items()}
    return ", ".join(f"{key}={value}" for key, value in shown.items())
