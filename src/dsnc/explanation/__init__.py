"""Why a row gets its class: what speaks for the winner against the runner-up, term by term.

`dsnc.DSNCClassifier.explain` gives an `Explanation` of each row. Its terms add up to the difference
of the two final scores. `explanation_page` writes them as a page, which needs the extra ``report``.
"""

from dsnc.explanation.explain import MAX_ROWS, explain
from dsnc.explanation.page import explanation_page
from dsnc.explanation.result import Bit, Candidate, Explanation, Term

__all__ = [
    "MAX_ROWS",
    "Bit",
    "Candidate",
    "Explanation",
    "Term",
    "explain",
    "explanation_page",
]
