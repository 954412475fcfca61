"""A fitted model: a `Predictor` and the labels of its class numbers; without scikit-learn.

Estimators are fitted models that can also learn. Importing scikit-learn takes longer than reading
a model and predicting, so that the command line predicts with what `read_fitted` gives.
"""

from dsnc.model.coded import CodeModel
from dsnc.model.facts import columns_of, facts_of, feature_names, first_index, takes_text
from dsnc.model.fitted import FittedModel, check_table
from dsnc.model.reading import (
    FAR,
    LABEL_KINDS,
    REMEMBERED,
    USUAL,
    fitting_parts,
    plain,
    plain_labels,
    read_fitted,
    read_labels,
    restore,
)
from dsnc.model.sets import CodeSetModel, SetModel

__all__ = [
    "FAR",
    "LABEL_KINDS",
    "REMEMBERED",
    "USUAL",
    "CodeModel",
    "CodeSetModel",
    "FittedModel",
    "SetModel",
    "check_table",
    "columns_of",
    "facts_of",
    "feature_names",
    "first_index",
    "fitting_parts",
    "plain",
    "plain_labels",
    "read_fitted",
    "read_labels",
    "restore",
    "takes_text",
]
