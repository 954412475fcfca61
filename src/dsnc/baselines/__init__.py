"""Methods to compare codes with. They share the interface and model files of `DSNCClassifier`."""

from sklearn.base import BaseEstimator

from dsnc.baselines.ecoc import ECOCBaseline
from dsnc.baselines.label_sets import MLPMultiLabelBaseline, OneVsRestMultiLabelBaseline
from dsnc.baselines.mlp import MLPBaseline
from dsnc.baselines.nearest_centroid import NearestCentroidBaseline
from dsnc.baselines.nearest_neighbors import NearestNeighborsBaseline
from dsnc.baselines.one_vs_rest import OneVsRestBaseline
from dsnc.classifier.files import KINDS

BASELINES: dict[str, type[BaseEstimator]] = {
    "mlp": MLPBaseline,
    "ecoc": ECOCBaseline,
    "one_vs_rest": OneVsRestBaseline,
    "nearest_centroid": NearestCentroidBaseline,
    "nearest_neighbors": NearestNeighborsBaseline,
}
KINDS.maps.append(BASELINES)
KINDS[MLPMultiLabelBaseline.kind] = MLPMultiLabelBaseline
KINDS[OneVsRestMultiLabelBaseline.kind] = OneVsRestMultiLabelBaseline

__all__ = [
    "BASELINES",
    "ECOCBaseline",
    "MLPBaseline",
    "MLPMultiLabelBaseline",
    "NearestCentroidBaseline",
    "NearestNeighborsBaseline",
    "OneVsRestBaseline",
    "OneVsRestMultiLabelBaseline",
]
