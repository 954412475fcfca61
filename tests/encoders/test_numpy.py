import pytest

from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "layers is empty"),
        ([Layer([1.0], [1.0])], r"layers\[0\].weight has shape \(1,\)"),
        ([Layer([[1.0]], [1.0, 2.0])], r"layers\[0\].bias has shape \(2,\)"),
        ([Layer([[1.0]], [1.0], "rleu")], "Did you mean 'relu'"),
        ([Layer([[1.0]], [1.0]), Layer([[1.0], [1.0]], [1.0])], r"expected \(1, n_outputs\)"),
    ],
)
def test_layers_that_do_not_fit_are_named(layers, message):
    with pytest.raises(InputError, match=message):
        NumpyEncoder(layers)
