"""How good answers, probabilities and codes are.

Everything here is exact, and nothing is drawn at random.
"""

from dsnc.metrics.answers import (
    CalibrationBins,
    accuracy,
    calibration_bins,
    expected_calibration_error,
    top_k_accuracy,
)
from dsnc.metrics.latent import ClassDistances, bit_entropy, class_distances, distinct_codes

__all__ = [
    "CalibrationBins",
    "ClassDistances",
    "accuracy",
    "bit_entropy",
    "calibration_bins",
    "class_distances",
    "distinct_codes",
    "expected_calibration_error",
    "top_k_accuracy",
]
