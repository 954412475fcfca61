"""Makes the golden model of texts: ``python tests/features/golden_text.py``.

Run it when the format of model files changes.
"""

import json
import shutil
from pathlib import Path

import numpy as np

from dsnc import DSNCClassifier

FOLDER = Path(__file__).parents[1] / "data" / "golden_text"
JOBS = {
    "cook": ["pastry cook", "Head Cook", "cook in a school", "köchin"],
    "driver": ["bus driver", "Truck Driver", "driver of a tram", "водитель"],
    "nurse": ["night nurse", "Nurse in a ward", "nurse, children's", "नर्स"],
}
ASKED = ["a NURSE", "tram driver", "köchin", "नर्स", "Водитель", "cook cook nurse", "", "🙂"]


def main() -> None:
    """Fit a tiny model, save it, and write down what it says about some texts."""
    texts = [text for some in JOBS.values() for text in some] * 3
    labels = [label for label, some in JOBS.items() for _ in some] * 3
    text = {"words": (1, 2), "characters": (4, 4), "n_hashes": 2**12, "max_features": 80}
    model = DSNCClassifier(n_bits=8, max_epochs=20, learning_rate=0.1, device="cpu", text=text)
    model.fit(texts, labels)
    shutil.rmtree(FOLDER, ignore_errors=True)
    model.save(FOLDER)
    rows = model.predictor_.features.transform(ASKED)
    logits = model.predictor_.logits(ASKED)
    assert np.abs(logits).min() > 0.01, "a bit hangs on a rounding"
    expected = {
        "texts": ASKED,
        "columns": [row.indices.tolist() for row in rows],
        "weights": [row.data.astype(float).round(6).tolist() for row in rows],
        "bits": model.encode(ASKED).to_bits().astype(int).tolist(),
        "labels": model.predict(ASKED).tolist(),
    }
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in expected.items()]
    (FOLDER / "README.md").unlink()  # nothing is read from it
    (FOLDER / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
