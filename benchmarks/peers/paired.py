"""Whether one contestant is ahead of another by more than chance: paired tests on the same rows.

Of yes or no (is the first answer right?) this is McNemar's exact test: among the rows on which two
contestants differ, either is right equally often if they are alike. Of other means (P@5, PSP@5) it
is a test by random signs of the differences. P-values are Holm's, over the contestants of a set.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import binomtest, permutation_test

from peers.data import Data
from peers.rankings import hits_of_rows

Outcomes = dict[str, NDArray[Any]]  # of each contestant, a value for each test row
_RESAMPLES = 9999
_BATCH = 500  # of them at a time


def add_tests(
    rows: list[dict[str, Any]], answers: Mapping[str, NDArray[Any]], data: Data, ours: str
) -> None:
    """Add p-values to the rows of a table: against `ours`, and against the best of all.

    Parameters
    ----------
    rows : list of dict
        One for each contestant; those without answers stay as they are.
    answers : dict of str to array of shape (test rows, 1 + k)
        The first class or label of each row, then the k best.
    data : Data
    ours : str
        The contestant that others are compared with.
    """
    for measure, outcomes in outcomes_of(answers, data).items():
        best = max(outcomes, key=lambda name: float(outcomes[name].mean()))
        for key, one in ((f"p {measure}", ours), (f"p best {measure}", best)):
            values = p_values(outcomes, one) if one in outcomes else {}
            for row in rows:
                if row["contestant"] in values:
                    row[key] = values[row["contestant"]]


def outcomes_of(answers: Mapping[str, NDArray[Any]], data: Data) -> dict[str, Outcomes]:
    """Return for each measure what every contestant has earned on every row."""
    y, most = data.test.y, min(5, data.n_classes)
    result: dict[str, Outcomes] = {}
    for name, found in answers.items():
        first, several = found[:, 0], found[:, 1:]
        if sp.issparse(y):
            is_right, earned, _ = hits_of_rows(data.train.y, y, several)
            of_one = {"P@1 %": is_right[:, 0]}
            of_one |= {f"P@{k} %": is_right[:, :k].sum(axis=1) for k in (3, 5)}
            of_one |= {f"PSP@{k} %": earned[:, :k].sum(axis=1) for k in (1, 3, 5)}
        else:
            of_one = {"top-1 %": first == y}
            if several.shape[1] == most:
                of_one["top-5 %"] = (several == y[:, None]).any(axis=1)
        for measure, outcome in of_one.items():
            result.setdefault(measure, {})[name] = outcome
    return result


def p_values(outcomes: Outcomes, one: str) -> dict[str, float]:
    """Return of all others how likely such a difference from `one` is by chance."""
    others = {name: values for name, values in outcomes.items() if name != one}
    found = {name: p_value(values, outcomes[one]) for name, values in others.items()}
    return holm(found)


def p_value(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return how likely it is that two that are alike differ by as much, two-sided."""
    if a.dtype == np.bool_:
        only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
        return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0
    differences = (a - b)[a != b]
    if not len(differences):
        return 1.0
    found = permutation_test(
        (differences,),
        lambda d, axis: d.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=_RESAMPLES,
        batch=_BATCH,
        rng=np.random.default_rng(0),
    )
    return float(found.pvalue)


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Return p-values that hold for all comparisons together, after Holm."""
    result, highest = {}, 0.0
    for place, name in enumerate(sorted(p, key=lambda name: p[name])):
        highest = max(highest, min(1.0, (len(p) - place) * p[name]))
        result[name] = highest
    return result
