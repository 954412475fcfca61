"""Models that several files ask for; no test changes them."""

import numpy as np
import pytest

import many_classes
import three_classes


@pytest.fixture(scope="session")
def fitted():
    """The smallest one: three classes."""
    return three_classes.quick().fit(three_classes.X, three_classes.Y)


@pytest.fixture
def saved(fitted, tmp_path):
    """Its file, for each test anew."""
    fitted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="session")
def model():
    """One of 720 classes, enough for a choice of decoders."""
    return many_classes.quick(decoder="shortlist").fit(many_classes.X, many_classes.Y)


@pytest.fixture(scope="session")
def others(model):
    """Makes each decoder of it once."""
    made = {}

    def with_decoder(choice):
        if str(choice) not in made:
            made[str(choice)] = model.with_decoder(choice)
        return made[str(choice)]

    return with_decoder


@pytest.fixture
def small():
    """Ten of its classes, for what needs a training of its own."""
    is_one = np.isin(many_classes.Y, np.unique(many_classes.Y)[:10])
    return many_classes.X[is_one], many_classes.Y[is_one]
