"""One run: train, ask every decoder for the test rows, and keep what it said."""

import os
import platform
import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import dsnc
from dsnc.classifier.learned import LearnedClassifier
from dsnc.codes import Encoded
from dsnc.metrics import bit_entropy, class_distances, distinct_codes, expected_calibration_error
from dsnc.paper.experiments.cost_curve import decoding_times
from dsnc.paper.experiments.definition import Definition
from dsnc.paper.experiments.methods import METHODS
from dsnc.paper.experiments.prepare import Prepared, prepare
from dsnc.paper.experiments.record import FITTED, OWN, Record, write_record

TIMED_ROWS = 2048
_VERSIONS = ("numpy", "scipy", "scikit-learn", "torch")


def run(definition: Definition, runs: Path) -> Record:
    """Run a definition and write its record; a trial ends with the training.

    Its epochs are kept in a folder until it ends, so that a run that is killed goes on from there.
    """
    target = definition.folder(runs)
    epochs = target.with_name(f".epochs-{target.name}")
    try:
        return _run(definition, runs, epochs)
    finally:
        shutil.rmtree(epochs, ignore_errors=True)


def _run(definition: Definition, runs: Path, epochs: Path) -> Record:
    prepared = prepare(definition.source, definition.weighting)
    method = METHODS[definition.method]
    model = method.estimator(definition)
    if isinstance(model, LearnedClassifier):
        model.checkpoint = epochs
    start = time.perf_counter()
    fit(model, prepared)
    fitted = time.perf_counter()
    history = getattr(model, "history_", None)
    # Those that a killed run had taken are in the history only.
    trained = history.epochs[-1].seconds if history is not None and history.epochs else 0.0
    record = Record(
        definition,
        history=history.to_dict() if history is not None else {},
        rows=prepared.rows,
        seconds={"fit": max(trained, fitted - start)},
        versions={"dsnc": dsnc.__version__, **{name: metadata.version(name) for name in _VERSIONS}},
        machine=_machine(),
    )
    if definition.trial:
        write_record(record, {}, runs)
        return record
    outcomes: dict[str, dict[str, float]] = {}
    arrays: dict[str, Any] = {"y": prepared.parts.test.y}
    choices = method.decoders(definition.n_bits or 0)
    variants = _with_decoders(model, choices) if choices else {OWN: model}
    logits = model.predictor_.logits(prepared.parts.test.X[:TIMED_ROWS])
    decoders = {name: variant.predictor_.decoder for name, variant in variants.items()}
    encoded = Encoded(logits)
    times = decoding_times({name: (decoder, encoded) for name, decoder in decoders.items()}, 3)
    if getattr(model, "reranker", None) is not None:
        variants[FITTED] = model
    for name, variant in variants.items():
        figures, answers = _ask(variant, prepared)
        outcomes[name] = figures | ({"microseconds": times[name]} if name in times else {})
        arrays |= {f"{key}.{name}": array for key, array in answers.items()}
    codes: dict[str, dict[str, float]] = {}
    if method.codes:
        codes, arrays["words"] = _code_statistics(model, prepared)
    seconds = {**record.seconds, "evaluate": time.perf_counter() - fitted}
    record = replace(record, outcomes=outcomes, codes=codes, seconds=seconds)
    kept = decoders if definition.keep_decoders else None
    write_record(record, arrays, runs, decoders=kept, logits=logits)
    return record


def fit(model: Any, prepared: Prepared) -> Any:
    """Fit a model; one that has epochs to choose from is shown the validation rows."""
    train, validation, _ = prepared.parts
    if isinstance(model, LearnedClassifier):
        return model.fit(train.X, train.y, validation=(validation.X, validation.y))
    return model.fit(train.X, train.y)


def _with_decoders(model: Any, choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model with each decoder, and with nothing behind it that looks at features."""
    given = model.reranker
    try:
        model.reranker = None
        return {name: model.with_decoder(choice) for name, choice in choices.items()}
    finally:
        model.reranker = given


def _ask(model: Any, prepared: Prepared) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the figures of a model on the test rows, their best classes, its confidence."""
    test = prepared.parts.test
    top, probabilities = model.predict_top_k(test.X, k=min(5, len(model.classes_)))
    right = test.targets.contains(top)
    confidence = np.minimum(probabilities[:, 0], np.float32(1))
    cost = model.cost().decoding
    figures = {
        "accuracy": float(right[:, 0].mean()),
        "top_5": float(right.any(axis=1).mean()),
        "operations": float(cost.operations),
        "bytes": float(cost.bytes),
        "calibration_error": float(expected_calibration_error(right[:, 0], confidence)),
    }
    return figures, {"top": top.astype(np.int32), "confidence": confidence.astype(np.float16)}


def _code_statistics(model: Any, prepared: Prepared) -> tuple[dict[str, dict[str, float]], Any]:
    """Return the figures of Table 3 for both parts, and the words of the test rows' codes."""
    statistics = {}
    for name in ("train", "test"):
        part = getattr(prepared.parts, name)
        codes = model.encode(part.X)
        distances = class_distances(codes, part.y)
        statistics[name] = {
            **{key: float(value) for key, value in distances._asdict().items()},
            "codes": distinct_codes(codes),
            "rows": len(codes),
            "entropy": float(bit_entropy(codes).mean()),
        }
    return statistics, codes.words


def _machine() -> dict[str, Any]:
    import torch

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "gpu": gpu,
    }
