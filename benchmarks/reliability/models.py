"""Model folders that are damaged or forged, with right checksums: refused in words, or they work.

A mutant that loads is also asked: whatever arrays it has, an answer is a class of the model and
probabilities are numbers from 0 to 1, and nothing reads beyond an array.
"""

import hashlib
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from safetensors.numpy import load, save

import dsnc
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.errors import DsncError, ModelFileError
from dsnc.fast.class_centers import find_class_centers
from dsnc.fast.rows import Feed, Scaling
from dsnc.model import read_fitted
from dsnc.model.summary import model_facts
from dsnc.persistence.layout import DTYPES
from dsnc.rerank import FeatureReranker
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from reliability.mutants import mutate_array, mutate_bytes, mutate_json
from reliability.trials import REFUSED, WORKS, Memory, Verdict, WrongError, refusal

_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_WIDEST = 1 << 16  # features of a row that a mutant is asked about
_FEWEST_LOOKED_UP = 4096  # codes; with fewer there is no multi-index


class Base(NamedTuple):
    """A sound model."""

    name: str
    header: bytes
    arrays: bytes
    parsed: dict[str, Any]
    rows: Any  # that it can be asked about


def bases(folder: Path) -> list[Base]:
    """Train models of all kinds, the same whenever this is called, and read their files."""
    found = []
    for name, (model, rows) in _trained().items():
        model.save(folder / name)
        header, arrays = (
            (folder / name / file).read_bytes() for file in ("model.json", "model.safetensors")
        )
        found.append(Base(name, header, arrays, json.loads(header), rows))
    return found


def _trained() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 6
    X = (4 * np.eye(6, 8)[y] + rng.normal(scale=0.5, size=(120, 8))).astype(np.float32)
    labels = np.array(["ant", "bée", "字 cat", "dog", "eel", "fox"])[y]
    settings: dict[str, Any] = {"n_bits": 12, "max_epochs": 3, "trainer": "fast", "random_state": 0}
    second = {"name": "features", "mix": 0.5, "reach": 50.0, "size": 3}
    found: dict[str, tuple[Any, Any]] = {}
    decoders: dict[str, Any] = {name: name for name in ("linear", "soft", "nearest", "table")}
    for known in ("weights", "training"):
        decoders[f"shortlist of {known}"] = {"name": "shortlist", "known": known}
    for name, decoder in decoders.items():
        model = dsnc.DSNCClassifier(**settings, decoder=decoder, reranker=None, memory=16)
        found[name] = model.fit(X, labels), X
    sparse = sp.csr_matrix(np.where(X > 1, X, 0))
    model = dsnc.DSNCClassifier(**settings, decoder="soft", reranker=second)
    found["second stage"] = model.fit(sparse, y), sparse
    model = dsnc.DSNCClassifier(**{**settings, "n_bits": 70}, decoder="nearest", reranker=None)
    found["two words"] = model.fit(X, y * 2.0), X
    found |= _of_many_codes({**settings, "n_bits": 24, "reranker": None})
    found |= _of_sets(X, y, settings, second)
    found |= _of_texts(settings, second)
    found["centers"] = _of_centers(X, y, settings), X
    changed = dsnc.DSNCClassifier(**settings, decoder="shortlist", memory=16).fit(X, labels)
    changed.remove_classes("dog").add_classes(X[y == 1], np.repeat("gnu", 20))
    found["changed"] = changed, X
    return found | _baselines(X, labels)


def _of_centers(X: Any, y: Any, settings: Any) -> Any:
    """Return a model whose second stage has several centers of each class."""
    model = dsnc.DSNCClassifier(**settings, decoder="soft", reranker=None).fit(X, y)
    feed = Feed(Examples(X, Targets(y, 6)), Scaling())
    nobody = np.full((len(X), 1), -1, np.int32)
    known, vectors = model.predictor_, find_class_centers(feed, nobody, most=3)
    second = FeatureReranker(vectors, mix=0.5, reach=50.0, size=3)
    model.predictor_ = known.with_decoder(known.decoder, known.trained, second)
    return model


def _of_many_codes(settings: Any) -> dict[str, tuple[Any, Any]]:
    """Return models with enough codes for a multi-index, and some with many classes."""
    rng = np.random.default_rng(1)
    X, few = rng.normal(size=(5000, 8)).astype(np.float32), np.arange(5000) % 7
    training = {"name": "shortlist", "known": "training"}
    names = np.array([f"class {k}" for k in range(2500)])[np.arange(5000) % 2500]
    asked = {"5,000 codes": ("nearest", few), "5,000 codes, shortlist": (training, few)}
    asked["2,500 classes"] = (training, names)
    return {
        name: (dsnc.DSNCClassifier(**settings, decoder=decoder).fit(X, y), X)
        for name, (decoder, y) in asked.items()
    }


@contextmanager
def eager_index() -> Iterator[None]:
    """Let a multi-index be made at once, and not after some 10 ms of search."""
    lay_out = HammingIndex._lay_out

    def eager(index: HammingIndex, codes: PackedCodes, method: str) -> None:
        lay_out(index, codes, method)
        if method == "auto" and len(codes) >= _FEWEST_LOOKED_UP:
            index.prepare()

    with patch.object(HammingIndex, "_lay_out", eager):
        yield


def _of_sets(X: Any, y: Any, settings: Any, second: Any) -> dict[str, tuple[Any, Any]]:
    sets = np.stack([y == k for k in range(5)] + [y > 2], axis=1).astype(int)
    soft = dsnc.DSNCMultiLabelClassifier(
        **settings, decoder="soft", reranker=None, per_label_threshold=True
    )
    short = dsnc.DSNCMultiLabelClassifier(**settings, decoder="shortlist", reranker=second)
    return {
        "label sets": (soft.fit(X, sets), X),
        "label sets, shortlist": (short.fit(X, sp.csr_matrix(sets)), X),
    }


def _of_texts(settings: Any, second: Any) -> dict[str, tuple[Any, Any]]:
    jobs = {
        "cook": ["pastry cook", "Head Cook", "cook in a school", "köchin"],
        "driver": ["bus driver", "Truck Driver", "driver of a tram", "водитель"],
        "nurse": ["night nurse", "Nurse in a ward", "nurse, children's", "नर्स"],
    }
    texts = [text for some in jobs.values() for text in some] * 3
    labels = [label for label, some in jobs.items() for _ in some] * 3
    text = {"words": (1, 2), "characters": (4, 4), "n_hashes": 2**12, "max_features": 80}
    asked = ["a NURSE", "tram driver", "нет", "", "🙂 cook cook"]
    plain = dsnc.DSNCClassifier(**settings, text=text, decoder="shortlist", reranker=None)
    both = dsnc.DSNCClassifier(**settings, text=text, decoder="soft", reranker=second)
    told = dsnc.DSNCClassifier(**settings, text=text, decoder="shortlist", memory=16)
    told.fit(texts, labels)
    told.add_described_classes(["baker", "pilot"], ["cook of a pastry", "driver in the night"])
    return {
        "texts": (plain.fit(texts, labels), asked),
        "texts, second stage": (both.fit(texts, labels), asked),
        "described classes": (told, asked),
    }


def _baselines(X: Any, labels: Any) -> dict[str, tuple[Any, Any]]:
    from dsnc.baselines import ECOCBaseline, MLPBaseline, NearestCentroidBaseline, OneVsRestBaseline

    models = {
        "mlp": MLPBaseline(n_units=6, max_epochs=2, device="cpu"),
        "ecoc": ECOCBaseline(n_bits=8, device="cpu"),
        "ecoc, soft": ECOCBaseline(n_bits=8, decoding="soft", device="cpu"),
        "one against all": OneVsRestBaseline(loss="logistic", device="cpu"),
        "nearest centroid": NearestCentroidBaseline(),
    }
    return {name: (model.fit(X, labels), X) for name, model in models.items()}


def mutant_of(dice: random.Random, base: Base, others: list[Base]) -> tuple[str, bytes, bytes]:
    """Return how a model was changed, and its two files; the checksum is right."""
    how = dice.choice(
        ("header bytes", "arrays bytes", "header", "header", "arrays", "arrays", "all")
    )
    header, arrays = base.header, base.arrays
    if how == "header bytes":
        return how, mutate_bytes(dice, header, [other.header for other in others]), arrays
    parsed = dict(base.parsed)
    if how in ("header", "all"):
        foreign = [other.parsed for other in others]
        parsed = mutate_json(dice, parsed, foreign)
        parsed = parsed if isinstance(parsed, dict) else {}
    if how == "arrays bytes":
        arrays = mutate_bytes(dice, arrays, [other.arrays for other in others])
    elif how in ("arrays", "all"):
        arrays = _other_arrays(dice, base, others)
        parsed["arrays"] = described_arrays(arrays)
    parsed["sha256"] = hashlib.sha256(arrays).hexdigest()
    return how, json.dumps(parsed).encode(), arrays


def _other_arrays(dice: random.Random, base: Base, others: list[Base]) -> bytes:
    """Change one to three arrays of a model in value, type, shape or name."""
    arrays = load(base.arrays)
    for _ in range(dice.choice((1, 1, 2, 3))):
        name = dice.choice(sorted(arrays))
        how = dice.choice(("change",) * 8 + ("drop", "rename", "foreign", "swap"))
        if how == "change":
            arrays[name] = mutate_array(dice, arrays[name])
        elif how == "drop" and len(arrays) > 1:
            del arrays[name]
        elif how == "rename":
            arrays[dice.choice((f"{name}2", f"x.{name}", "", name.partition(".")[2]))] = arrays[
                name
            ]
        elif how == "foreign":
            strange = load(dice.choice(others).arrays)
            wanted = (
                name if name in strange and dice.random() < 0.7 else dice.choice(sorted(strange))
            )
            arrays[wanted] = strange[wanted]
        else:
            other = dice.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], arrays[name]
    return save(arrays)


def described_arrays(arrays: bytes) -> dict[str, Any]:
    """Return what a header says of the arrays in a file."""
    return {
        name: {"dtype": _NAMES[array.dtype], "shape": list(array.shape)}
        for name, array in sorted(load(arrays).items())
    }


def trial(all_bases: list[Base], folder: Path) -> Callable[[random.Random], Verdict]:
    """Return what makes, loads and asks a mutant."""

    def attempt(dice: random.Random) -> Verdict:
        base = dice.choice(all_bases)
        how, header, arrays = mutant_of(dice, base, all_bases)
        target = folder / "mutant"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        (target / "model.json").write_bytes(header)
        (target / "model.safetensors").write_bytes(arrays)
        case = f"{base.name}, {how}"
        with warnings.catch_warnings(), eager_index():
            warnings.simplefilter("ignore")  # numbers near the largest may overflow
            return _loaded_and_asked(dice, target, base, case)

    return attempt


def _loaded_and_asked(dice: random.Random, target: Path, base: Base, case: str) -> Verdict:
    memory = Memory(target)
    as_command = dice.random() < 0.2  # what `dsnc predict` reads
    try:
        model = read_fitted(target) if as_command else dsnc.load(target)
    except DsncError as error:
        if refusal(error, (ModelFileError,)) is None or str(target) not in str(error):
            raise
        memory.check()
        return Verdict(REFUSED, case)
    if model is None:
        return Verdict(WORKS, case)
    with np.errstate(all="ignore"):
        try:
            ask(dice, model, base.rows, target)
        except DsncError as error:
            if refusal(error, (DsncError,)) is None:
                raise
            return Verdict(REFUSED, f"{case}, asked: {str(error)[:120]}")
    memory.check()
    return Verdict(WORKS, case)


def ask(dice: random.Random, model: Any, rows: Any, folder: Path) -> None:
    """Ask a model all that it answers, and look at the answers."""
    X = _rows_for(dice, model, rows)
    known = set(model.classes_.tolist())
    if hasattr(model, "predict_sets"):
        answers = [label for row in model.predict_sets(X) for label in row]
    else:
        answers = model.predict(X).tolist()
    labels, likely = model.predict_top_k(X, min(3, len(known)))
    if not {*answers, *labels.reshape(-1).tolist()} <= known:
        raise WrongError("an answer is no class of the model")
    n = len(X) if isinstance(X, list) else X.shape[0]
    for share in [likely, model.predict_proba(X)] if len(known) < 1000 else [likely]:
        if len(share) != n or not ((share >= 0) & (share <= 1.001)).all():
            raise WrongError(f"a probability is {share.min()} to {share.max()}")
    if hasattr(model, "encode"):
        model.encode(X)
    if getattr(model, "_novelty", None) is not None and np.isnan(model.novelty(X)).any():
        raise WrongError("novelty is not a number")
    if dice.random() < 0.3:
        _look_into(model, X, folder)


def _look_into(model: Any, X: Any, folder: Path) -> None:
    """Do what is done to models besides predicting."""
    if hasattr(model, "fit"):
        model_facts(model, folder)
        model.save(folder.with_name("again"), overwrite=True)
    if hasattr(model, "explain"):
        model.explain(X[:2])
    changes = hasattr(model, "remove_classes") and not hasattr(model, "predict_sets")
    if changes and len(model.classes_) > 2:
        model.remove_classes(model.classes_[:1].tolist()).predict(X)


def _rows_for(dice: random.Random, model: Any, rows: Any) -> Any:
    """Return some rows of the right width: a few, or many."""
    n = dice.choice((1, 3, 40))
    if isinstance(rows, list):
        if model.predictor_.features is not None:
            return (rows * n)[:n]
        rows = np.ones((8, 1), np.float32)
    width = model.n_features_in_
    if width > _WIDEST:
        raise WrongError(f"{width} features out of a small file")
    rows = rows[:n]
    if rows.shape[1] == width:
        return rows
    dense = rows.toarray() if sp.issparse(rows) else rows
    return np.ascontiguousarray(np.resize(dense, (len(dense), width)))
