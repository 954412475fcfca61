from pathlib import Path

import pytest

from dsnc.errors import CheckpointError
from dsnc.fast.checkpoint import ArrayCheckpoint


def test_a_folder_that_may_not_be_looked_into_is_named(tmp_path, monkeypatch):
    def closed(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    with pytest.raises(CheckpointError, match=r"cannot be read .* Choose another folder"):
        ArrayCheckpoint(tmp_path, "a run").load()


def test_two_processes_with_one_folder_do_not_stop_each_other(tmp_path):
    """Each clears what looks left behind, be it what the other is writing."""

    class Beside(ArrayCheckpoint):
        n_written = 0

        def _write(self, state, file):
            super()._write(state, file)
            self.n_written += 1
            if self.n_written == 1:
                ArrayCheckpoint(tmp_path, "a run").save({"epoch": 1, "arrays": {}})

    mine = Beside(tmp_path, "a run")
    mine.save({"epoch": 2, "arrays": {}})
    assert mine.n_written == 2
    assert mine.load() == {"epoch": 2, "arrays": {}}
    assert [path.name for path in tmp_path.iterdir()] == [mine.path.name]
