"""What training would leave, made up: for tests of decoders and of their choice."""

import numpy as np

from dsnc.codes import Encoded
from dsnc.decoders import Evidence, HeldOut, LinearDecoder
from dsnc.selection import SelectionSettings, choose
from dsnc.targets import Targets


def problem(n_classes=30, n_bits=12, n=400, noise=0.8, scale=1.0, seed=0):
    """What training leaves: classes around random codes."""
    rng = np.random.default_rng(seed)
    centers = np.where(rng.random((n_classes, n_bits)) < 0.5, -1, 1)
    linear = LinearDecoder(2 * centers, rng.normal(size=n_classes) / 10)
    sets = []
    for _ in range(2):
        y = rng.integers(0, n_classes, n)
        logits = scale * (centers[y] + noise * rng.normal(size=(n, n_bits)))
        sets.append(HeldOut(Encoded(logits), Targets(y, n_classes)))
    training, held_out = sets
    return Evidence(linear, training.encoded.codes, training.targets, held_out)


def make_decoder(choice, evidence):
    """Return the decoder that is chosen, and the report."""
    chosen = choose(evidence, SelectionSettings(choice))
    return chosen.decoder, chosen.report
