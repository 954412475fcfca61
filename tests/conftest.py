from pathlib import Path

import pytest
from hypothesis import settings

# Machines differ in speed: a slow one must not fail a property. The examples are always the same
# ones, so that a run says the same thing twice; `make test-all` draws many more, at random.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def repository():
    return Path(__file__).parents[1]
