"""A file comes whole, under its name, with a bar."""

import hashlib
import io
import logging
import os
import subprocess
import sys

import pytest

from downloads import CONTENT, SHA256, names
from dsnc.data.download import fetch_file
from dsnc.errors import ChecksumError, DownloadError, DsncError, InputError


def test_a_file_comes_whole_and_alone(server, tmp_path):
    path = fetch_file(server.add("/a.bin", CONTENT), tmp_path / "new" / "folder", sha256=SHA256)
    assert path == tmp_path / "new" / "folder" / "a.bin"
    assert path.read_bytes() == CONTENT
    assert names(path.parent) == ["a.bin"]
    assert [r.range for r in server.requests] == [None]
    assert server.requests[0].encoding == "identity"


def test_size_and_upper_case_checksum_are_understood(server, tmp_path):
    url = server.add("/a.bin", CONTENT)
    fetch_file(url, tmp_path, sha256=SHA256.upper(), size=len(CONTENT))
    fetch_file(url, tmp_path, sha256=SHA256.upper(), size=len(CONTENT))
    assert len(server.requests) == 1


def test_what_is_there_is_not_fetched_again(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"put by hand")
    assert fetch_file(server.add("/a.bin", CONTENT), tmp_path).read_bytes() == b"put by hand"
    assert server.requests == []


def test_a_file_by_hand_may_lie_in_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "a.bin").write_bytes(CONTENT)
    fetch_file("http://127.0.0.1:1/a.bin", tmp_path, sha256=SHA256)
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.parametrize("known", [{"sha256": SHA256}, {"size": len(CONTENT)}])
def test_a_wrong_file_by_hand_is_named_and_kept(server, tmp_path, known):
    (tmp_path / "a.bin").write_bytes(b"mine")
    with pytest.raises(ChecksumError, match="Delete it and run the same command") as caught:
        fetch_file(server.add("/a.bin", CONTENT), tmp_path, **known)
    assert str(tmp_path / "a.bin") in str(caught.value)
    if "sha256" in known:
        assert SHA256 in str(caught.value)
        assert hashlib.sha256(b"mine").hexdigest() in str(caught.value)
    assert (tmp_path / "a.bin").read_bytes() == b"mine"
    assert server.requests == []


def test_the_name_comes_from_the_url_or_the_caller(server, tmp_path):
    url = server.add("/x/some%20file.txt?version=1", b"text")
    assert fetch_file(url, tmp_path).name == "some file.txt"
    assert fetch_file(url, tmp_path, name="other.txt").read_bytes() == b"text"


@pytest.mark.parametrize("name", ["", "..", "../a", "a/b", "a\\b", "/etc/x"])
def test_a_name_cannot_leave_the_folder(server, tmp_path, name):
    with pytest.raises(InputError, match="plain file name"):
        fetch_file(server.url("/a.bin"), tmp_path, name=name)
    with pytest.raises(InputError, match="plain file name"):
        fetch_file(server.url("/x/..%2f..%2f"), tmp_path)


def test_an_empty_file_and_one_of_unknown_length(server, tmp_path):
    assert fetch_file(server.add("/empty", b""), tmp_path).read_bytes() == b""
    url = server.add("/chunked", CONTENT, length=False)
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT


def test_bytes_are_kept_as_they_come(server, tmp_path):
    # A server that labels a .gz file as "encoded" must not make us unpack it.
    url = server.add("/a.gz", CONTENT, headers={"Content-Encoding": "gzip"})
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT


def test_the_checksum_is_logged_when_none_is_known(server, tmp_path, caplog, capfd):
    with caplog.at_level(logging.INFO, logger="dsnc"):
        fetch_file(server.add("/a.bin", CONTENT), tmp_path)
    assert f"sha256 {SHA256}" in caplog.text
    assert capfd.readouterr() == ("", "")  # no bar off a terminal, no chatter of the libraries


def test_the_folder_may_be_relative(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fetch_file(server.add("/a.bin", CONTENT), "here") == tmp_path / "here" / "a.bin"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("progress", [True, False])
def test_the_bar_is_drawn_on_a_terminal_only_if_wanted(server, tmp_path, monkeypatch, progress):
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen)
    fetch_file(server.add("/a.bin", CONTENT), tmp_path, progress=progress)
    assert ("a.bin" in screen.getvalue()) is progress
    if progress:
        assert "1.0/1.0 MB" in screen.getvalue()


def test_importing_it_is_light():
    code = "import sys, dsnc.data.download as d; print([m for m in ('requests', 'rich')"
    code += " if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_errors_are_the_projects():
    assert issubclass(ChecksumError, DownloadError) and issubclass(DownloadError, DsncError)
