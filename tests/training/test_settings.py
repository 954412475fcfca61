import math

import numpy as np
import pytest

from dsnc.errors import InputError
from dsnc.training.settings import CODE_VALUES, PRECISIONS, SCALINGS, SCHEDULES, Settings

COUNTS = ["n_bits", "max_epochs", "batch_size", "validation_every", "patience"]
NUMBERS = ["beta", "gamma", "weight_decay", "learning_rate", "label_smoothing", "time_limit"]
NAMES = {
    "scaling": SCALINGS,
    "schedule": SCHEDULES,
    "code_values": CODE_VALUES,
    "precision": PRECISIONS,
}
BAD = [
    *((name, value) for name in COUNTS for value in (0, -1, 1.5, True, "3", math.nan)),
    *((name, value) for name in NUMBERS for value in (-0.1, math.nan, math.inf, "0.1", [1])),
    *((name, None) for name in COUNTS[:-1] + NUMBERS[:-1]),
    *((name, value) for name in NAMES for value in ("nothing", None, 3, [])),
    ("learning_rate", 0),
    ("time_limit", 0.0),
    ("label_smoothing", 1.5),
    *(("hidden", value) for value in ((), (0,), (4, -1), (1.5,), (True,), 5, None, ("4",), "44")),
    *(("callbacks", value) for value in (print, None, (print, 3))),
]


def test_the_defaults_are_fine():
    Settings().check()


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_value_is_named(name, value):
    with pytest.raises(InputError) as caught:
        Settings(**{name: value}).check()
    assert f"{name}={value!r}" in str(caught.value)
    assert len(str(caught.value)) > len(f"{name}={value!r}") + 10  # and something about the fix


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, value) for name in COUNTS for value in (1, 7, np.int64(3))),
        *((name, value) for name in NUMBERS for value in (1, 0.5, np.float32(0.25))),
        *((name, 0.0) for name in NUMBERS[:3]),
        *((name, value) for name, values in NAMES.items() for value in values),
        ("patience", None),
        ("time_limit", None),
        ("hidden", [3]),
        ("hidden", np.array([8, 4])),
        ("callbacks", [print]),
    ],
)
def test_a_good_value_passes(name, value):
    Settings(**{name: value}).check()


def test_near_names_are_suggested():
    with pytest.raises(InputError, match="schedule='one-cycle' is not known. Did you mean 'one_cy"):
        Settings(schedule="one-cycle").check()
    with pytest.raises(InputError, match="Valid: auto, common, none, standard, unit_rows"):
        Settings(scaling="x").check()


def test_settings_have_names_and_do_not_change():
    with pytest.raises(TypeError):
        Settings(64)
    with pytest.raises(AttributeError):
        Settings().n_bits = 3
