"""What an explanation says: frozen and plain, for people and for programs."""

from dataclasses import asdict, dataclass
from typing import Any

FEATURE, BIT, OTHER = "feature", "bit", "other"  # kinds of terms
TOP = 6  # features that people are shown, for the answer and against it


@dataclass(frozen=True)
class Term:
    """What something adds to the lead of the winner over the runner-up; below 0, against it.

    Parameters
    ----------
    name : str
        An n-gram, the name of a column, "feature 17", "bit 3", or of a constant.
    kind : "feature", "bit" or "other"
        "bit" only where an encoder is not linear, and its bits are not told by features.
    first, second : float
        What it adds by the decoder's scores, and by the class vectors of the second stage.
    feature : int, optional
        The column of X.
    """

    name: str
    kind: str
    first: float
    second: float = 0.0
    feature: int | None = None

    @property
    def value(self) -> float:
        """What it adds altogether."""
        return self.first + self.second


@dataclass(frozen=True)
class Bit:
    """A bit of the code."""

    number: int
    is_set: bool
    sureness: float  # the probability that it is what it is, 0.5 to 1
    part: float  # what it adds to the lead, by the decoder's scores


@dataclass(frozen=True)
class Candidate:
    """A class that might have been the answer."""

    label: Any
    first: float  # the score of the decoder
    margin: float | None  # what the second stage says; None where it was not asked
    score: float  # of both stages
    probability: float
    found: bool  # by the decoder; if not, it is behind those, and these scores had no say


@dataclass(frozen=True)
class Explanation:
    """Why a row got its label.

    Parameters
    ----------
    label, runner_up : label
        The answer, and the second best; None where there is one class only.
    probability : float
        Of the answer.
    lead : float
        By how much the final score of the answer is larger than that of the runner-up. It can be
        below 0 where the runner-up is no candidate: its code is too far from that of the row.
    code : str
        The bits of the row, "0" and "1", bit 0 first.
    bits : tuple of Bit
    candidates : tuple of Candidate
        Best first, ten at most; the runner-up is listed even if the decoder has not found it.
    terms : tuple of Term
        They add up to the lead; the largest first, whatever its sign.
    text : str or None
        The text, where the row was one. In rare scripts, as it was normalized.
    marks : tuple of float
        For each character of the text, the sum of the n-grams that cover it.
    """

    label: Any
    runner_up: Any
    probability: float
    lead: float
    code: str
    bits: tuple[Bit, ...]
    candidates: tuple[Candidate, ...]
    terms: tuple[Term, ...]
    text: str | None = None
    marks: tuple[float, ...] = ()

    @property
    def second_stage(self) -> bool:
        """Whether features had a second look; if not, the decoder alone has decided."""
        return bool(self.candidates) and self.candidates[0].margin is not None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it."""
        plain = asdict(self)
        for term, own in zip(plain["terms"], self.terms, strict=True):
            term["value"] = own.value
        return {**plain, "second_stage": self.second_stage}

    def __str__(self) -> str:
        """Return what people want to know, in lines."""
        from dsnc.explanation.words import as_lines

        return "\n".join(as_lines(self))
