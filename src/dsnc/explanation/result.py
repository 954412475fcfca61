"""The parts of an explanation, for people and for programs."""

from dataclasses import asdict, dataclass
from typing import Any

FEATURE, BIT, OTHER = "feature", "bit", "other"  # kinds of terms
TOP = 6  # features that people are shown, for the answer and against it


@dataclass(frozen=True)
class Term:
    """What something adds to the lead of the answer over the runner-up; negative if against it.

    Parameters
    ----------
    name : str
        An n-gram, the name of a column, "feature 17", "bit 3", or the name of a constant.
    kind : "feature", "bit" or "other"
        "bit" only occurs with an encoder that is not linear, whose bits features cannot explain.
    first, second : float
        What it adds to the score of the decoder, and to that of the second stage.
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
        """What it adds in total."""
        return self.first + self.second


@dataclass(frozen=True)
class Bit:
    """A bit of the code.

    Attributes
    ----------
    number : int
        Its place in the code.
    is_set : bool
        Whether it is 1.
    sureness : float
        Probability of this value, 0.5 to 1.
    part : float
        What it adds to the lead by the decoder's scores.
    """

    number: int
    is_set: bool
    sureness: float  # the probability that it is what it is, 0.5 to 1
    part: float  # what it adds to the lead, by the decoder's scores


@dataclass(frozen=True)
class Candidate:
    """A class that could have been the answer.

    Attributes
    ----------
    label : label
        The label.
    first : float
        Score of the decoder.
    margin : float or None
        Score of the second stage; None if it was not asked.
    score : float
        Score of both stages together.
    probability : float
        Probability of the class.
    found : bool
        Whether the decoder found it. If not, it ranks behind those that were found, whatever its
        scores.
    """

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
        The answer and the second-best class; the latter is None if there is only one class.
    probability : float
        Probability of the answer.
    lead : float
        By how much the final score of the answer exceeds that of the runner-up. It can be negative
        if the runner-up is not a candidate, because its code is too far from that of the row.
    code : str
        The bits of the row, "0" and "1", bit 0 first.
    bits : tuple of Bit
        The same bits, with their sureness.
    candidates : tuple of Candidate
        At most ten, best first. The runner-up is listed even if the decoder did not find it.
    terms : tuple of Term
        They add up to the lead; ordered by absolute value, the largest first.
    text : str or None
        The text, if the row was one; for some rare scripts, in its normalized form.
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
        """Whether the second stage took part; if not, the decoder alone decided."""
        return bool(self.candidates) and self.candidates[0].margin is not None

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        plain = asdict(self)
        for term, own in zip(plain["terms"], self.terms, strict=True):
            term["value"] = own.value
        return {**plain, "second_stage": self.second_stage}

    def __str__(self) -> str:
        """Return the explanation as text, in several lines."""
        from dsnc.explanation.words import as_lines

        return "\n".join(as_lines(self))
