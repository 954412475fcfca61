import os
import zipfile
from pathlib import Path

import pytest

from dsnc.data.archives import unpack
from dsnc.errors import DataFileError, DownloadError


def write_zip(path, members):
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("name", ["../evil.txt", "a/../../evil.txt", "/evil.txt", "..\\evil.txt"])
def test_an_archive_cannot_write_outside_its_folder(tmp_path, name):
    write_zip(tmp_path / "in" / "a.zip", {"good.txt": b"1", name: b"2"})
    with pytest.raises(DataFileError, match="outside its folder.*evil"):
        unpack(tmp_path / "in" / "a.zip")
    assert os.listdir(tmp_path / "in") == ["a.zip"]
    assert os.listdir(tmp_path) == ["in"]


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path):
    write_zip(tmp_path / "a.zip", {"zeros.txt": bytes(110 << 20)})
    with pytest.raises(DataFileError, match="would unpack to 115,343,360 bytes"):
        unpack(tmp_path / "a.zip")
    assert os.listdir(tmp_path) == ["a.zip"]


def test_a_drive_letter_is_outside_too(tmp_path):
    write_zip(tmp_path / "a.zip", {"C:/evil.txt": b""})
    with pytest.raises(DataFileError, match="outside its folder"):
        unpack(tmp_path / "a.zip")


def test_a_damaged_archive_leaves_nothing(tmp_path):
    path = tmp_path / "a.zip"
    write_zip(path, {"a.txt": os.urandom(10_000)})
    content = bytearray(path.read_bytes())
    content[5000] ^= 255
    path.write_bytes(content)
    with pytest.raises(DataFileError, match="not a readable zip"):
        unpack(tmp_path / "a.zip")
    assert os.listdir(tmp_path) == ["a.zip"]


def test_a_second_unpacking_changes_nothing(tmp_path):
    write_zip(tmp_path / "a.zip", {"b.txt": b"1"})
    target = unpack(tmp_path / "a.zip")
    assert target == tmp_path / "a"
    (target / "b.txt").write_bytes(b"mine")
    unpack(tmp_path / "a.zip")
    assert (target / "b.txt").read_bytes() == b"mine"
    assert sorted(os.listdir(tmp_path)) == ["a", "a.zip"]


def test_two_at_once_end_with_one_folder(tmp_path, monkeypatch):
    write_zip(tmp_path / "a.zip", {"b.txt": b"1"})
    real = Path.rename

    def rename_too_late(self, target):
        target.mkdir()
        (target / "b.txt").write_bytes(b"the other's")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename_too_late)
    assert (unpack(tmp_path / "a.zip") / "b.txt").read_bytes() == b"the other's"
    assert sorted(os.listdir(tmp_path)) == ["a", "a.zip"]


def test_a_disk_that_refuses_is_reported(tmp_path, monkeypatch):
    write_zip(tmp_path / "a.zip", {"b.txt": b"1"})

    def refuse(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(DownloadError, match="cannot be unpacked.*No space left"):
        unpack(tmp_path / "a.zip")
    assert os.listdir(tmp_path) == ["a.zip"]
