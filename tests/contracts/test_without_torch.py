"""torch is an extra: who predicts or trains fast does without, who needs it reads how to get it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent.parent / "data"

WORKER = """
import importlib, json, sys
from pathlib import Path

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("torch is blocked")

sys.meta_path.insert(0, Blocked())
golden, work = Path(sys.argv[1]), Path(sys.argv[2])

import numpy as np
from typer.testing import CliRunner
import dsnc
from dsnc.cli import app

said = {}

def door(name, call):
    try:
        call()
    except ImportError as error:
        said[name] = [type(error).__name__, str(error)]
    except BaseException as error:
        said[name] = ["instead", repr(error)]
    else:
        said[name] = None

def command(*words, name=None, **kwargs):
    run = CliRunner().invoke(app, list(map(str, words)), **kwargs)
    said[name or words[0]] = [run.exit_code, run.stdout, run.stderr]

folder = golden / "golden" / "format1"
model, texts = dsnc.load(folder), dsnc.load(golden / "golden_text")
X = np.array(json.loads((folder / "expected.json").read_text())["X"])
y = model.predict(X)
assert model.score(X, y) == 1 and model.predict_proba(X).shape == (len(X), 3)
assert len(model.predict_top_k(X, k=2)[0]) == len(model.encode(X)) == len(X)
for decoder in ("soft", "shortlist", "table", "nearest", "auto"):
    model.with_decoder(decoder, X, y).predict(X)
model.save(work / "again")
assert (dsnc.load(work / "again").predict(X) == y).all()
assert texts.predict(["senior nurse"]).shape == (1,)
dsnc.baselines.NearestCentroidBaseline().fit(X, y).predict(X)

titles = work / "titles.tsv"
lines = [f"{label}\\t{label}" for label in texts.classes_] * 2
titles.write_text("\\n".join(["label\\ttext", *lines]))
np.save(work / "X.npy", X)
command("predict", folder, work / "X.npy")
command("predict", f"{folder}_reranker", work / "X.npy", name="predict twice")
command("evaluate", golden / "golden_text", titles)
command("encode", folder, work / "X.npy", "-o", work / "codes.npy")
command("explain", golden / "golden_text", "senior nurse")
command("inspect", folder, "--bit", "0", "--class", "ant")
command("data", "list")
command("version")
command("--help")

fitted = dsnc.DSNCClassifier(max_epochs=2, reranker="features").fit(X, y)
assert fitted.trainer_ == "fast" and fitted.predictor_.reranker is not None
door("fit", lambda: dsnc.DSNCClassifier(trainer="torch").fit(X, y))
door("fit mlp", lambda: dsnc.DSNCClassifier(encoder="mlp").fit(X, y))
door("partial_fit", lambda: model.partial_fit(X, y))
door("baseline", lambda: dsnc.baselines.MLPBaseline().fit(X, y))
relaxed = dsnc.gradients.Relaxed()
door("gradients", lambda: relaxed(X, lambda code: code, lambda shape: X))
door("fit relaxed", lambda: dsnc.DSNCClassifier(gradient=relaxed).fit(X, y))
door("encoders", lambda: importlib.import_module("dsnc.encoders").SparseRows)
from dsnc.paper.experiments import PRESETS, reproduce
door("experiments", lambda: reproduce(["accuracy"], "glyphs", PRESETS["quick"], work / "runs"))
from dsnc.tuning import tune
door("tuning", lambda: tune(dsnc.DSNCClassifier(), X, y))
command("train", titles, "-o", work / "model")
command("train", titles, "-o", work / "mlp", "--encoder", "mlp", name="train mlp")
command("tune", titles)
command("reproduce", "accuracy", "--data", titles)
command("demo", "-o", work / "demo")
assert not any(name.partition(".")[0] == "torch" for name in sys.modules)
print(json.dumps(said))
"""

PREDICTS = [
    "train",
    "predict",
    "predict twice",
    "evaluate",
    "encode",
    "explain",
    "inspect",
    "data",
    "version",
    "--help",
]
LEARNS = ["train mlp", "tune", "reproduce", "demo"]
DOORS = {
    "fit": "DSNCClassifier.fit",
    "fit mlp": "DSNCClassifier.fit",
    "partial_fit": "DSNCClassifier.partial_fit",  # the model has a learning_rate of Adam
    "baseline": "MLPBaseline.fit",
    "gradients": "dsnc.gradients.Relaxed",
    "fit relaxed": "DSNCClassifier.fit",
    "encoders": "dsnc.encoders.torch",
    "experiments": "dsnc.paper.experiments.reproduce",
    "tuning": "dsnc.tuning.tune",
}
LINE = "{} needs 'torch', which is not installed. Install it with: pip install 'dsnc[torch]'"


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    work = tmp_path_factory.mktemp("work")
    command = [sys.executable, "-c", WORKER, str(GOLDEN), str(work)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("command", PREDICTS)
def test_commands_that_predict_do_without(said, command):
    code, out, err = said[command]
    assert code == 0, err
    assert "rror" not in err
    assert out or err


@pytest.mark.parametrize("command", LEARNS)
def test_commands_that_learn_say_how_to_get_it(said, command):
    code, out, err = said[command]
    assert (code, out) == (1, "")
    assert err == f"error: {LINE.format(f'dsnc {command.split()[0]}')}\n"


@pytest.mark.parametrize("name", DOORS)
def test_doors_say_how_to_get_it(said, name):
    assert said[name] == ["MissingExtraError", LINE.format(DOORS[name])]
