"""Saved models give the same answers on every machine."""

import json

import numpy as np
import pytest
from golden_baselines import FOLDER, MODELS

import dsnc
from dsnc.baselines import BASELINES


def test_every_kind_has_a_golden_model():
    assert {path.name for path in FOLDER.iterdir()} == set(MODELS)
    assert {model.kind for model in MODELS.values()} == set(BASELINES)


@pytest.mark.parametrize("name", MODELS)
def test_golden_models_give_the_same_answers(name):
    folder = FOLDER / name
    assert json.loads((folder / "model.json").read_text(encoding="utf-8"))["format"] == 1
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    rows = np.array(expected["X"])
    model = dsnc.load(folder)
    assert type(model) is type(MODELS[name])
    assert model.predict(rows).tolist() == expected["labels"]
    np.testing.assert_allclose(model.predict_proba(rows), expected["probabilities"], atol=1e-5)
