"""Makes the golden models anew: ``python tests/golden_model.py``.

They are read by all tests that need a fitted model, and show that a model gives the same answers on
every machine. Run it when the format of model files changes. FOLDER is the model of few classes,
FOLDER_shortlist has a decoder that says what its codes are of, and class vectors beside it, and
FOLDER_reranker has a second stage, FOLDER_sets has sets of labels, and FOLDER_changed has lost a
class and got another.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from dsnc import DSNCClassifier, DSNCMultiLabelClassifier
from dsnc.decoders import LinearDecoder

FOLDER = Path(__file__).parent / "data/golden/format1"
CLASSES = np.array(["ant", "bée", "字 cat"])


def main(folder: Path) -> None:
    """Fit tiny models, save them, and write down what they say of some rows."""
    rng = np.random.default_rng(0)
    centers = np.array([[4, 0, 0, 1], [0, 4, 0, 1], [0, 0, 4, 1]])
    y = np.arange(60) % 3
    X = centers[y] + rng.normal(scale=0.5, size=(60, 4))
    settings: dict[str, Any] = {"n_bits": 8, "max_epochs": 20, "learning_rate": 0.1}
    model = DSNCClassifier(**settings, device="cpu")
    model.fit(X, CLASSES[y])
    rows = np.round(X, 2)
    write(model, rows, folder)
    shortlist = model.with_decoder({"name": "shortlist", "known": "training"})
    predictor = shortlist.predictor_
    trained = LinearDecoder(predictor.decoder.linear.weight / 2, predictor.decoder.linear.bias)
    shortlist.predictor_ = predictor.with_decoder(predictor.decoder, trained)
    write(shortlist, rows, folder.with_name(f"{folder.name}_shortlist"))
    second = {"name": "features", "mix": 0.5, "reach": 50.0, "size": 3}
    settings |= {"max_epochs": 5, "decoder": "soft", "reranker": second}
    model = DSNCClassifier(**settings, device="cpu").fit(X, CLASSES[y])
    write(model, rows, folder.with_name(f"{folder.name}_reranker"))
    settings |= {"decoder": "soft", "reranker": None, "max_epochs": 20}
    sets = np.stack([y == 0, y == 1, y > 0], axis=1).astype(int)
    of_sets = DSNCMultiLabelClassifier(**settings, per_label_threshold=True)
    of_sets.fit(X, sets, classes=CLASSES)
    write(of_sets, rows, folder.with_name(f"{folder.name}_sets"))
    changed = DSNCClassifier(**settings, memory=16).fit(X, CLASSES[y])
    changed.remove_classes("bée").add_classes(X[y == 1], np.repeat("dog", 20))
    write(changed, rows, folder.with_name(f"{folder.name}_changed"))


def write(model: DSNCClassifier, rows: Any, folder: Path) -> None:
    """Write a model and what it says."""
    shutil.rmtree(folder, ignore_errors=True)
    is_sure = np.abs(model.predictor_.logits(rows)).min(axis=1) > 0.05  # no bit hangs on a rounding
    rows = rows[is_sure][:12]
    expected = {
        "X": rows.tolist(),
        "bits": model.encode(rows).to_bits().astype(int).tolist(),
        "labels": model.predict(rows).tolist(),
        "probabilities": model.predict_proba(rows).astype(float).round(6).tolist(),
    }
    model.feature_names_in_ = np.array(["length", "width", "Höhe", "w/h"], dtype=object)
    model.save(folder)
    (folder / "README.md").unlink()  # nothing is read from it
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in expected.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (folder / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(FOLDER)
