"""What was chosen and why, for people. A model file keeps it; nothing computes with it."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dsnc.decoders import DECODERS
from dsnc.errors import InputError, unknown_name

if TYPE_CHECKING:
    from dsnc.selection.second_stage import SecondStage

SECOND_STAGE = "+ features"  # as a trial is called
_KEYS = {"chosen": str, "settings": dict, "reason": str, "trials": list}
_TRIAL_KEYS = {
    "decoder": str,
    "settings": dict,
    "accuracy": float | int | None,
    "nanoseconds": float | int,
    "n_bytes": int,
}
_MOST = 1000  # trials of a report, settings of a trial, and characters of a text


class Trial(NamedTuple):
    """How good one decoder is on the held-out rows.

    Attributes
    ----------
    decoder : str
        Its name.
    settings : dict
        Its settings.
    accuracy : float
        Its accuracy; NaN if there were no held-out rows.
    nanoseconds : float
        Time to decode a row on a typical machine.
    n_bytes : int
        Bytes of a second stage; 0 for a decoder.
    """

    decoder: str
    settings: dict[str, Any]
    accuracy: float  # NaN where there were no rows
    nanoseconds: float  # of decoding a row, on a typical machine
    n_bytes: int = 0  # of a second stage


@dataclass(frozen=True)
class DecoderReport:
    """Which decoder was chosen and why, and how good the others are. ``print`` shows it.

    Attributes
    ----------
    chosen : str
        The name of the decoder.
    settings : dict
        Its settings.
    reason : str
        Why it was chosen.
    trials : list of Trial
        The decoders that were compared, and the second stage.
    """

    chosen: str
    settings: dict[str, Any]
    reason: str
    trials: list[Trial] = field(default_factory=list)

    @property
    def nanoseconds(self) -> float:
        """Time of the chosen decoder for a row, on a typical machine; 0 if it was not tried."""
        settings = self.settings.items()
        mine = (
            t for t in self.trials if t.decoder == self.chosen and settings <= t.settings.items()
        )
        return next((trial.nanoseconds for trial in mine), 0.0)

    def with_second_stage(self, found: "SecondStage") -> "DecoderReport":
        """Return the report with the accuracy of a second stage, and whether it was added."""
        if found.tried is None or found.accuracies is None:
            return self
        without, both = found.accuracies
        settings, n_bytes = found.tried.chosen_settings(), found.tried.cost().bytes
        trials = [
            *self.trials,
            Trial(SECOND_STAGE, settings, both, self.nanoseconds + found.nanoseconds, n_bytes),
        ]
        is_kept = found.reranker is not None
        what = (
            "features decide among its candidates" if is_kept else "a second stage gains too little"
        )
        reason = (
            f"{self.reason}; {what}: {100 * both:.2f} % instead of {100 * without:.2f} %, for "
            f"{found.nanoseconds / 1000:.1f} us and {n_bytes / 1e6:.1f} MB more"
        )
        return replace(self, reason=reason, trials=trials)

    def __str__(self) -> str:
        """Return the choice, the reason, and a line for each trial."""
        lines = [f"{self.chosen}: {self.reason}"]
        for trial in self.trials:
            settings = ", ".join(f"{key}={value}" for key, value in trial.settings.items())
            lines.append(
                f"  {trial.decoder:<10} {100 * trial.accuracy:6.2f} %  "
                f"{trial.nanoseconds / 1000:8.2f} us  {settings}{_megabytes(trial.n_bytes)}"
            )
        return "\n".join(lines)


def _megabytes(n_bytes: int) -> str:
    return f", {n_bytes / 1e6:.1f} MB" if n_bytes else ""


def plain_report(report: DecoderReport) -> dict[str, Any]:
    """Return a report as JSON can hold it; an accuracy that was not measured is null."""
    trials = [
        {
            "decoder": trial.decoder,
            "settings": _plain(trial.settings),
            "accuracy": None if math.isnan(trial.accuracy) else float(trial.accuracy),
            "nanoseconds": float(trial.nanoseconds),
            "n_bytes": int(trial.n_bytes),
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
        trials.append(Trial(*values, trial["n_bytes"]))
    if plain["chosen"] not in DECODERS:
        raise unknown_name("metrics: chosen decoder", plain["chosen"][:100], DECODERS)
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
            raise InputError(f"metrics: {what}: {key} is of type {type(value).__name__}.")
        if isinstance(value, str) and len(value) > _MOST:
            raise InputError(f"metrics: {what}: {key} has {len(value)} characters.")
    settings = plain["settings"]
    if len(settings) > _MOST or not all(map(_is_plain, (*settings, *settings.values()))):
        raise InputError(f"metrics: {what}: settings are not names with short, plain values.")


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MOST
    return isinstance(value, int | float | None)
