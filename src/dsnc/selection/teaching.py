"""An encoder that learns what rare features mean, from rows of classes that come.

Rows like texts have features that training has hardly ever seen, and the rows of new classes have
many of them. What the encoder makes of these moves, the less the more rows had them before; class
vectors stay meanwhile. So rows of old classes, which seldom have these features, keep their codes.
"""

from typing import Any

from dsnc.decoders import LinearDecoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.memory import Memory
from dsnc.encoders.numpy import Layer, NumpyEncoder
from dsnc.predictor import Predictor
from dsnc.selection.lesson import Learning


def can_be_taught(encoder: Any) -> bool:
    """Tell whether an encoder is linear, of rows of length 1."""
    is_linear = isinstance(encoder, NumpyEncoder) and len(encoder.layers) == 1
    return is_linear and encoder.row_normalize


def with_taught_encoder(
    predictor: Predictor,
    memory: Memory,
    X: Any,
    classes: Ints,
    linear: LinearDecoder,
    how: Learning,
) -> Predictor:
    """Return the same predictor with an encoder that knows the features of some rows better.

    Its encoder can be taught, and the memory has counted its features. `classes` are those of the
    rows, as numbered in `linear`, which has the vectors of old and new classes.
    """
    from dsnc.fast.new_classes import teach

    encoder: Any = predictor.encoder
    weight, bias, _ = encoder.layers[0]
    parts = weight, bias, linear, X, classes, memory.seen
    weight = teach(*parts, seed=how.seed, n_threads=how.n_threads)
    encoder = NumpyEncoder([Layer(weight, bias)], row_normalize=True)
    others = predictor.features, predictor.trained, predictor.reranker, predictor.rule
    return type(predictor)(encoder, predictor.decoder, *others)
