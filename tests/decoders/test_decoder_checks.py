import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dsnc
from dsnc.decoders.checks import valid_real
from dsnc.errors import InputError

BOUNDS = st.sampled_from([0.0, 1e-6, 0.1, 0.3, 1.0, 1e6, 1e18, 123.456])


@given(least=BOUNDS, most=BOUNDS, data=st.data())
def test_what_passes_passes_again_as_a_file_holds_it(least, most, data):
    least, most = min(least, most), max(least, most)
    value = data.draw(st.floats(least, most) | st.sampled_from([least, most]))
    found = valid_real("x", value, least, most)
    assert found == np.float32(value)
    assert valid_real("x", found, least, most) == found
    for beyond in (2 * most + 1, least / 2 - 1e-9):
        with pytest.raises(InputError, match="x="):
            valid_real("x", beyond, least, most)


@pytest.mark.parametrize("sharpness", [1e-6, 1e6])
def test_a_bound_is_fitted_saved_and_loaded(tmp_path, sharpness):
    X, y = np.eye(4, 8).repeat(20, axis=0), np.arange(80) // 20
    decoder = {"name": "soft", "sharpness": sharpness}
    model = dsnc.DSNCClassifier(n_bits=8, max_epochs=2, decoder=decoder, reranker=None).fit(X, y)
    model.save(tmp_path / "model")
    loaded = dsnc.load(tmp_path / "model")
    assert loaded.predictor_.decoder.sharpness == np.float32(sharpness)
