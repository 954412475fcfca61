"""Starting is cheap: what a user has not asked for is not loaded."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import dsnc

HEAVY = {"torch", "sklearn", "pydantic", "matplotlib", "PIL", "requests", "pooch", "pandas"}
NOT_TO_PREDICT = HEAVY | {"polars", "pyarrow", "rich", "joblib", "optuna", "jinja2"}

PUBLIC = {
    "PAPER",
    "PAPER_REGULARIZED",
    "DSNCClassifier",
    "DSNCMultiLabelClassifier",
    "__version__",
    "baselines",
    "codes",
    "data",
    "decoders",
    "errors",
    "features",
    "gradients",
    "load",
    "metrics",
}


def loaded_by(code):
    """Return the names of all modules that a fresh Python has after running `code`."""
    command = f"{code}\nimport sys\nsys.stdout.write('\\n'.join(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", command], check=True, capture_output=True, text=True
    )
    return set(run.stdout.split())


def test_import_dsnc_loads_next_to_nothing():
    new = loaded_by("import dsnc") - loaded_by("pass")
    assert not {name.partition(".")[0] for name in new} & (HEAVY | {"numpy", "scipy"})
    assert len(new) < 60


# Baselines are scikit-learn's by nature.
LIGHT = [room for room in dsnc._ROOMS if room != "baselines"]


@pytest.mark.parametrize("room", LIGHT)
def test_rooms_load_nothing_heavy(room):
    assert not loaded_by(f"import dsnc.{room}") & HEAVY


def test_the_classifier_loads_torch_only_to_learn():
    code = "import dsnc; dsnc.DSNCClassifier(n_bits=8); dsnc.load; dsnc.PAPER"
    with_sklearn = loaded_by("import sklearn.base") & HEAVY  # pandas, where there is one
    assert loaded_by(code) & HEAVY == with_sklearn
    assert loaded_by("import dsnc; dsnc.baselines.MLPBaseline()") & HEAVY == with_sklearn


def test_the_command_line_helps_without_numpy():
    loaded = loaded_by(
        "import dsnc.cli\n"
        "try: dsnc.cli.app(['data', '--help'])\n"
        "except SystemExit as stop: assert stop.code == 0"
    )
    assert not loaded & (HEAVY | {"numpy"})


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_names_are_there(name):
    assert getattr(dsnc, name) is getattr(dsnc, name)


def test_rooms_are_attributes():
    code = "import dsnc; dsnc.codes.PackedCodes; dsnc.data.load_dataset; dsnc.errors.DsncError"
    assert "dsnc.codes.packed" in loaded_by(code)
    assert set(dir(dsnc)) == PUBLIC
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = dsnc.nonsense


def test_features_load_scikit_learn_and_nothing_else():
    with_sklearn = loaded_by("import sklearn.base") & HEAVY
    assert loaded_by("import dsnc; dsnc.features.TextFeatures()") & HEAVY == with_sklearn


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Small models of two stages, of texts, dense and sparse rows, each with a row to predict."""
    folder, y = tmp_path_factory.mktemp("models"), np.arange(12) % 3
    rows, names = np.eye(3)[y], [f"class {i}" for i in y]
    inputs = {"text": [f"word{i} thing" for i in y], "dense": rows, "sparse": sp.csr_matrix(rows)}
    for name, X in inputs.items():
        settings = {"n_bits": 8, "max_epochs": 1, "device": "cpu", "reranker": "features"}
        model = dsnc.DSNCClassifier(**settings).fit(X, names).with_decoder("shortlist")
        assert model.predictor_.reranker is not None
        model.save(folder / name)
    (folder / "text.txt").write_text("word1 thing\n")
    (folder / "text.tsv").write_text("class 1\tword1 thing\n")
    np.save(folder / "dense.npy", rows[:1].astype(np.float32))
    (folder / "sparse.svm").write_text("1:1\n")
    return folder


@pytest.mark.parametrize(
    ("command", "model", "rows"),
    [
        ("predict", "text", "text.txt"),
        ("predict", "dense", "dense.npy"),
        ("predict", "sparse", "sparse.svm"),
        ("encode", "text", "text.txt"),
        ("explain", "text", "text.txt"),
        ("explain", "dense", "dense.npy"),
        ("evaluate", "text", "text.tsv"),
    ],
)
def test_the_command_line_predicts_without_scikit_learn(folder, command, model, rows):
    loaded = loaded_by(
        "import os, sys\n"
        "sys.stdout = open(os.devnull, 'w')\n"
        "import dsnc.cli\n"
        f"try: dsnc.cli.app([{command!r}, {str(folder / model)!r}, {str(folder / rows)!r}])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "sys.stdout = sys.__stdout__"
    )
    assert not loaded & NOT_TO_PREDICT
    assert "scipy" not in loaded or model != "dense" or command == "explain"


@pytest.mark.parametrize(("model", "rows"), [("text", "['word1 thing']"), ("dense", "eye(3)")])
def test_numpy_is_all_that_texts_and_arrays_need(folder, model, rows):
    loaded = loaded_by(
        "from numpy import eye\n"
        "from dsnc.model.reading import read_fitted\n"
        f"model = read_fitted({str(folder / model)!r})\n"
        f"model.predict({rows}), model.predict_top_k({rows}, 2)"
    )
    assert not loaded & (NOT_TO_PREDICT | {"scipy"})
