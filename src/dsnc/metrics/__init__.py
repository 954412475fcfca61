"""Figures that say how good answers, label sets, probabilities, groups and codes are.

All of them are exact; nothing is sampled.
"""

from dsnc.metrics.answers import (
    CalibrationBins,
    accuracy,
    calibration_bins,
    expected_calibration_error,
    top_k_accuracy,
)
from dsnc.metrics.clusters import clustering_accuracy
from dsnc.metrics.label_sets import f1_of_sets
from dsnc.metrics.latent import ClassDistances, bit_entropy, class_distances, distinct_codes
from dsnc.metrics.novelty import (
    false_positives_at_95,
    novelty_auroc,
    open_set_classification_rate,
)
from dsnc.metrics.per_class import ClassScores, ConfusedPairs, class_scores, confused_pairs
from dsnc.metrics.rankings import (
    coverage_at_k,
    ndcg_at_k,
    precision_at_k,
    propensities,
    propensities_of_counts,
    psprecision_at_k,
    recall_at_k,
)

__all__ = [
    "CalibrationBins",
    "ClassDistances",
    "ClassScores",
    "ConfusedPairs",
    "accuracy",
    "bit_entropy",
    "calibration_bins",
    "class_distances",
    "class_scores",
    "clustering_accuracy",
    "confused_pairs",
    "coverage_at_k",
    "distinct_codes",
    "expected_calibration_error",
    "f1_of_sets",
    "false_positives_at_95",
    "ndcg_at_k",
    "novelty_auroc",
    "open_set_classification_rate",
    "precision_at_k",
    "propensities",
    "propensities_of_counts",
    "psprecision_at_k",
    "recall_at_k",
    "top_k_accuracy",
]
