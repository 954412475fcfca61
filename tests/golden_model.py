"""Makes the golden model of the present format: ``python tests/golden_model.py FOLDER``.

Run it once per format, with the version that wrote it, and keep the folder for ever: whatever is
released later must read it and give the same answers.
"""

import json
import sys
from pathlib import Path

import numpy as np

from dsnc import DSNCClassifier

CLASSES = np.array(["ant", "bée", "字 cat"])


def main(folder: Path) -> None:
    """Fit a tiny model, save it, and write down what it says about some rows."""
    rng = np.random.default_rng(0)
    centers = np.array([[4, 0, 0, 1], [0, 4, 0, 1], [0, 0, 4, 1]])
    y = np.arange(60) % 3
    X = centers[y] + rng.normal(scale=0.5, size=(60, 4))
    model = DSNCClassifier(n_bits=8, max_epochs=20, learning_rate=0.1, device="cpu")
    model.fit(X, CLASSES[y])
    rows = np.round(X[:12], 2)
    assert np.abs(model.predictor_.logits(rows)).min() > 0.05, "a bit hangs on a rounding"
    expected = {
        "X": rows.tolist(),
        "bits": model.encode(rows).to_bits().astype(int).tolist(),
        "labels": model.predict(rows).tolist(),
        "probabilities": model.predict_proba(rows).astype(float).round(6).tolist(),
    }
    model.feature_names_in_ = np.array(["length", "width", "Höhe", "w/h"], dtype=object)
    model.save(folder)
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in expected.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (folder / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
