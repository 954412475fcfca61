import fcntl
import os

import pytest

from dsnc.errors import InputError, OutputError, OutputExistsError
from dsnc.files import locked, sync, whole_file, whole_folder, write_whole


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "a.bin"
    assert write_whole(path, b"old") == path
    with pytest.raises(RuntimeError), whole_file(path) as file:
        file.write(b"half of the n")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    write_whole(path, lambda file: file.write(b"new"))
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["a.bin"]


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"cannot be written .*; choose another file"):
        write_whole(tmp_path, b"a folder is in the way")
    assert os.listdir(tmp_path) == []


def test_a_link_stays_and_a_pipe_is_written_to(tmp_path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"
    write_whole(tmp_path.joinpath(os.devnull), b"gone")
    assert not os.path.isfile(os.devnull)


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("durable", [True, False])
def test_a_folder_is_there_whole_or_not_at_all(tmp_path, monkeypatch, can_swap, durable):
    if not can_swap:
        monkeypatch.setattr("dsnc.files._exchange", lambda a, b: False)
    target = tmp_path / "new" / "folder"
    for content in ("old", "new"):
        with whole_folder(target, replace=True, durable=durable) as aside:
            (aside / "a").write_text(content)
            assert not target.exists() or (target / "a").read_text() == "old"
    with pytest.raises(RuntimeError), whole_folder(target, replace=True) as aside:
        raise RuntimeError
    with pytest.raises(OutputExistsError, match=r"folder exists"), whole_folder(target) as aside:
        (aside / "a").write_text("not asked to replace")
    assert (target / "a").read_text() == "new"
    assert os.listdir(target.parent) == ["folder"]
    assert target.stat().st_mode & 0o777 == 0o755


def test_who_replaces_need_not_be_first(tmp_path, monkeypatch):
    target = tmp_path / "model"
    target.mkdir()
    (target / "a").write_text("theirs")
    with monkeypatch.context() as moment, whole_folder(target, replace=True) as aside:
        (aside / "a").write_text("ours")
        moment.setattr(type(target), "exists", lambda path: False)  # as it was a moment ago
    assert (target / "a").read_text() == "ours"
    assert os.listdir(tmp_path) == ["model"]


def test_what_is_synced_is_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with whole_file(tmp_path / "a", durable=True) as file:
        file.write(b"1")
    assert len(synced) == 1
    with (tmp_path / "b").open("wb") as file:
        sync(file)
    with whole_folder(tmp_path / "c", durable=True):
        pass
    assert len(synced) == 4  # the folder and the one that it is in


def test_a_lock_is_held_by_one_and_leaves_nothing(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    with locked(tmp_path / "new" / "m", "writing"):
        held = f"Process {os.getpid()} is writing .*m. Wait until it has ended"
        for path in ("new/m", "link/new/m"):
            with pytest.raises(InputError, match=held), locked(tmp_path / path, "reading"):
                raise AssertionError("two hold it")
        with locked(tmp_path / "new" / "n", "writing"):  # another file is another lock
            pass
    with pytest.raises(RuntimeError), locked(tmp_path / "new" / "m", "writing"):
        raise RuntimeError
    with locked(tmp_path / "new" / "m", "writing"):
        pass
    assert os.listdir(tmp_path / "new") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/m cannot be written \(File exists\); choose"):
        with locked(tmp_path / "file" / "m", "writing"):
            pass


def test_who_comes_while_another_ends_does_not_write_over_it(tmp_path, monkeypatch):
    take = fcntl.flock

    def take_late(file, how):
        (tmp_path / ".m.lock").unlink()  # the other one has ended since the file was opened
        take(file, how)

    monkeypatch.setattr(fcntl, "flock", take_late)
    with pytest.raises(OutputError, match="Another process has just written .*m; look at it"):
        with locked(tmp_path / "m", "writing"):
            raise AssertionError("the lock is of a file that is gone")
