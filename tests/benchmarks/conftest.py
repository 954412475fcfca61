import json

import numpy as np
import pytest

from peers.data import Part, write_part


@pytest.fixture(scope="session")
def three_classes_folder(tmp_path_factory):
    """A prepared data set of three classes, far from each other."""
    target = tmp_path_factory.mktemp("three")
    rng = np.random.default_rng(0)
    for name in ("train", "validation", "test"):
        y = np.repeat(np.arange(3, dtype=np.int32), 20)
        X = (3 * np.eye(3)[y] + rng.normal(0, 0.3, (60, 3))).astype(np.float32)
        write_part(target, name, Part(X, y, [f"word{k}" for k in y]))
    rows = dict.fromkeys(("train", "validation", "test"), 60)
    about = {"name": "three", "classes": 3, "features": 3, "rows": rows, "own texts": False}
    (target / "about.json").write_text(json.dumps(about))
    return target
