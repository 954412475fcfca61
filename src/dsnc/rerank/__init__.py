"""The second stage: features of a row decide among the candidates that its code has found.

`ClassVectors` hold the weight of each feature for each class: trained vectors, or centers of the
rows of a class in a `Space`. `FeatureReranker` combines them with the scores of a decoder, and
`Reranked` is both stages as one decoder. They are trained in `dsnc.fast`.
"""

from dsnc.rerank.class_vectors import ClassVectors
from dsnc.rerank.reranked import Reranked
from dsnc.rerank.reranker import FeatureReranker
from dsnc.rerank.space import Space

__all__ = ["ClassVectors", "FeatureReranker", "Reranked", "Space"]
