"""Model folders that are built from nothing, by structure.

All sizes fit together, so that little is refused; contents and settings are at their edges and in
the middle. Mutants of sound models do not get that far: one wrong size, and they are refused.
"""

import json
import random
import shutil
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from safetensors.numpy import save

from dsnc.decoders.confidence import Confidence
from dsnc.errors import DsncError, ModelFileError
from dsnc.model import read_fitted
from reliability.models import described_arrays, eager_index
from reliability.trials import REFUSED, WORKS, Memory, Verdict, WrongError, refusal

Arrays = dict[str, NDArray[Any]]
_BITS = (1, 2, 3, 7, 8, 12, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 1000)
_CLASSES = (1, 2, 3, 6, 7, 63, 64, 65, 129, 300, 1000)
_WIDTHS = (1, 2, 5, 8, 64, 300)
_WIDE = (65_535, 65_536, 65_537, 70_000)  # where 16 bits are no longer enough
_DECODERS = ("linear", "soft", "nearest", "nearest", "table", "scores", "codebook")
_SHORTLIST = ("shortlist",) * 3
_TEXTS = ("", " ", "a", "A b", "\n", "a\x1fb\x1fc", "é" * 40, "x" * 5000, "ẞßſ ﬁ ﷺ " * 20)
_MORE_TEXTS = ("\ud800 z", "नर्स का", "a\u0301\u0316" * 30, "_" * 64, "1 2 3 " * 100, "\U000e0100x")


class Folder:
    """One model, built from the random numbers of a trial."""

    def __init__(self, dice: random.Random) -> None:
        self.dice, self.rng = dice, np.random.default_rng(dice.randrange(2**32))
        self.decoder = dice.choice((*_DECODERS, *_SHORTLIST))
        self.bits = dice.choice(_BITS if self.decoder != "table" else (1, 2, 5, 8, 12, 16, 18))
        self.classes = self.bits if self.decoder == "scores" else dice.choice(_CLASSES)
        self.width = dice.choice(_WIDE if dice.random() < 0.05 else _WIDTHS)
        self.codes = max(self.classes, dice.choice((512, 513, 1024, 4095, 4096, 4097, 5000)))
        if self.bits > 300 or self.decoder == "codebook":
            self.codes = self.classes
        self.is_text = dice.random() < 0.2
        self.arrays = self._encoder() | self._prefixed("decoder", self._decoder())
        if dice.random() < 0.4:
            self.arrays |= self._prefixed("reranker", self._second_stage())
        if self.dice.random() < 0.3 and self.decoder != "scores":
            self.arrays |= self._prefixed("memory", self._memory())
            self.arrays |= {"novelty.signs": np.ones((4, 3), np.float32)}
            self.arrays |= {"novelty.quantiles": np.linspace(0, 1, 1001).astype(np.float32)}
            self.arrays |= {"novelty.hidden": np.zeros(3, np.float32)}
        if self.is_text:
            self.arrays |= self._prefixed("features", self._features())

    def write(self, folder: Path, header: dict[str, Any]) -> None:
        """Write both files, with right checksums."""
        raw = save({name: np.ascontiguousarray(one) for name, one in self.arrays.items()})
        header = header | {"kind": "dsnc", "decoder": self.decoder, "data": {}, "history": []}
        header |= {"classes": list(range(self.classes)), "parameters": {"n_jobs": None}}
        header |= {"features": {"label_kind": "int64", "names": []}}
        header |= {"arrays": described_arrays(raw), "sha256": sha256(raw).hexdigest()}
        (folder / "model.safetensors").write_bytes(raw)
        (folder / "model.json").write_text(json.dumps(header))

    def _prefixed(self, part: str, arrays: Arrays) -> Arrays:
        return {f"{part}.{name}": array for name, array in arrays.items()}

    def _one(self, kind: Any, *values: Any) -> NDArray[Any]:
        return np.array([self.dice.choice(values)], kind)

    def _reals(self, **values: tuple[float, ...]) -> Arrays:
        return {name: self._one(np.float32, *some) for name, some in values.items()}

    def _encoder(self) -> Arrays:
        scale = self.dice.choice((0, 1e-30, 1, 1, 1, 1e3, 1e18))
        shapes = [(self.width, self.bits)]
        if self.dice.random() < 0.25:
            shapes = [(self.width, 3), (3, self.bits)]
        arrays: Arrays = {}
        for i, shape in enumerate(shapes):
            arrays[f"encoder.{i}.weight"] = (self.rng.normal(size=shape) * scale).astype(np.float32)
            arrays[f"encoder.{i}.bias"] = self.rng.normal(size=shape[1]).astype(np.float32)
        arrays["encoder.activations"] = np.zeros(len(shapes), np.int8)
        arrays["encoder.row_normalize"] = self._one(np.bool_, True, False)
        return arrays

    def _decoder(self) -> Arrays:
        arrays: Arrays = getattr(self, f"_{self.decoder}")()
        return arrays if self.decoder == "scores" else arrays | self._confidence()

    def _confidence(self) -> Arrays:
        """Return how scores become probabilities, with odd numbers now and then."""
        arrays: Arrays = dict(Confidence().arrays())
        if self.dice.random() < 0.3:
            arrays["confidence"][self.dice.randrange(8)] = self.dice.choice((1e-30, 1e-6, 5, 1e9))
        if self.dice.random() < 0.3:
            arrays["curve"] = np.sort(self.rng.normal(size=(2, 24)).astype(np.float32), axis=1)
        return arrays

    def _linear(self) -> Arrays:
        scale = self.dice.choice((0, 1, 1e3))
        weight = (self.rng.normal(size=(self.classes, self.bits)) * scale).astype(np.float32)
        bias = self.rng.normal(size=self.classes).astype(np.float32)
        return {"weight": weight, "bias": bias}

    def _soft(self) -> Arrays:
        found = self._linear() | {"inputs": self._one(np.int8, 0, 1, 2, 3)}
        return found | self._reals(sharpness=(2e-6, 1, 1e6), prior=(0, 0.5, 1))

    def _scores(self) -> Arrays:
        return {"n_classes": self._one(np.int64, self.classes), "link": self._one(np.int8, 0, 1, 2)}

    def _codebook(self) -> Arrays:
        n_bits = self._one(np.int64, self.bits)
        return {"words": self._words(), "n_bits": n_bits}

    def _nearest(self) -> Arrays:
        n = self.codes
        wide = min(50_000, 2**24 // (self.bits + 1))
        return {
            "words": self._words(),
            "labels": self.rng.integers(0, self.classes, n),
            "n_bits": self._one(np.int64, self.bits),
            "n_classes": self._one(np.int64, self.classes),
            "n_neighbors": self._one(np.int64, 1, 1, 2, 5, max(1, n - 1), n, n + 1, 10 * n, wide),
        }

    def _shortlist(self) -> Arrays:
        k = self.classes
        sizes = (1, 2, 16, 64, 128, 129, k, k + 1, 1023, 1024, 1025, 2**32 - 1)
        labels = np.concatenate([np.arange(k), self.rng.integers(0, k, self.codes - k)])
        found = self._linear() | {"words": self._words(), "labels": labels.astype(np.uint32)}
        found |= {"size": self._one(np.int64, *sizes), "codes_of": self._one(np.int8, 0, 1, 2)}
        found["flips"] = self._one(np.int64, 0, 1, 8, 4096, 4097, -1, 2**40, 2**62)
        return found | self._reals(
            sharpness=(2e-6, 1, 1e6), prior=(0, 0.5, 1), closeness=(0, 0.1, 1e18)
        )

    def _table(self) -> Arrays:
        found = self._linear() | self._reals(sharpness=(1,), prior=(1,))
        found["n_bits"] = self._one(np.int64, self.bits)
        found["probes"] = self._one(np.int64, 1, 2, 16, 64, 256)
        if self.dice.random() < 0.5:
            kind = self.dice.choice((np.uint8, np.uint16, np.uint32))
            top = min(self.classes, np.iinfo(kind).max + 1)
            table = self.rng.integers(0, top, 1 << self.bits).astype(kind)
            return found | {"source": np.zeros(1, np.int8), "table": table}
        labels = self.rng.integers(0, self.classes, self.codes)
        return found | {"source": np.ones(1, np.int8), "words": self._words(), "labels": labels}

    def _words(self) -> NDArray[np.uint64]:
        """Return packed codes: random, all equal, few different ones, or full."""
        style = self.dice.choice(("random", "equal", "few", "full"))
        bits = self.rng.random((self.codes, self.bits)) < 0.5
        if style == "equal":
            bits[:] = bits[:1]
        elif style == "few":
            bits = bits[self.rng.integers(0, min(self.codes, 3), self.codes)]
        elif style == "full":
            bits[:] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        padded = np.zeros((self.codes, -(-self.bits // 64) * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)

    def _second_stage(self) -> Arrays:
        """Return class vectors whose features are in any order, and may be repeated."""
        k, rng = self.classes, self.rng
        counts = rng.integers(0, min(self.width, 20) + 1, k).astype(np.uint32)
        if self.dice.random() < 0.2:
            counts[:], counts[-1] = 0, 1
        n = int(counts.sum())
        features = rng.integers(0, self.width, n)
        if self.dice.random() < 0.3:
            features[:] = self.dice.choice((0, self.width - 1))
        is_narrow = self.width <= 1 << 16 and self.dice.random() < 0.8
        return {
            "counts": counts,
            "features": features.astype(np.uint16 if is_narrow else np.uint32),
            "weights": rng.choice([-128, -127, -1, 0, 1, 127], n).astype(np.int8),
            "scales": rng.random(k).astype(np.float32) * np.float32(self.dice.choice((0, 1, 1e18))),
            "bias": rng.normal(size=k).astype(np.float32),
            "unit_rows": self._one(np.bool_, True, False),
            "n_features": self._one(np.int64, self.width),
            "size": self._one(np.int64, 1, 2, 16, 64, 65, k, 2**40),
            **self._reals(mix=(0, 1, 1e9), reach=(0, 1, 3.4e38)),
            **self._confidence(),
        }

    def _memory(self) -> Arrays:
        """Return remembered rows, of all classes or of one, and held-out ones."""
        k, octets, rng = self.classes, (self.bits + 1) // 2, self.rng
        n, n_held_out = self.dice.choice((0, 1, 5, 50, 2000, 8000)), self.dice.choice((0, 5, 50))
        top = self.dice.choice((1, k))
        return {
            "codes": rng.integers(0, 256, (n, octets), np.uint8),
            "classes": np.sort(rng.integers(0, top, n)).astype(np.uint32),
            "described": np.zeros(n, np.bool_),
            "held_out": rng.integers(0, 256, (n_held_out, octets), np.uint8),
            "held_out_classes": rng.integers(0, k, n_held_out).astype(np.uint32),
            "counts": np.ones(k, np.float32),
            "offsets": np.zeros(k, np.float32),
            "attributes": np.zeros((k, 0), np.float32),
            "balance": np.zeros((0, 2), np.float32),
            "seen": np.zeros(0, np.uint32),
        }

    def _features(self) -> Arrays:
        """Return n-grams of texts, of any lengths."""
        hashes = 1 << self.dice.choice((9, 12, 17, 20))
        hashes = max(hashes, 1 << self.width.bit_length())
        buckets = np.sort(self.rng.permutation(hashes)[: self.width])
        if self.dice.random() < 0.3:
            buckets = np.arange(hashes - self.width, hashes)
        spans = [sorted((self.dice.randint(1, 32), self.dice.randint(1, 32))) for _ in range(2)]
        words, characters = self.dice.choice((spans, (spans[0], [0, 0]), ([0, 0], spans[1])))
        return {
            "buckets": buckets.astype(np.uint32),
            "idf": self.rng.random(self.width).astype(np.float32),
            "words": np.array(words, np.int32),
            "characters": np.array(characters, np.int32),
            "lowercase": self._one(np.bool_, True, False),
            "sublinear": self._one(np.bool_, True, False),
            "n_hashes": np.array([hashes]),
            "min_rows": np.array([1]),
            "max_features": self._one(np.int64, self.width, 2**62),
            "n_rows": np.array([1]),
        }


def trial(header: dict[str, Any], folder: Path) -> Callable[[random.Random], Verdict]:
    """Return what builds a model, loads and asks it; a sound model gives the rest of the header."""

    def attempt(dice: random.Random) -> Verdict:
        target = folder / "built"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        built = Folder(dice)
        case = f"{built.decoder}, {built.bits} bits, {built.classes} classes, {built.codes} codes"
        built.write(target, header)
        with warnings.catch_warnings(), np.errstate(all="ignore"), eager_index():
            warnings.simplefilter("ignore")
            return _loaded_and_asked(dice, target, built, case)

    return attempt


def _loaded_and_asked(dice: random.Random, target: Path, built: Folder, case: str) -> Verdict:
    memory = Memory(target)
    try:
        model = read_fitted(target)
    except ModelFileError as error:
        if refusal(error, (ModelFileError,)) is None:
            raise
        memory.check()
        return Verdict(REFUSED, f"{case}: {str(error)[-120:]}")
    memory.check()
    known = set(model.classes_.tolist())
    for _ in range(2):
        X = _rows(dice, built)
        asked = ["predict", "predict_top_k", "predict_proba", "encode", "explain", "novelty"]
        dice.shuffle(asked)
        for what in asked:
            more = (dice.choice((1, 2, len(known))),) if what == "predict_top_k" else ()
            try:
                answer = getattr(model, what)(X[:2] if what == "explain" else X, *more)
            except DsncError as error:  # of rows that are too large
                if refusal(error, (DsncError,)) is None:
                    raise
                continue
            if what == "predict_proba" and not ((answer >= 0) & (answer <= 1.001)).all():
                raise WrongError(f"a probability is {answer.min()} to {answer.max()}: {case}")
            if what not in ("predict", "predict_top_k"):
                continue
            labels = answer if what == "predict" else answer[0]
            if not set(np.ravel(labels).tolist()) <= known:
                raise WrongError(f"an answer is no class of the model: {case}")
    memory.check()
    return Verdict(WORKS, case)


def _rows(dice: random.Random, built: Folder) -> Any:
    """Return rows of any form: texts, dense in either order, sparse with odd indices."""
    n = dice.choice((1, 1, 2, 7, 8, 9, 40, 300) if built.width < _WIDE[0] else (1, 2, 8))
    if built.is_text:
        return [dice.choice(_TEXTS + _MORE_TEXTS) for _ in range(n)]
    share, scale = dice.choice((0.01, 0.3, 1)), dice.choice((0, 1, 1, 1e30))
    X = built.rng.normal(size=(n, built.width)) * (built.rng.random((n, built.width)) < share)
    X = (X * scale).astype(dice.choice((np.float32, np.float64)))
    how = dice.choice(("dense", "columns", "sparse", "wide indices", "unsorted"))
    if how in ("dense", "columns"):
        return np.asfortranarray(X) if how == "columns" else X
    rows = sp.csr_array(X)
    if how == "wide indices":
        parts = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
        return sp.csr_array(parts, shape=rows.shape)
    if how == "unsorted":
        parts = rows.data[::-1].copy(), rows.indices[::-1].copy(), rows.nnz - rows.indptr[::-1]
        return sp.csr_array(parts, shape=rows.shape)
    return rows
