"""What is inside a model: plain facts for people and programs; needs no extra."""

from dsnc.inspection.atlas import Atlas
from dsnc.inspection.meaning import (
    BitFacts,
    Neighbor,
    Pair,
    bit_facts,
    class_codes,
    class_number,
    class_weights,
    closest_pairs,
    feature_names,
    nearest_classes,
    pushing_features,
)
from dsnc.model import columns_of, facts_of, first_index, takes_text
from dsnc.model.summary import ModelFacts, model_facts, summary, trial_cells

__all__ = [
    "Atlas",
    "BitFacts",
    "ModelFacts",
    "Neighbor",
    "Pair",
    "bit_facts",
    "class_codes",
    "class_number",
    "class_weights",
    "closest_pairs",
    "columns_of",
    "facts_of",
    "feature_names",
    "first_index",
    "model_facts",
    "nearest_classes",
    "pushing_features",
    "summary",
    "takes_text",
    "trial_cells",
]
