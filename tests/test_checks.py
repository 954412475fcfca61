import numpy as np
import pytest

from dsnc.checks import is_whole, one_of, real, whole
from dsnc.errors import InputError


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(1)])
def test_whole_numbers_of_any_type(value):
    assert whole("n", value) == 1
    assert type(whole("n", value)) is int


@pytest.mark.parametrize("value", [0, 6, 1.0, True, np.True_, None, "1", [1], np.ones(1, int)])
def test_what_is_not_a_whole_number_is_named(value):
    assert not is_whole(value, 1, 5)
    with pytest.raises(InputError, match=r"n=.* must be a whole number from 1 to 5\.$"):
        whole("n", value, most=5)


def test_bounds_are_told():
    with pytest.raises(InputError, match=r"n=1 must be a whole number, 2 or more\.$"):
        whole("n", 1, 2)
    with pytest.raises(InputError, match=r"x=-1 must be a number 0 or more\.$"):
        real("x", -1)
    with pytest.raises(InputError, match=r"x=2 must be a number from 0 to 1\.$"):
        real("x", 2, most=1)


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.int64(2)])
def test_real_numbers_of_any_type(value):
    assert real("x", value, above=True) == 2
    assert type(real("x", value)) is float


@pytest.mark.parametrize("value", [0, float("nan"), float("inf"), True, None, "2", np.ones(1)])
def test_what_is_not_a_number_is_named(value):
    with pytest.raises(InputError, match=r"x=.* must be a number above 0\.$"):
        real("x", value, above=True)


@pytest.mark.parametrize("value", ["linaer", None, ["linear"], 1])
def test_names(value):
    assert one_of("decoder", "linear", ["linear", "soft"]) == "linear"
    with pytest.raises(InputError, match="decoder=.*Valid: linear, soft"):
        one_of("decoder", value, ["linear", "soft"])
