"""The scikit-learn face of the whole.

scikit-learn meets torch here and in the baselines, which wear the same face, and torch only in
``fit``: a fitted or loaded model predicts without it.
"""

from dsnc.classifier.estimator import DSNCClassifier
from dsnc.classifier.files import KINDS, load
from dsnc.classifier.multilabel import DSNCMultiLabelClassifier
from dsnc.classifier.recipes import PAPER, PAPER_REGULARIZED

KINDS[DSNCClassifier.kind] = DSNCClassifier
KINDS[DSNCMultiLabelClassifier.kind] = DSNCMultiLabelClassifier

__all__ = ["PAPER", "PAPER_REGULARIZED", "DSNCClassifier", "DSNCMultiLabelClassifier", "load"]
