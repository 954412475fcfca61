"""Words that come with new rows of text: an encoder that has not seen them is told what they mean.

The n-grams of `fit` have trained weights, which stay. One that comes later gets a column, and
points where the rows that have it are: to the mean code of their class, as their other n-grams
tell. Rows without it keep their codes.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dsnc.decoders.memory import Memory
from dsnc.encoders.numpy import Layer, NumpyEncoder
from dsnc.predictor import Predictor

_STRENGTH = 6.0  # times what would do if all n-grams of a row pointed to one code


def with_new_words(
    predictor: Predictor, memory: Memory | None, texts: list[str], labels: Any
) -> tuple[Predictor, Memory | None]:
    """Return a predictor that knows the n-grams of some texts as well, if its encoder is linear.

    The memory, if there is one, is returned with as many features. Labels may have any names.
    """
    known, encoder = predictor.features, predictor.encoder
    if known is None or not isinstance(encoder, NumpyEncoder) or len(encoder.layers) > 1:
        return predictor, memory
    wider, places = known.with_texts(texts)
    fresh = np.delete(np.arange(wider.n_features_), places)
    if not len(fresh):
        return predictor, memory
    bias = encoder.layers[0].bias
    owners = np.unique(labels, return_inverse=True)[1]
    members = sp.csr_array((np.ones(len(texts)), (owners, np.arange(len(texts)))))
    means = members @ (predictor.logits(texts) - bias) / members.sum(axis=1)[:, None]
    rows = wider.rows(texts)
    share = sp.csr_array(rows)[:, fresh].T  # of each n-gram in each row
    usual = float(np.median(np.asarray(rows.sum(axis=1))))
    meaning = (share @ means[owners]) / np.asarray(share.sum(axis=1))[:, None]
    weight = np.zeros((wider.n_features_, encoder.n_bits), np.float32)
    weight[places], weight[fresh] = encoder.layers[0].weight, _STRENGTH / usual * meaning
    layers = [Layer(weight, bias, encoder.layers[0].activation)]
    reranker = predictor.reranker
    if reranker is not None:
        vectors = reranker.vectors.with_features(places, wider.n_features_)
        reranker = replace(reranker, vectors=vectors)
    wide = NumpyEncoder(layers, row_normalize=encoder.row_normalize)
    parts = predictor.decoder, wider, predictor.trained, reranker, predictor.rule
    memory = memory and memory.with_features(places, wider.n_features_)
    return type(predictor)(wide, *parts), memory
