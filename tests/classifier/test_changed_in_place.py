"""A file that is changed under a program which has loaded it, as by ``cp -r new/* model``."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc

SECOND = {"name": "features", "mix": 0.5, "reach": 50.0, "size": 3}
TEXTS = [f"{a} {b}" for a in ("night", "head", "tram") for b in ("nurse", "cook", "driver")]
KINDS = {
    "nearest": {"decoder": "nearest"},
    "shortlist": {"decoder": "shortlist"},
    "table of codes": {"decoder": "table"},
    "stored table": {"decoder": {"name": "table", "source": "linear"}},
    "second stage": {"decoder": "shortlist", "reranker": SECOND},
    "texts": {"decoder": "shortlist"},
}


def overwrite_places(folder):
    """Change all arrays but those that are amounts; soft codes and weights have signs or rows."""
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    length = 8 + int.from_bytes(raw[:8], "little")
    with path.open("r+b") as file:
        for entry in json.loads(raw[8:length]).values():
            kind, n_axes = entry["dtype"], len(entry["shape"])
            is_amount = kind[0] == "F" or kind == "I8" or (kind == "U8" and n_axes > 1)
            start, end = entry["data_offsets"]
            if not is_amount:
                file.seek(length + start)
                file.write((b"\xff\xff\xff\x0f" * (end - start))[: end - start])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [40, 300])
def test_places_are_those_that_were_checked(tmp_path, kind, n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(3 * n_classes) % n_classes
    X = np.maximum(rng.normal(size=(n_classes, 30))[y] + 0.1 * rng.normal(size=(len(y), 30)), 0)
    X = X.astype(np.float32)
    if kind == "texts":
        X, y = TEXTS * 10, [text.split()[1] for text in TEXTS * 10]
    settings = {"n_bits": 10, "max_epochs": 2, "trainer": "fast", "random_state": 0}
    settings |= {"reranker": None} | KINDS[kind]
    dsnc.DSNCClassifier(**settings).fit(X, y).save(tmp_path / "model")
    untouched, changed = (dsnc.load(tmp_path / "model") for _ in range(2))
    expected = untouched.predict(X)
    overwrite_places(tmp_path / "model")
    for rows in (X, X[:3]) if kind == "texts" else (X, X[:3], sp.csr_matrix(X)):
        assert changed.predict(rows).tolist() == expected[: np.shape(rows)[0]].tolist()
        assert changed.predict_top_k(rows, k=2)[0].shape == (np.shape(rows)[0], 2)
