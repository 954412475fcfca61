"""The choice of a decoder to a model file and back: people read it, nothing computes with it."""

import math
from typing import Any

import numpy as np

from dsnc.decoders.choose import CHOICES, DecoderReport, Trial
from dsnc.errors import InputError, unknown_name

_KEYS = {"chosen": str, "settings": dict, "reason": str, "trials": list}
_TRIAL_KEYS = {
    "decoder": str,
    "settings": dict,
    "accuracy": float | int | None,
    "nanoseconds": float | int,
}
_MOST = 1000  # trials of a report, settings of a trial, and characters of a text


def plain_report(report: DecoderReport) -> dict[str, Any]:
    """Return a report as JSON can hold it; an accuracy that was not measured is null."""
    trials = [
        {
            "decoder": trial.decoder,
            "settings": _plain(trial.settings),
            "accuracy": None if math.isnan(trial.accuracy) else float(trial.accuracy),
            "nanoseconds": float(trial.nanoseconds),
        }
        for trial in report.trials
    ]
    settings = _plain(report.settings)
    return {
        "chosen": report.chosen,
        "settings": settings,
        "reason": report.reason,
        "trials": trials,
    }


def report_of(plain: Any) -> DecoderReport:
    """Make a report from what `plain_report` gave, checking everything: a file may be hostile."""
    _check("decoder", plain, _KEYS)
    if len(plain["trials"]) > _MOST:
        raise InputError(f"metrics: decoder has {len(plain['trials'])} trials.")
    trials = []
    for trial in plain["trials"]:
        _check("decoder trial", trial, _TRIAL_KEYS)
        accuracy = math.nan if trial["accuracy"] is None else float(trial["accuracy"])
        values = trial["decoder"], trial["settings"], accuracy, float(trial["nanoseconds"])
        trials.append(Trial(*values))
    if plain["chosen"] not in CHOICES:
        raise unknown_name("metrics: chosen decoder", plain["chosen"][:100], CHOICES)
    return DecoderReport(plain["chosen"], plain["settings"], plain["reason"], trials)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    items = settings.items()
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in items}


def _check(what: str, plain: Any, keys: dict[str, Any]) -> None:
    if not isinstance(plain, dict) or set(plain) != set(keys):
        raise InputError(f"metrics: {what} does not have the keys {', '.join(keys)}.")
    for key, kind in keys.items():
        value = plain[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"metrics: {what}: {key} is a {type(value).__name__}.")
        if isinstance(value, str) and len(value) > _MOST:
            raise InputError(f"metrics: {what}: {key} has {len(value)} characters.")
    settings = plain["settings"]
    if len(settings) > _MOST or not all(map(_is_plain, (*settings, *settings.values()))):
        raise InputError(f"metrics: {what}: settings are no names and short, plain values.")


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MOST
    return isinstance(value, int | float | None)
