"""A file comes whole, under its name, or an error says what to do."""

import hashlib
import io
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from dsnc.data.download import _check_answer, fetch_file
from dsnc.errors import ChecksumError, DownloadError, DsncError

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several pieces
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_a_file_comes_whole_and_alone(server, tmp_path, capfd):
    url = server.add("/a.bin", CONTENT)
    path = fetch_file(url, tmp_path / "new" / "folder", name="b.bin", sha256=SHA256)
    assert path == tmp_path / "new" / "folder" / "b.bin"
    assert path.read_bytes() == CONTENT
    assert os.listdir(path.parent) == ["b.bin"]
    assert capfd.readouterr() == ("", "")  # no bar off a terminal, no chatter of the libraries


def test_what_is_there_is_not_fetched_again(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"put by hand")
    path = fetch_file(server.add("/a.bin", CONTENT), tmp_path, name="a.bin")
    assert path.read_bytes() == b"put by hand"
    assert server.requests == []


def test_a_wrong_file_by_hand_is_named_and_kept(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"mine")
    with pytest.raises(ChecksumError, match="Delete it and run the same command") as caught:
        fetch_file(server.add("/a.bin", CONTENT), tmp_path, name="a.bin", sha256=SHA256)
    for said in (str(tmp_path / "a.bin"), SHA256, hashlib.sha256(b"mine").hexdigest()):
        assert said in str(caught.value)
    assert (tmp_path / "a.bin").read_bytes() == b"mine"


def test_a_file_of_unknown_length(server, tmp_path):
    url = server.add("/chunked", CONTENT, length=False)
    assert fetch_file(url, tmp_path, name="x", sha256=SHA256).read_bytes() == CONTENT


def test_wrong_content_is_refused_and_forgotten(server, tmp_path, no_waiting):
    url = server.add("/a.bin", CONTENT)
    with pytest.raises(ChecksumError, match="not the expected file") as caught:
        fetch_file(url, tmp_path, name="a.bin", sha256="0" * 64)
    assert str(tmp_path / "a.bin") in str(caught.value)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("status", [403, 404, 500])
def test_a_refusal_says_status_address_and_what_to_do(server, tmp_path, no_waiting, status):
    url = server.add("/a.bin", CONTENT, status=status)
    with pytest.raises(DownloadError, match=f"answered {status}") as caught:
        fetch_file(url, tmp_path, name="a.bin")
    message = str(caught.value)
    assert url in message and str(tmp_path / "a.bin") in message and "browser" in message
    assert os.listdir(tmp_path) == []


def test_a_tired_server_is_asked_again(server, tmp_path, no_waiting):
    url = server.add("/a.bin", CONTENT, status=503, status_times=2)
    assert fetch_file(url, tmp_path, name="a.bin").read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_a_broken_connection_is_tried_again(server, tmp_path, no_waiting):
    url = server.add("/a.bin", CONTENT, break_after=300_000, break_times=1)
    path = fetch_file(url, tmp_path, name="a.bin", sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert os.listdir(tmp_path) == ["a.bin"]


def test_no_network_says_where_to_put_the_file(tmp_path, monkeypatch, no_waiting):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, not listening: refuses
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.bin"
        with pytest.raises(DownloadError, match="cannot be fetched .*refused") as caught:
            fetch_file(url, tmp_path, name="a.bin")
    assert url in str(caught.value) and str(tmp_path / "a.bin") in str(caught.value)
    assert "0x" not in str(caught.value)  # no addresses of objects


def test_a_folder_that_cannot_be_made_says_so(server, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DownloadError, match="cannot be written.*DSNC_HOME"):
        fetch_file(server.add("/a.bin", CONTENT), tmp_path / "file" / "folder", name="a.bin")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("progress", [True, False])
def test_the_bar_is_drawn_on_a_terminal_only_if_wanted(server, tmp_path, monkeypatch, progress):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    fetch_file(server.add("/a.bin", CONTENT), tmp_path, name="a.bin", progress=progress)
    assert ("1.05M/1.05M" in screen.getvalue()) is progress


def test_threads_do_not_disturb_each_other(server, tmp_path):
    url = server.add("/a.bin", CONTENT)
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: fetch_file(url, tmp_path, name="a", sha256=SHA256), "1234"))
    assert [path.read_bytes() for path in paths] == [CONTENT]
    assert os.listdir(tmp_path) == ["a"]


def test_without_pooch_an_error_names_the_extra(server, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DsncError, match=r"pip install 'dsnc\[download\]'"):
        fetch_file(server.add("/a.bin", CONTENT), tmp_path, name="a.bin")


def test_importing_it_is_light():
    code = "import sys, dsnc.data.download as d; print([m for m in ('requests', 'pooch')"
    code += " if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_errors_are_the_projects():
    assert issubclass(ChecksumError, DownloadError) and issubclass(DownloadError, DsncError)


@pytest.mark.parametrize(
    ("url", "place", "is_refused"),
    [
        ("https://a.org/x", "http://a.org/x", True),
        ("https://a.org/x", "HTTP://b.org/y", True),
        ("https://a.org/x", "//b.org/y", False),
        ("https://a.org/x", "y", False),
        ("http://a.org/x", "http://a.org/y", False),
    ],
)
def test_no_redirect_leaves_https(url, place, is_refused):
    response = requests.Response()
    response.url, response.status_code, response.headers["location"] = url, 302, place
    response.raw = io.BytesIO()
    if is_refused:
        with pytest.raises(requests.RequestException, match="anybody may change the file"):
            _check_answer(response)
    else:
        _check_answer(response)
