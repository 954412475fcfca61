"""The nearest class code, where a bit counts as much as it can be trusted.

    distance[k] = sum_j weight[j] * [bit[j] != code[k, j]],    weight[j] = log(p[j] / (1 - p[j]))

p[j] is how often bit j of a held-out row is that of its class's code. If bits fail independently,
and each as often for all classes, the nearest code is the most probable.
"""

from functools import partial

import numpy as np

from dsnc.arrays import bounded, check_arrays
from dsnc.codes import PackedCodes
from dsnc.decoders import Cost, Decoder
from dsnc.decoders.base import CONFIDENCE
from dsnc.decoders.checks import valid_real
from dsnc.decoders.confidence import Confidence
from dsnc.errors import InputError

_ROWS = 1024  # scored at a time


class WeightedHammingDecoder(Decoder):
    """The nearest class code by an exact scan; bits count by the log-odds that they are right."""

    name = "weighted_hamming"
    settings = {"smoothing": partial(valid_real, least=0.1, most=1000.0)}

    def __init__(self, codes, weight):
        self.codes, self.weight = codes, bounded("weight", weight)
        if not len(codes) or self.weight.shape != (codes.n_bits,):
            raise InputError("codes: give one for each class; weight: one number for each bit.")
        self.n_classes, self.n_bits = len(codes), codes.n_bits

    @classmethod
    def make(cls, evidence, smoothing=1.0):
        """Count on held-out rows how often each bit is right; without any, all count alike."""
        codes = PackedCodes.from_logits(evidence.linear.weight)
        if evidence.rows is None or evidence.has_sets:
            return cls(codes, np.ones(codes.n_bits))
        bits, own = evidence.rows.encoded.signs(), codes.to_signs(np.float32)
        right = (bits == own[evidence.rows.targets.y]).sum(axis=0)
        odds = (right + smoothing) / (len(bits) - right + smoothing)
        return cls(codes, np.log(odds).clip(min=0))  # what is wrong as often says nothing

    def top_k(self, encoded, k):
        self.check_width(encoded)
        k = self.check_k(k)
        classes = np.empty((len(encoded), k), dtype=np.int64)
        scores = np.empty((len(encoded), k), dtype=np.float32)
        for rows, part in encoded.blocks(_ROWS):
            all_scores = self._scores(part)
            classes[rows] = np.argsort(-all_scores, axis=1, kind="stable")[:, :k]
            scores[rows] = np.take_along_axis(all_scores, classes[rows], axis=1)
        return classes, scores

    def proba(self, encoded):
        self.check_width(encoded)
        scores = self._scores(encoded)
        self.confidence.softmax(scores)
        return scores

    def _scores(self, encoded):
        """Return minus the distances: half of what the bits that agree are ahead, less all."""
        ahead = (encoded.signs() * self.weight) @ self.codes.to_signs(np.float32).T
        return (ahead - self.weight.sum()) / 2

    def arrays(self):
        return {**self.codes.arrays(), "weight": self.weight, **self.confidence.arrays()}

    @classmethod
    def from_arrays(cls, arrays):
        own = {"words": "uint64 2", "n_bits": "int64 1", "weight": "float32 1"}
        check_arrays("weighted_hamming decoder", arrays, own | CONFIDENCE)
        codes = PackedCodes.from_arrays({name: arrays[name] for name in ("words", "n_bits")})
        decoder = cls(codes, arrays["weight"])
        return decoder.with_confidence(Confidence.from_arrays(arrays))

    def cost(self):
        """Return c*K operations, and the bytes of the codes."""
        return Cost(float(self.n_bits * self.n_classes), self.codes.words.nbytes)
