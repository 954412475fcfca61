import json

import numpy as np
import pytest

from dsnc.data import make_dense_codes
from dsnc.paper.experiments import Definition, Record, Source
from dsnc.paper.experiments.record import read_record, write_record
from dsnc.paper.experiments.runner import Worker
from dsnc.paper.experiments.trial import run


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A folder of 300 dense rows of 12 classes."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    folder.mkdir()
    data = make_dense_codes(n_rows=300, n_classes=12, n_features=8)
    np.savez(folder / "X.npz", X=data.X)
    np.save(folder / "y.npy", data.y)
    (folder / "classes.json").write_text(json.dumps([f"class {k}" for k in range(12)]))
    return str(folder)


@pytest.fixture(scope="module")
def in_process():
    """Runs in this process instead of in workers, which take seconds to start."""

    def run_here(self, definition):
        run(definition, self._runs)
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "run", run_here)
        yield


@pytest.fixture
def define():
    def make(method="dsnc", **fields):
        given = {"n_bits": 8, **fields}
        source = given.pop("source", Source(path="nowhere", beside=given.pop("beside", None)))
        name = given.pop("data", "tiny")
        return Definition(source=source, data=name, fingerprint="0", method=method, **given)

    return make


@pytest.fixture
def keep(tmp_path):
    """Write a record with the given figures; return it as it is read."""

    def make(definition, outcomes=None, codes=None, arrays=None, **fields):
        record = Record(definition, outcomes or {}, codes or {}, **fields)
        write_record(record, arrays or {}, tmp_path)
        return read_record(definition.folder(tmp_path))

    return make


@pytest.fixture
def figures():
    def make(accuracy, operations=100.0):
        return {
            "accuracy": accuracy,
            "top_5": accuracy,
            "microseconds": 1.0,
            "operations": operations,
            "bytes": 10.0,
        }

    return make
