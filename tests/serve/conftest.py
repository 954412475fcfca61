import json
import shutil

import numpy as np
import pytest

import dsnc
from serving import GOLDEN, Service


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Models under the names that they are served by."""
    folder = tmp_path_factory.mktemp("served")
    for name, golden in {"texts": "golden_text", "vectors": "golden/format1_reranker"}.items():
        shutil.copytree(GOLDEN / golden, folder / name)
    return folder


@pytest.fixture(scope="session")
def service(folders, tmp_path_factory):
    """One service for all tests that only ask."""
    service = Service(tmp_path_factory.mktemp("log"), folders / "texts", folders / "vectors")
    yield service
    assert service.stop() == 0


@pytest.fixture(scope="session")
def texts(folders):
    return dsnc.load(folders / "texts")


@pytest.fixture(scope="session")
def vectors(folders):
    model = dsnc.load(folders / "vectors")
    del model.feature_names_in_  # who asks by HTTP sends none
    return model


@pytest.fixture(scope="session")
def X():
    golden = json.loads((GOLDEN / "golden/format1_reranker/expected.json").read_text())
    return np.array(golden["X"])
