"""Makes the golden models of the baselines: ``python tests/baselines/golden_baselines.py``.

Run it when the format of model files changes.
"""

import json
import shutil
from pathlib import Path

import numpy as np

from dsnc.baselines import (
    ECOCBaseline,
    MLPBaseline,
    NearestCentroidBaseline,
    NearestNeighborsBaseline,
    OneVsRestBaseline,
)

FOLDER = Path(__file__).parents[1] / "data" / "golden_baselines"
MODELS = {
    "mlp": MLPBaseline(n_units=6, max_epochs=20, learning_rate=0.1, device="cpu"),
    "ecoc": ECOCBaseline(n_bits=8, device="cpu"),
    "ecoc_soft": ECOCBaseline(n_bits=8, decoding="soft", device="cpu"),
    "one_vs_rest": OneVsRestBaseline(loss="logistic", device="cpu"),
    "nearest_centroid": NearestCentroidBaseline(),
    "nearest_neighbors": NearestNeighborsBaseline(),
}


def main() -> None:
    """Write all of them anew."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 4 * np.eye(3, 4)[y]
    labels = np.array(["ant", "bée", "字 cat"])[y]
    for name, model in MODELS.items():
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        model.fit(X, labels).save(FOLDER / name)
        (FOLDER / name / "README.md").unlink()  # nothing is read from it
        rows = X[:12].round(3)
        expected = {
            "X": rows.tolist(),
            "labels": model.predict(rows).tolist(),
            "probabilities": model.predict_proba(rows).tolist(),
        }
        text = json.dumps(expected, ensure_ascii=False)
        (FOLDER / name / "expected.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
