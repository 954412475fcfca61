from pathlib import Path

import pytest

from dsnc.errors import CheckpointError
from dsnc.fast.checkpoint import ArrayCheckpoint


def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path, monkeypatch):
    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    with pytest.raises(CheckpointError, match=r"cannot be looked into .* Choose another folder"):
        ArrayCheckpoint(tmp_path, "a run").load()
