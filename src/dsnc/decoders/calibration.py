"""A few numbers that make probabilities honest, above all the temperature of a softmax.

``p = softmax(scores / T)`` has the same best class for every T > 0; T says how sure it is of it.
The likelihood of classes that were not used for training chooses T (C. Guo, G. Pleiss, Y. Sun,
K. Weinberger, "On Calibration of Modern Neural Networks", ICML 2017).

Scores may be those of a few candidate classes per row. Rows whose class is not among them say
nothing about T alone; `fit_confidence` learns from them what to leave to the other classes.

One temperature makes the answers of most rows right as often as it says, and those of some kinds of
rows not at all. So a line through what tells right answers from wrong ones, and then an increasing
curve, mend the probability of the best class.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError

_NEVER = -1e6  # among scores of the order of 1
_MISSING = -1e30  # no real score is that low: decoders mark candidates that do not exist
_RANGE = 1e3  # temperatures up to this many times the spread of scores, and down to one such part
_PRECISION = 1e-9
_NORMAL = 2.563  # standard deviations between the outer tenths of a normal distribution
_MOST_ODDS, _LEAST_LEAD = 50.0, 0.05  # as in src/native/confidence.cpp
_LARGEST = float(np.finfo(np.float32).max)
_FAR = 10.0  # of them: scores beyond are taken for that
_BLOCK = 1 << 18  # scores in a temporary
_GROUPS = 4096  # of scores that count as one in a curve
_PIECES, _ROWS_OF_PIECE = (4, 24), 200  # of a curve: at least and at most, and answers of each
_STEEPNESS = (0.05, 20)  # of a piece of a curve, in comparison with the line through all scores


def fit_temperature(scores: ArrayLike, truth: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Find the temperature under which the true classes are most probable.

    Minimizes over T, with p = softmax(scores / T),

        sum_i weight_i * -log p[i, truth_i]  +  mean_ij of -log p[i, j]

    The second term is one more row whose class may be any of its candidates alike: where all
    answers are right the first term alone would be least for T = 0, claiming certainty. It counts
    as one row and fades as rows become many. The sum is convex in 1 / T, and multiplying all
    scores by a number multiplies T by it.

    `scores` are those of each row's candidates, -inf (or anything below -1e30) where one is
    missing; `truth` is the column of the true class, or -1 where it is not among them, which leaves
    the row out; `weight` is how many rows each one stands for. T is within a factor of 1000 of the
    spread of scores, and 1.0 where nothing depends on it (no rows, or rows whose candidates all
    have one score).

    Examples
    --------
    Sure in the ratio of 4 to 1 (a difference of log 4), and right as often: T is about 1.

    >>> scores = np.tile([[np.log(4), 0]], (1000, 1))
    >>> round(fit_temperature(scores, np.repeat([0, 1], [800, 200])), 2)
    1.0
    """
    table, column, number = _checked(scores, truth, weight)
    used = (column >= 0) & (number > 0)
    table, column, number = table[used], column[used], number[used]
    if not len(table):
        return 1.0
    blocks = _blocks(table)  # the scores stay in their own type

    def total(beta: float) -> tuple[float, float]:
        parts = [_sums(table[rows], column[rows], number[rows], beta) for rows in blocks]
        first, second = zip(*parts, strict=True)
        return math.fsum(first), math.fsum(second)

    # At 1 / T = 0 all candidates are alike: these are means and variances of plain scores.
    uniform, variance = total(0.0)
    n_rows = float(number.sum())
    spread = math.sqrt(variance / n_rows)
    if spread == 0:
        return 1.0

    def derivatives(beta: float) -> tuple[float, float]:
        slope, curvature = total(beta)
        share = 1 / n_rows  # of the additional row that each row is
        return slope + share * (slope - uniform), (1 + share) * curvature

    return 1 / _root(derivatives, 1 / spread)


def fit_confidence(
    scores: ArrayLike,
    truth: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    complete: bool = False,
) -> Confidence:
    """Find how sure the scores of each row's candidates may be.

    First the temperature and the score of "none of the candidates" under which the true classes
    are most probable; then lines through the log-odds of the best candidate and the log of its
    lead, under which it is right as often as they say (J. Platt, "Probabilistic outputs for support
    vector machines", 1999); then an increasing curve, where rows suffice (B. Zadrozny, C. Elkan,
    "Transforming classifier scores into accurate multiclass probability estimates", KDD 2002).
    Each fit counts a few undecided rows more than there are.

    Arguments are those of `fit_temperature`, candidates best first. If they are `complete`, there
    is no class beside them, or none that counts.

    Examples
    --------
    The best is right in 8 of 10 rows, the second in one, neither in one: with a difference of 3,
    a temperature of 3 / log(8) says so.

    >>> scores = np.tile([[3.0, 0.0]], (1000, 1))
    >>> fitted = fit_confidence(scores, np.repeat([0, 1, -1], [800, 100, 100]))
    >>> round(fitted.temperature, 1), round(fitted.other, 1)
    (1.4, 0.0)
    """
    table, column, number = _checked(scores, truth, weight)
    if not (table > _MISSING).any():
        return Confidence()
    if complete:
        fitted = Confidence(fit_temperature(table, column, number))
    else:
        fitted = Confidence(*_fit_softmax(table, column, number))
    fitted = _fit_lines(fitted, *_signals_of(fitted, table, complete), column == 0, number)
    return fitted.checked()


def _signals_of(
    fitted: Confidence, table: NDArray[Any], complete: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return log-odds by the softmax, leads, and whether a candidate is alone, block by block."""
    from scipy.special import logsumexp

    parts = []
    for rows in _blocks(table):
        scores = np.where(table[rows] > _MISSING, table[rows], -np.inf).astype(np.float64)
        none = np.full((len(scores), 1), -np.inf if complete else fitted.other)
        scaled = np.concatenate([scores, none], axis=1) / fitted.temperature
        with np.errstate(divide="ignore", invalid="ignore"):  # where there is nothing else
            odds = scaled[:, 0] - logsumexp(scaled[:, 1:], axis=1)
            lead = scores[:, 0] - np.max(scores[:, 1:2], axis=1, initial=-np.inf)
        parts.append((odds, lead, ~np.isfinite(lead)))
    odds, lead, alone = map(np.concatenate, zip(*parts, strict=True))
    known = np.nan_to_num(odds, nan=-_MOST_ODDS)
    return np.clip(known, -_MOST_ODDS, _MOST_ODDS), lead, alone


def _fit_lines(
    fitted: Confidence,
    odds: NDArray[np.float64],
    lead: NDArray[np.float64],
    alone: NDArray[np.bool_],
    is_right: NDArray[np.bool_],
    number: NDArray[np.float64],
) -> Confidence:
    """Return a confidence with lines, and the curve, that make the best class right as it says."""
    unit = _typical(lead[~alone], number[~alone])
    both = np.stack([odds, _log_lead(lead, unit, alone)], axis=1)
    slopes, offset = fit_line(both[~alone], is_right[~alone], number[~alone])
    slopes_alone, offset_alone = fit_line(both[alone, :1], is_right[alone], number[alone])
    z = np.where(alone, odds * slopes_alone[0] + offset_alone, both @ slopes + offset)
    return fitted._replace(
        unit=unit,
        odds=slopes[0],
        margin=slopes[1],
        offset=offset,
        odds_alone=slopes_alone[0],
        offset_alone=offset_alone,
        curve=fit_curve(z, is_right, number),
    )


def _log_lead(lead: NDArray[Any], unit: float, alone: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the log of a lead, for a unit; 0 for rows of one candidate."""
    lead = np.where(alone, unit, lead).astype(np.float64)
    return np.where(alone, 0.0, np.log(_LEAST_LEAD + np.minimum(lead, _LARGEST) / unit))


def _typical(lead: NDArray[np.float64], number: NDArray[np.float64]) -> float:
    """Return the median of the leads above 0; their mean may be that of one outlier."""
    order = np.argsort(lead)
    order = order[(lead[order] > 0) & (number[order] > 0)]
    if not len(order):
        return 1.0
    counted = np.cumsum(number[order])
    return float(lead[order[np.searchsorted(counted, counted[-1] / 2)]])


def _fit_softmax(
    table: NDArray[Any], column: NDArray[np.int64], number: NDArray[np.float64]
) -> tuple[float, float]:
    """Find the temperature and the score of "none of the candidates"."""
    from scipy.optimize import minimize  # not for who only predicts

    is_known = table > _MISSING
    values = table[is_known].astype(np.float64)
    low, center, high = np.quantile(values, (0.1, 0.5, 0.9)).tolist()
    spread = max((high - low) / _NORMAL if high > low else float(values.std()), 1e-6)
    column = np.where(column < 0, table.shape[1], column)  # the last is "none of them"
    widths = table.shape[1] - is_known[:, ::-1].argmax(axis=1)  # to the last candidate
    order = np.argsort(widths, kind="stable")  # rows of one block are about as long

    def block(rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        width = int(widths[rows].max())
        both = np.zeros((len(rows), width + 1))
        # Of the order of 1, whatever the scale of the scores; outliers decide as little as others.
        scaled = (table[rows, :width].astype(np.float64) - center) / spread
        scaled = np.clip(scaled, -_FAR, _FAR)
        both[:, :-1] = np.where(is_known[rows, :width], scaled, _NEVER)
        return both, np.minimum(column[rows], width), number[rows]

    blocks = [block(order[rows]) for rows in _blocks(table)]

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        beta, none = parameters
        least = [0.01 * (beta - 1) ** 2 + 0.01 * none**2, 0.02 * (beta - 1), 0.02 * none]
        parts = [_surprise(*rows, beta, none) for rows in blocks]
        value, *slopes = map(math.fsum, zip(least, *parts, strict=True))
        return value, np.array(slopes)

    found = minimize(loss, [1.0, -3.0], jac=True, bounds=[(1e-3, 1e3), (-1e3, 1e3)])
    beta, none = found.x.tolist()
    return spread / beta, center + none * spread / beta


def fit_line(
    signals: NDArray[np.float64], is_right: NDArray[np.bool_], number: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Find the logistic regression of being right on the log-odds of it, and on other signals.

    Log-odds come first; what is not told by rows leaves them as they are. No slope is below 0;
    that of log-odds is above it where nothing else tells rows apart.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    sign = np.where(is_right, 1.0, -1.0)
    columns = np.column_stack([signals, np.ones(len(signals))])
    prior = np.eye(1, columns.shape[1])[0]

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        z = sign * (columns @ parameters)
        far = parameters - prior
        value = number @ np.logaddexp(0, -z) + 0.5 * far @ far
        return value, columns.T @ (-number * sign * expit(-z)) + far

    others = [(0, 20) for _ in prior[2:]]
    bounds = [(0 if others else 0.05, 20), *others, (-20, 20)]
    found = minimize(loss, prior, jac=True, bounds=bounds)
    return found.x[:-1], float(found.x[-1])


def fit_curve(
    scores: NDArray[np.float64], is_right: NDArray[np.bool_], number: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Find the ascending curve from scores to the log-odds of being right: its knots and values.

    The likelihood of the answers chooses the slope of each piece between two knots, with as many
    answers that are right, and that are not, in one piece as in another. Each fit counts one
    undecided answer more than there are, for the line through all scores.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    slopes, intercept = fit_line(scores[:, None], is_right, number)
    slope = float(slopes[0])
    values, owner = np.unique(scores[number > 0], return_inverse=True)
    right, wrong = (
        np.bincount(owner, np.where(is_right == which, number, 0)[number > 0])
        for which in (True, False)
    )
    ends = values[[0, -1]] if len(values) else np.zeros(2)
    if np.float32(ends[0]) == np.float32(ends[1]):
        knots = np.array([0.0, 1.0])
        return knots, slope * knots + intercept
    shares = np.cumsum(right) / max(right.sum(), 1) + np.cumsum(wrong) / max(wrong.sum(), 1)
    n_pieces = int(np.clip(number.sum() / _ROWS_OF_PIECE, *_PIECES))
    places = np.linspace(0, shares[-1], n_pieces + 1)[1:-1]
    inner = values[np.searchsorted(shares, places)]
    knots = np.unique(np.concatenate([ends, inner]).astype(np.float32)).astype(np.float64)
    starts = np.arange(len(values))
    if len(values) > _GROUPS:
        borders = np.linspace(0, shares[-1], _GROUPS, endpoint=False)
        starts = np.unique(np.searchsorted(shares, borders))
    right, wrong, total = (
        np.add.reduceat(each, starts) for each in (right, wrong, values * (right + wrong))
    )
    # An undecided answer at each end: nothing is certain.
    means = np.concatenate([ends, total / (right + wrong)])
    right, wrong = (np.append([0.5, 0.5], each) for each in (right, wrong))
    pieces = slope * (np.clip(means[:, None], knots[:-1], knots[1:]) - knots[:-1])
    terms = np.concatenate([np.ones((len(means), 1)), pieces], axis=1)

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        odds, steeper = terms @ parameters, parameters[1:] - 1
        value = right @ np.logaddexp(0, -odds) + wrong @ np.logaddexp(0, odds)
        gradient = (wrong * expit(odds) - right * expit(-odds)) @ terms
        gradient[1:] += steeper
        return float(value + 0.5 * steeper @ steeper), gradient

    start = np.append(slope * knots[0] + intercept, np.ones(len(knots) - 1))
    bounds = [(None, None)] + [_STEEPNESS] * (len(knots) - 1)
    found = minimize(loss, start, jac=True, bounds=bounds, options={"ftol": 1e-13}).x
    rises = slope * found[1:] * np.diff(knots)
    return knots, found[0] + np.append(0, np.cumsum(rises))


def _blocks(table: NDArray[Any]) -> list[slice]:
    """Return rows to look at at a time: one block's worth of memory, however many there are."""
    step = max(1, _BLOCK // table.shape[1])
    return [slice(start, start + step) for start in range(0, len(table), step)]


def _surprise(
    scores: NDArray[np.float64],
    column: NDArray[np.int64],
    number: NDArray[np.float64],
    beta: float,
    none: float,
) -> tuple[float, float, float]:
    """Return the rows' negative log-likelihood, and its slopes by beta and by the last score."""
    p = beta * scores
    p[:, -1] = none
    p -= p.max(axis=1, keepdims=True)
    rows, last = np.arange(len(p)), p.shape[1] - 1
    likely = p[rows, column]
    np.exp(p, out=p)
    total = p.sum(axis=1)
    p /= total[:, None]
    mean = np.einsum("ij,ij->i", p, scores)
    return (
        float(number @ (np.log(total) - likely)),
        float(number @ (mean - scores[rows, column])),
        float(number @ (p[:, -1] - (column == last))),
    )


def _sums(
    scores: NDArray[Any], column: NDArray[np.int64], number: NDArray[np.float64], beta: float
) -> tuple[float, float]:
    """Return the first two derivatives of the rows' negative log-likelihood by beta = 1 / T.

    A row has log sum_j exp(beta * d_j), d_j being how far j is above the true class: its
    derivatives are the mean and the variance of d under the softmax.
    """
    exists = scores > _MISSING
    values = np.where(exists, scores, -np.inf).astype(np.float64)
    best = values.max(axis=1)
    below = np.where(exists, values - best[:, None], 0)
    weights = np.exp(beta * below) * exists
    weights /= weights.sum(axis=1, keepdims=True)
    mean = (weights * below).sum(axis=1)
    variance = (weights * (below - mean[:, None]) ** 2).sum(axis=1)
    mean += best - values[np.arange(len(values)), column]
    return float(number @ mean), float(number @ variance)


def _root(derivatives: Callable[[float], tuple[float, float]], start: float) -> float:
    """Return where the slope of a convex function is 0: Newton's steps, kept within a bracket."""
    low, high = start / _RANGE, start * _RANGE
    beta, last = start, math.inf
    while high / low - 1 > _PRECISION:
        slope, curvature = derivatives(beta)
        low, high = (low, beta) if slope > 0 else (beta, high)
        moved = beta - slope / curvature if curvature > 0 else math.inf
        # A step that leaves the bracket, or is no shorter than half the last, would lead nowhere.
        if not low <= moved <= high or abs(moved - beta) > last / 2:
            moved = math.sqrt(low * high)
        last = abs(moved - beta)
        if last <= _PRECISION * beta:
            return moved
        beta = moved
    return beta


def _checked(
    scores: ArrayLike, truth: ArrayLike, weight: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float64]]:
    table, column = np.asarray(scores), _columns(truth)
    if table.ndim != 2 or table.dtype.kind not in "biuf" or len(table) != len(column):
        raise InputError(
            f"scores has shape {table.shape} and type {table.dtype}; expected numbers of shape "
            f"({len(column)}, m), as many rows as truth."
        )
    if table.size and not table.max() < math.inf:  # a NaN is the maximum
        raise InputError(f"scores contains {table.max()}; expected numbers, or -inf where missing.")
    if (column >= table.shape[1]).any():
        row = int(np.argmax(column >= table.shape[1]))
        raise InputError(f"truth[{row}] is {column[row]}; scores has {table.shape[1]} columns.")
    number = np.ones(len(column)) if weight is None else np.asarray(weight, dtype=np.float64)
    if number.shape != column.shape or not (np.isfinite(number) & (number >= 0)).all():
        raise InputError(
            f"weight has shape {number.shape}; expected {column.shape}, finite and 0 or more."
        )
    rows = np.flatnonzero(column >= 0)
    lost = rows[table[rows, column[rows]] <= _MISSING]
    if len(lost):
        raise InputError(
            f"truth[{lost[0]}] is {column[lost[0]]}, and that candidate is missing: its score is "
            f"{table[lost[0], column[lost[0]]]}. Use -1 for a class that is not a candidate."
        )
    return table, column, number


def _columns(truth: ArrayLike) -> NDArray[np.int64]:
    column = np.asarray(truth)
    if column.ndim != 1 or (column.size and column.dtype.kind not in "iu"):
        raise InputError(
            f"truth has shape {column.shape} and type {column.dtype}; expected integers of shape "
            "(n,)."
        )
    if column.size and column.min() < -1:
        raise InputError(f"truth contains {column.min()}; expected the number of a column, or -1.")
    return column.astype(np.int64)
