"""Shortlists whose distances and scores tie, and rows for them."""

import numpy as np
from hypothesis import strategies as st

import oracles
from dsnc.codes import Encoded, PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder

SEEDS = st.integers(0, 2**32 - 1)
LINEAR = LinearDecoder([[1, 1], [1, -1], [-1, -1]], [0, 0, 0])
CODES = PackedCodes.from_bits([[1, 1], [1, 0], [0, 0]])
SURE = (-80.0, 0.0, 80.0)  # tanh(20) is 1: whole numbers in, whole numbers out
UNSURE = (-3.0, -1.5, -0.25, 0.0, 0.5, 1.0, 2.0)


class Case:
    """A decoder whose codes differ in few bits, so that distances and scores tie, and queries."""

    def __init__(self, seed, values=SURE, n_classes=None, n_rows=4, max_bits=130, is_codebook=None):
        rng = np.random.default_rng(seed)
        n_bits = int(rng.integers(1, max_bits + 1))
        n_classes = n_classes or int(rng.integers(1, 13))
        if is_codebook is None:
            is_codebook = rng.random() < 0.3
        n_codes = n_classes + (0 if is_codebook else int(rng.integers(0, 9)))
        varied = rng.permutation(n_bits) < 6
        self.bits = (rng.random((n_codes, n_bits)) < 0.5) & varied
        some = rng.integers(0, n_classes, n_codes - n_classes)
        each = np.arange(n_classes) if is_codebook else rng.permutation(n_classes)
        self.labels = np.append(each, some)
        self.weight = rng.integers(-1, 2, (n_classes, n_bits)).astype(np.float32)
        self.bias = rng.integers(-1, 2, n_classes).astype(np.float32)
        self.settings = {
            "size": int(rng.integers(1, 16)),
            "closeness": float(rng.choice([0, 0.125, 1])),
            "sharpness": float(rng.choice([0.5, 1, 2])),
            "prior": float(rng.choice([0, 0.5, 1])),
        }
        around = np.where(self.bits[rng.integers(0, n_codes, n_rows)], 1, -1)
        flipped = np.where((rng.random(around.shape) < 0.2) & varied, -around, around)
        self.logits = (flipped * np.abs(rng.choice(values, around.shape))).astype(np.float32)
        self.codes = PackedCodes.from_logits(self.logits)
        self.encoded = Encoded(self.logits, self.codes)

    def decoder(self, **settings):
        linear = LinearDecoder(self.weight, self.bias)
        codes = PackedCodes.from_bits(self.bits)
        return ShortlistDecoder(linear, codes, self.labels, **{**self.settings, **settings})

    def expected(self, logits):
        queries = self.codes.to_bits()
        arrays = self.weight, self.bias, self.bits, self.labels, queries, logits
        return oracles.shortlist(*arrays, **self.settings)


def answers(decoder, codes, logits):
    k = min(5, decoder.n_classes)
    return [
        decoder.predict(Encoded(logits, codes))[:, None],
        *decoder.top_k(Encoded(logits, codes), k),
        *decoder.top_k_proba(Encoded(logits, codes), k),
        *decoder.top_k(Encoded(logits, codes), decoder.n_classes),
        decoder.proba(Encoded(logits, codes)),
        *decoder.candidates(Encoded(logits, codes)),
    ]
