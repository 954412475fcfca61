"""A program of somebody who checks types strictly; what is ignored here has to be an error."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import dsnc
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.data import Dataset
from dsnc.metrics import expected_calibration_error


def trained(data: Dataset) -> dsnc.DSNCClassifier:
    """Methods that return the estimator keep its type."""
    return dsnc.DSNCClassifier(n_bits=16, max_epochs=1).fit(data.X, data.labels)


def near(codes: PackedCodes) -> NDArray[np.int64]:
    """Arrays have their dtypes."""
    _, numbers = HammingIndex(codes).search(codes, 2)
    return numbers


def run() -> tuple[object, object]:
    """Train, look, save and load."""
    data = dsnc.data.make_dense_codes(n_rows=100, n_classes=5, n_features=8)
    assert_type(data, Dataset)
    clf = trained(data)
    assert_type(clf.score(data.X, data.labels), float)
    assert_type(clf.encode(data.X), PackedCodes)
    labels, probabilities = clf.predict_top_k(data.X, k=2)
    right = labels[:, 0] == data.labels
    assert_type(expected_calibration_error(right, probabilities[:, 0]), float)
    dsnc.DSNCClassifier(n_bits="16")  # type: ignore[arg-type]
    near("codes")  # type: ignore[arg-type]
    clf.save("model")
    return dsnc.load("model").predict(data.X), near(clf.encode(data.X))
