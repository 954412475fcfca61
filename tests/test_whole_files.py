import errno
import fcntl
import os
import shutil
import stat

import pytest

from dsnc.errors import DsncWarning, InputError, OutputError, OutputExistsError
from dsnc.files import copy_plain, locked, sync, sync_folder, whole_file, whole_folder, write_whole


@pytest.fixture(autouse=True, params=[0o022, 0o077])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


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
def test_a_folder_is_there_whole_or_not_at_all(tmp_path, monkeypatch, can_swap, durable, umask):
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
    assert mode(target) == 0o777 & ~umask
    assert mode(target / "a") == 0o666 & ~umask


@pytest.mark.parametrize("can_swap", [True, False])
def test_what_may_not_go_is_put_back(tmp_path, monkeypatch, can_swap):
    if not can_swap:
        monkeypatch.setattr("dsnc.files._exchange", lambda a, b: False)
    target = tmp_path / "model"

    def write(text, *, over):
        with whole_folder(target, replace=lambda old: (old / "a").read_text() == over) as aside:
            (aside / "a").write_text(text)

    with whole_folder(target) as aside:
        (aside / "a").write_text("first")
    write("second", over="first")
    with pytest.raises(OutputExistsError, match="was replaced by another process just now"):
        write("third", over="first")
    assert (target / "a").read_text() == "second"
    assert os.listdir(tmp_path) == ["model"]


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


def test_what_is_new_is_for_those_who_could_use_the_old(tmp_path, umask):
    path, folder = tmp_path / "file", tmp_path / "folder"
    write_whole(path, b"old")
    assert mode(path) == 0o666 & ~umask
    for permissions in (0o600, 0o640, 0o664):
        path.chmod(permissions)
        with whole_file(path) as file:
            (aside,) = set(tmp_path.iterdir()) - {path, folder}
            assert mode(aside) == permissions
            file.write(b"new")
        assert mode(path) == permissions
    with whole_folder(folder) as aside:
        (aside / "a").write_text("old")
    folder.chmod(0o500)
    (folder / "a").chmod(0o400)
    with whole_folder(folder, replace=True) as aside:
        assert mode(aside) == 0o700
        (aside / "a").write_text("new")
        (aside / "b").write_text("new")
    assert [mode(folder), mode(folder / "a"), mode(folder / "b")] == [0o500, 0o400, 0o666 & ~umask]
    folder.chmod(0o700)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize(
    ("which", "there", "message"), [(1, "old", "folder"), (2, "new", "is written, but the disk")]
)
def test_a_disk_that_does_not_confirm_names_is_told(
    tmp_path, monkeypatch, error, which, there, message
):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a").write_text("old")
    fsync, calls = os.fsync, []

    def fail(handle):
        calls.append(handle)
        if len(calls) == which:
            raise OSError(error, os.strerror(error), "folder")
        fsync(handle)

    monkeypatch.setattr(os, "fsync", fail)
    with (
        pytest.raises(OSError, match=message),
        whole_folder(tmp_path / "folder", replace=True, durable=True) as aside,
    ):
        (aside / "a").write_text("new")
    assert (tmp_path / "folder/a").read_text() == there
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOTSUP])
def test_file_systems_that_cannot_confirm_names_are_no_error(tmp_path, monkeypatch, error):
    def fail(handle):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "fsync", fail)
    sync_folder(tmp_path)


def test_an_old_folder_that_stays_is_told(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a").write_text("old")

    def fail(folder, **options):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fail)
        with (
            pytest.warns(DsncWarning, match=r"folder-\w+ is of no use any more .* delete it"),
            whole_folder(tmp_path / "folder", replace=True) as aside,
        ):
            (aside / "a").write_text("new")
    assert (tmp_path / "folder/a").read_text() == "new"


def test_a_plain_file_is_copied_as_long_as_it_was(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 3_000_000)
    copy_plain(source, target)
    assert target.read_bytes() == source.read_bytes()
    with pytest.raises(OSError, match="null is no plain file"):
        copy_plain(tmp_path / os.devnull, target)
