"""A whole fit without torch: not loaded where it is installed, not missed where it is not."""

import subprocess
import sys

WORKER = """
import sys
import numpy as np

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is blocked")

import dsnc
from dsnc.errors import MissingExtraError

rng = np.random.default_rng(0)
y = np.arange(120) % 12
X = 4 * np.eye(12)[y] + rng.normal(size=(120, 12))
texts = [f"word{k} {'abcdef'[k % 6]}" for k in y]
folder = sys.argv[1]
usual = dict(n_bits=8, max_epochs=10)

def all_of_it(rows, run):
    model = dsnc.DSNCClassifier(**usual, checkpoint=f"{folder}/{run}").fit(rows, y)
    assert model.trainer_ == "fast" and model.score(rows, y) > 0.8
    model.save(folder + "/model", overwrite=True)
    again = dsnc.load(folder + "/model")
    assert (again.predict(rows) == model.predict(rows)).all() and again.trainer_ == "fast"
    assert again.partial_fit(rows, y).partial_fit(rows, y).score(rows, y) > 0.8
    dsnc.DSNCClassifier(**usual).partial_fit(rows, y, classes=range(12))

all_of_it(texts, "texts")
assert "torch" not in sys.modules  # it is installed, and nobody has asked for it
sys.meta_path.insert(0, Blocked())
all_of_it(X, "dense")
for settings in ({"trainer": "torch"}, {"encoder": "mlp"}, {"learning_rate": 0.1}):
    try:
        dsnc.DSNCClassifier(**usual, **settings).fit(X, y)
    except MissingExtraError as error:
        assert "pip install 'dsnc[torch]'" in str(error), error
    else:
        raise AssertionError(settings)
"""


def test_fit_predict_save_and_go_on(tmp_path):
    run = subprocess.run([sys.executable, "-c", WORKER, tmp_path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
