"""Why a row gets its class: what speaks for the winner and for the runner-up, term by term.

`dsnc.DSNCClassifier.explain` returns an `Explanation` of each row. Its terms add up to the
difference of the two final scores. `explanation_page` writes a page about some of them, which needs
the extra ``report``.
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
