import json

import numpy as np

import dsnc


def test_the_golden_model_of_texts_gives_the_same_answers(repository):
    folder = repository / "tests/data/golden_text"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    model = dsnc.load(folder)
    texts = expected["texts"]
    for row, columns, weights in zip(
        model.predictor_.features.transform(texts),
        expected["columns"],
        expected["weights"],
        strict=True,
    ):
        assert row.indices.tolist() == columns
        np.testing.assert_allclose(row.data, weights, atol=1e-5)
    assert model.encode(texts).to_bits().astype(int).tolist() == expected["bits"]
    assert model.predict(texts).tolist() == expected["labels"]
