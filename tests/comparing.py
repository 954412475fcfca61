"""What it means that two fitted models are the same: for tests of estimators."""

import numpy as np


def same_model(a, b):
    """Tell whether two models have the same arrays, to the last bit."""
    mine, other = a.predictor_.arrays(), b.predictor_.arrays()
    return all(np.array_equal(mine[name], other[name]) for name in mine)
