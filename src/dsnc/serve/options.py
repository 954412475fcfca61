"""What a client asks for besides rows: the same names in JSON, in addresses and in parameters."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dsnc.checks import is_whole
from dsnc.errors import did_you_mean, shorten
from dsnc.serve.refusals import Refused

NAMES = ("top_k", "probabilities", "unknown", "unknown_share", "explain")
_USUAL_SHARE = 0.05  # of rows of known classes that may be taken for unknown
_WHOLE, _SHARE = re.compile(r"-?[0-9]{1,9}"), re.compile(r"[0-9]?\.?[0-9]{1,17}")
_WORDS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Options:
    """What an answer holds.

    Parameters
    ----------
    top_k : int, optional
        So many labels of each row, in a list, best first; without, one label and no list.
    probabilities : bool
        Whether labels come with their probabilities.
    explain : bool or int
        Whether rows come with explanations; a number is that of their largest terms.
    unknown : str or number, optional
        What rows get in place of labels that seem to belong to none of the classes.
    unknown_share : float
        The share of rows of known classes that may be taken for such.
    """

    top_k: int | None = None
    probabilities: bool = False
    explain: bool | int = False
    unknown: Any = None
    unknown_share: float = _USUAL_SHARE

    @property
    def k(self) -> int:
        """Labels of each row."""
        return self.top_k or 1


PLAIN = Options()


def options_of(given: Mapping[str, Any]) -> Options:
    """Return options, checked."""
    if not given:
        return PLAIN
    for name in given:
        if name not in NAMES:
            hint = did_you_mean(name, NAMES)
            raise Refused(400, f"{shorten(name)} is not known.{hint} Valid: {', '.join(NAMES)}.")
    top_k, explain = given.get("top_k"), given.get("explain", False)
    if top_k is not None and not is_whole(top_k):
        raise Refused(400, f"top_k={shorten(top_k)} must be a whole number, 1 or more.")
    probabilities = given.get("probabilities", False)
    if not isinstance(probabilities, bool):
        raise Refused(400, f"probabilities={shorten(probabilities)} must be true or false.")
    if not isinstance(explain, bool) and not is_whole(explain):
        raise Refused(400, f"explain={shorten(explain)} must be true, false or a number of terms.")
    unknown, share = given.get("unknown"), given.get("unknown_share", _USUAL_SHARE)
    is_label = type(unknown) in (str, int) or (type(unknown) is float and math.isfinite(unknown))
    if unknown is not None and not is_label:
        raise Refused(400, f"unknown={shorten(unknown)} must be a label, a text or a number.")
    if type(share) not in (int, float) or not 0 <= share <= 1:
        raise Refused(400, f"unknown_share={shorten(share)} must be a number from 0 to 1.")
    if unknown is None and "unknown_share" in given:
        raise Refused(400, "unknown_share needs unknown, the label for rows of no known class.")
    return Options(top_k, probabilities, explain, unknown, share)


def from_address(query: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a query such as ``top_k=5&probabilities=true``, yet unchecked."""
    return {name: _value(name, text) for name, text in query.items()}


def _value(name: str, text: str) -> Any:
    if name == "unknown":
        return int(text) if _WHOLE.fullmatch(text) else text
    if name == "unknown_share":
        return float(text) if _SHARE.fullmatch(text) else text
    if name != "top_k" and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if text.isdecimal() and len(text) < 10 else text
