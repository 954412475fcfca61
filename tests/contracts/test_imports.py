"""Starting is cheap: what a user has not asked for is not loaded."""

import subprocess
import sys

import pytest

import dsnc

HEAVY = {"torch", "sklearn", "numba", "matplotlib", "PIL", "requests", "pooch", "pandas"}

PUBLIC = {
    "PAPER",
    "PAPER_REGULARIZED",
    "DSNCClassifier",
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


# Gradients are torch's by nature, baselines and features scikit-learn's.
LIGHT = [room for room in dsnc._ROOMS if room not in ("gradients", "baselines", "features")]


@pytest.mark.parametrize("room", LIGHT)
def test_rooms_load_nothing_heavy(room):
    assert not loaded_by(f"import dsnc.{room}") & HEAVY


def test_the_classifier_loads_torch_only_to_learn():
    code = "import dsnc; dsnc.DSNCClassifier(n_bits=8); dsnc.load; dsnc.PAPER"
    assert loaded_by(code) & HEAVY == {"sklearn"}
    assert loaded_by("import dsnc; dsnc.baselines.MLPBaseline()") & HEAVY == {"sklearn"}


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


def test_features_load_scikit_learn_and_no_compiler():
    assert loaded_by("import dsnc; dsnc.features.TextFeatures()") & HEAVY == {"sklearn"}
