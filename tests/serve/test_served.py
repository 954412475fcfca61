import json
import os
import resource
import shutil
import signal

import pytest

from dsnc.errors import DsncError
from dsnc.serve import answers
from dsnc.serve.options import Options
from dsnc.serve.served import Served
from serving import copied


@pytest.fixture
def folder(tmp_path):
    copied("golden_text", tmp_path / "jobs")
    return tmp_path / "jobs"


@pytest.fixture
def little_room(monkeypatch):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
@pytest.mark.parametrize("what", ["/dev/zero", "a pipe", "a folder"])
def test_only_plain_files_are_copied(folder, name, what, little_room):
    (folder / name).unlink()
    if what == "a pipe":
        os.mkfifo(folder / name)
    elif what == "a folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(what)
    with pytest.raises(DsncError, match="jobs: cannot be read.*(no plain file|Is a directory)"):
        Served.read("jobs", folder)


def test_a_link_to_a_plain_file_is_followed(folder, tmp_path):
    shutil.move(folder / "model.safetensors", tmp_path / "arrays")
    (folder / "model.safetensors").symlink_to(tmp_path / "arrays")
    assert Served.read("jobs", folder).model.predict(["bus driver"]) == ["driver"]


def test_an_answer_is_written_block_by_block(folder, monkeypatch):
    served, sizes, to_json = Served.read("jobs", folder), [], answers.to_json

    def measured(value):
        if isinstance(value, list):
            sizes.append(len(value))
        return to_json(value)

    monkeypatch.setattr(answers, "to_json", measured)  # whoever is in it, all others wait
    rows, options = ["a bus driver", "cook"] * 1000, Options(probabilities=True)
    found = json.loads(answers.as_json(served, answers.answer(served, rows, options, list)))
    assert found["labels"] == ["driver", "cook"] * 1000 and len(found["probabilities"]) == 2000
    assert sizes and max(sizes) <= 1024
    assert json.loads(answers.as_json(served, []))["labels"] == []
