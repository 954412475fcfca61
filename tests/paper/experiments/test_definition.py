from dataclasses import replace
from pathlib import Path

import pytest

from dsnc.paper.experiments import Definition, Source
from dsnc.paper.experiments.definition import file_name


def test_the_digest_is_for_ever_the_same(define):
    assert define(settings={"max_epochs": 3, "a": [1, 2]}).digest == "aa20ce1fc8"


@pytest.mark.parametrize(
    "change",
    [
        {"data": "other"},
        {"fingerprint": "1"},
        {"method": "mlp"},
        {"recipe": "paper"},
        {"n_bits": 9},
        {"settings": {"max_epochs": 1}},
        {"selected": {"learning_rate": 1}},
        {"weighting": "none"},
        {"trial": True},
        {"seed": 1},
    ],
)
def test_whatever_changes_the_outcome_changes_the_digest(define, change):
    assert replace(define(), **change).digest != define().digest


@pytest.mark.parametrize("change", [{"source": Source(path="moved")}, {"keep_decoders": True}])
def test_what_does_not_change_the_outcome_does_not(define, change):
    assert replace(define(), **change).digest == define().digest


def test_the_order_of_settings_does_not_matter(define):
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert define(settings=one).digest == define(settings=other).digest


def test_plain_values_and_back(define):
    definition = define(beside="ALOI", settings={"max_epochs": 3})
    assert Definition.from_dict(definition.to_dict()) == definition


def test_the_folder_tells_what_is_in_it(define):
    folder = define(n_bits=24, seed=2).folder(Path("runs"))
    assert folder.parent == Path("runs/tiny") and folder.name.startswith("dsnc-24-default-s2-")


@pytest.mark.parametrize(
    ("name", "expected"), [("a b/c", "a_b_c"), ("..", "data"), ("日本", "日本"), ("", "data")]
)
def test_a_name_becomes_one_of_a_file(name, expected):
    assert file_name(name) == expected
