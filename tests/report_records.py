"""Records made from random numbers: what a report is made of, without any training."""

import json
from pathlib import Path

import numpy as np

from dsnc.codes import PackedCodes
from dsnc.metrics import class_distances
from dsnc.paper.experiments import METHODS, Definition, Record, Source
from dsnc.paper.experiments.definition import file_name
from dsnc.paper.experiments.record import OWN, write_record

N_CLASSES, N_TEST = 6, 60


def definition(method="dsnc", n_bits=8, seed=0, data="toy", recipe="default", **rest):
    if METHODS[method].width is None:
        n_bits = None
    source = Source(path=data, beside=rest.pop("beside", None))
    return Definition(
        source=source,
        data=data,
        fingerprint=rest.pop("fingerprint", "f"),
        method=method,
        recipe=recipe,
        n_bits=n_bits,
        seed=seed,
        settings=rest.pop("settings", {"max_epochs": 3}),
        **rest,
    )


def write_one(runs, method="dsnc", n_bits=8, seed=0, *, error="", decoders=None, **rest):
    """Write a record of random answers; return its definition."""
    own = definition(method, n_bits, seed, **rest)
    if error:
        write_record(Record(own, error=error), {}, runs)
        return own
    rng = np.random.default_rng([seed, n_bits, len(method)])
    y = (np.arange(N_TEST) % N_CLASSES).astype(np.int32)
    outcomes, arrays, codes = {}, {"y": y}, {}
    if METHODS[method].codes:
        names = decoders or ("linear", "nearest", "soft", "shortlist", "table")
    else:
        names = (OWN,)
    for place, name in enumerate(names):
        top = np.stack([rng.permutation(N_CLASSES)[:5] for _ in y]).astype(np.int32)
        right = rng.random(N_TEST) < min(0.95, 0.3 + 0.002 * n_bits + 0.03 * place)
        top[right, 0] = y[right]
        arrays[f"top.{name}"] = top
        if method != "ecoc":
            arrays[f"confidence.{name}"] = rng.random(N_TEST).astype(np.float16)
        outcomes[name] = {
            "accuracy": float((top[:, 0] == y).mean()),
            "top_5": 0.9,
            "microseconds": 1.0 + place,
            "operations": float(n_bits * (1 + place)),
            "bytes": 100.0,
        }
    if METHODS[method].codes:
        packed = PackedCodes.from_bits(rng.random((N_TEST, n_bits)) < 0.5)
        arrays["words"] = packed.words
        figures = {k: float(v) for k, v in class_distances(packed, y)._asdict().items()}
        part = {**figures, "codes": 50, "rows": N_TEST, "entropy": 0.9}
        codes = {"train": part, "test": part}
    epochs = [
        {"epoch": e, "loss": 3.0 / e, "validation_accuracy": 0.2 * e if e != 2 else None}
        for e in (1, 2, 3)
    ]
    record = Record(
        own,
        outcomes,
        codes,
        {"epochs": epochs} if METHODS[method].width else {},
        {"train": 600, "validation": 60, "test": N_TEST},
        {"fit": 1.5, "evaluate": 0.5},
        {"dsnc": "1", "numpy": "2"},
        {"system": "Linux", "cores": 2, "gpu": None},
    )
    write_record(record, arrays, runs)
    return own


def write_runs(
    runs: Path,
    methods=("dsnc", "dsnc_reg", "mlp", "ecoc", "one_vs_rest"),
    sizes=(8, 24),
    seeds=(0, 1),
    *,
    times=True,
    pictures=True,
    classes=None,
    data="toy",
    **rest,
):
    """Write the records of a small experiment, and what lies beside them."""
    found = [
        write_one(runs, method, n_bits, seed, data=data, **rest)
        for method in methods
        for n_bits in (sizes if METHODS[method].width else sizes[:1])
        for seed in seeds
    ]
    folder = runs / file_name(data)
    classes = classes or [f"class {k}" for k in range(N_CLASSES)]
    about = {
        "name": data,
        "description": "random numbers",
        "rows": [600, 60, N_TEST],
        "features": 16,
        "classes": classes,
        "image_shape": [4, 5] if pictures else None,
    }
    (folder / "data.json").write_text(json.dumps(about), encoding="utf-8")
    if pictures:
        noise = np.random.default_rng(0).integers(0, 256, (N_CLASSES, 4, 5), dtype=np.uint8)
        np.save(folder / "pictures.npy", noise)
    if times:
        measured = {}
        for place, own in enumerate(found):
            names = ("linear", "nearest", "shortlist", "table") if "dsnc" in own.method else (OWN,)
            measured |= {f"{own.digest}/{n}": 0.5 + place + i for i, n in enumerate(names)}
        (folder / "decoding_times.json").write_text(json.dumps(measured), encoding="utf-8")
    return found
