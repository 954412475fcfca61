import hashlib
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Compiled kernels are kept under the digest of all their sources: numba looks at one file only,
# and would miss a change in what a kernel calls.
_ROOT = Path(__file__).parents[1]
_FORMS = ("_kernels.py", "_kernels/*.py", "features/grams.py")  # the last has their constants
_SOURCES = sorted(path for form in _FORMS for path in (_ROOT / "src/dsnc/").rglob(form))
_DIGEST = hashlib.sha256(b"".join(path.read_bytes() for path in _SOURCES)).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(_ROOT / ".numba_cache" / _DIGEST))

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
