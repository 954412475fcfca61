"""The scikit-learn estimators: `DSNCClassifier`, `DSNCMultiLabelClassifier`, and `load`.

Only ``fit`` and ``partial_fit`` may import torch; a fitted or loaded model predicts without it.
"""

from dsnc.classifier.estimator import DSNCClassifier
from dsnc.classifier.files import KINDS, load
from dsnc.classifier.multilabel import DSNCMultiLabelClassifier
from dsnc.classifier.recipes import PAPER, PAPER_REGULARIZED

KINDS[DSNCClassifier.kind] = DSNCClassifier
KINDS[DSNCMultiLabelClassifier.kind] = DSNCMultiLabelClassifier

__all__ = ["PAPER", "PAPER_REGULARIZED", "DSNCClassifier", "DSNCMultiLabelClassifier", "load"]
