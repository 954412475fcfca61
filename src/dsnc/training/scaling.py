"""How features are scaled before training: so that one learning rate fits them all.

Rows of mostly zeros, such as counts of words, are divided by their length. Whether they are is
decided by the numbers and not by the container: the same numbers learn the same, dense or CSR.

Other features are centered and divided. With "standard" each is divided by its own deviation,
whatever its unit. Where features share a unit, as the pixels of a picture do, that blows up those
that hardly ever vary; "common" divides all by one deviation. Adam moves every weight by the
learning rate, and a logit by that times the sum of the row's absolute values: so rows of many
features are made as small as those of few.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.errors import InputError
from dsnc.training.examples import Examples

Reals = NDArray[np.float64]
_ROWS = 4096  # at a time
_BLOCK = 1 << 24  # numbers of them at most
_FEW = 0.1  # share of numbers that are not 0, below which rows are mostly zeros
_ONE_UNIT = 1 / 3  # of the range of all, which most features of one unit have for themselves
LENGTH = 50.0  # sum of a row's absolute values that is measured to train best, with Adam


class Moments(NamedTuple):
    """What there is to know of each feature."""

    mean: Reals
    deviation: Reals
    low: Reals
    high: Reals
    distance: Reals  # mean distance from the mean, roughly


def is_mostly_zeros(X: Any) -> bool:
    """Tell whether most numbers of a matrix are 0, looking at some of its rows."""
    n_rows, width = X.shape
    step = max(1, n_rows // _ROWS)
    some = X[::step]
    filled = some.count_nonzero() if sp.issparse(some) else np.count_nonzero(some)
    return bool(filled < _FEW * some.shape[0] * width)


def check_scaling(scaling: str, X: Any, mostly_zeros: bool) -> None:
    """Refuse to make a sparse X dense."""
    if scaling in ("standard", "common") and sp.issparse(X) and mostly_zeros:
        raise InputError(
            f"scaling={scaling!r} would make a sparse X dense; use 'unit_rows' or 'none'."
        )


def divides_rows(scaling: str, mostly_zeros: bool) -> bool:
    """Tell whether each row is divided by its length."""
    return scaling == "unit_rows" or (scaling == "auto" and mostly_zeros)


def scale_of(examples: Examples, scaling: str, length: float = LENGTH) -> tuple[Reals, Reals]:
    """Return what to subtract from each feature, and what to divide it by (0: do not).

    The rows are not mostly zeros. `length` is a sum of a row's absolute values which many features
    would exceed.
    """
    found = moments(examples)
    deviation = found.deviation
    if scaling == "common" or (scaling == "auto" and _share_a_unit(found)):
        deviation = np.full_like(deviation, np.sqrt(np.square(deviation).mean()))
    varies = deviation > 0
    found_length = (found.distance[varies] / deviation[varies]).sum()
    return found.mean, deviation * max(1.0, found_length / length)


def moments(examples: Examples) -> Moments:
    """Return the moments of each feature over the rows to use, as much as each counts."""
    X, weight = examples.X, examples.weight
    rows = np.arange(X.shape[0]) if examples.rows is None else examples.rows
    step = max(1, min(_ROWS, _BLOCK // X.shape[1]))
    n = 0.0
    total = squares = distance = center = np.zeros(X.shape[1])
    low, high = np.full((2, X.shape[1]), [[np.inf], [-np.inf]])
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        picked = X[block].toarray() if sp.issparse(X) else X[block]
        values = np.asarray(picked, dtype=np.float64)
        if start == 0:
            center = values.mean(axis=0)
        low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
        # Around a rough mean, so that a large offset does not eat the digits; X stays as it is.
        values = values - center
        counts = np.ones(len(block)) if weight is None else weight[block].astype(np.float64)
        n += counts.sum()
        total = total + counts @ values
        squares = squares + counts @ np.square(values)
        distance = distance + counts @ np.abs(values)
    shift = total / n
    deviation = np.sqrt(np.maximum(squares / n - shift**2, 0))
    return Moments(center + shift, deviation, low, high, distance / n)


def _share_a_unit(found: Moments) -> bool:
    ranges = (found.high - found.low)[found.high > found.low]
    whole = found.high.max() - found.low.min()
    return bool(len(ranges) and np.median(ranges) >= _ONE_UNIT * whole)
