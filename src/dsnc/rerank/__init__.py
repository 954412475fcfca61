"""The second stage: features of a row score the candidates that its code has found.

`ClassVectors` hold what each class thinks of each feature: trained vectors, or centers of its rows
in a `Space`. `FeatureReranker` mixes that with the scores of a decoder, and `Reranked` is the two
stages as one decoder. They are trained in `dsnc.fast`; nothing here learns.
"""

from dsnc.rerank.class_vectors import ClassVectors
from dsnc.rerank.reranked import Reranked
from dsnc.rerank.reranker import FeatureReranker
from dsnc.rerank.space import Space

__all__ = ["ClassVectors", "FeatureReranker", "Reranked", "Space"]
