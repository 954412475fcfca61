import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from dsnc import _native

_ROOT = Path(__file__).parents[1]

# Workers that run side by side have a core each: more threads would only wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them send.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines differ in speed: a slow one must not fail a property. The examples are always the same
# ones, so that a run says the same thing twice; `make test-all` draws many more, at random.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("default")


@pytest.fixture(scope="session")
def repository():
    return _ROOT


@pytest.fixture(params=_native.levels().split(), scope="module")
def level(request):
    """Each level of the native kernels that this machine has."""
    before = _native.level()
    _native.use_level(request.param)
    yield request.param
    _native.use_level(before)
