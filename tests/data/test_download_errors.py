"""What cannot be fetched says why, and what to do."""

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from downloads import CONTENT, HALF, SHA256, broken_off, names
from dsnc.data import download
from dsnc.data.download import fetch_file
from dsnc.errors import ChecksumError, DownloadError


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_says_status_address_and_what_to_do(server, tmp_path, status):
    url = server.add("/a.bin", CONTENT, status=status)
    with pytest.raises(DownloadError, match=f"answered {status}") as caught:
        fetch_file(url, tmp_path)
    message = str(caught.value)
    assert url in message and str(tmp_path / "a.bin") in message and "browser" in message
    assert len(server.requests) == 1  # it would not help to ask again
    assert names(tmp_path) == []


def test_a_tired_server_is_asked_again(server, tmp_path):
    url = server.add("/a.bin", CONTENT, status=503, status_times=2)
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_a_broken_server_is_given_up(server, tmp_path):
    url = server.add("/a.bin", CONTENT, status=500)
    with pytest.raises(DownloadError, match="answered 500"):
        fetch_file(url, tmp_path)
    assert len(server.requests) == download.TRIES


def test_no_network_says_where_to_put_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # bound, not listening: refuses
        url = f"http://127.0.0.1:{free.getsockname()[1]}/a.bin"
        started = time.monotonic()
        with pytest.raises(DownloadError, match="cannot be reached .*refused") as caught:
            fetch_file(url, tmp_path)
    assert time.monotonic() - started < 2  # no use in waiting
    assert url in str(caught.value) and str(tmp_path / "a.bin") in str(caught.value)
    assert "0x" not in str(caught.value)  # no addresses of objects
    assert isinstance(caught.value, OSError)


def test_an_unknown_host_says_so(tmp_path, monkeypatch):
    def resolve(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(DownloadError, match="cannot be reached .*not known") as caught:
        fetch_file("http://no-such-host.invalid/a.bin", tmp_path)
    assert str(tmp_path / "a.bin") in str(caught.value)


def test_a_silent_server_times_out(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", (1, 0.05))
    monkeypatch.setattr(download, "TRIES", 2)
    url = server.add("/a.bin", CONTENT, break_after=200_000, hold=True)
    with pytest.raises(DownloadError, match="timed out"):
        fetch_file(url, tmp_path)
    assert (tmp_path / "a.bin.part").stat().st_size > 200_000  # some came both times


def test_a_server_that_goes_away_half_way(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", (1, 1))
    url = broken_off(server, tmp_path)
    server.pages["/a.bin"].break_after = 1000
    real = download._Download._write

    def write_then_vanish(self, response, tick):
        self.url = "http://127.0.0.1:1/a.bin"  # nobody listens there
        real(self, response, tick)

    monkeypatch.setattr(download._Download, "_write", write_then_vanish)
    with pytest.raises(DownloadError, match="connection was lost"):
        fetch_file(url, tmp_path)


def test_a_url_that_is_none(tmp_path):
    with pytest.raises(DownloadError, match="cannot be fetched"):
        fetch_file("gopher://host/a.bin", tmp_path)


@pytest.mark.parametrize("resumed", [False, True])
def test_wrong_content_is_refused_and_forgotten(server, tmp_path, resumed):
    url = broken_off(server, tmp_path) if resumed else server.add("/a.bin", CONTENT)
    other = "0" * 64
    with pytest.raises(ChecksumError, match="fetch it again") as caught:
        fetch_file(url, tmp_path, sha256=other)
    assert SHA256 in str(caught.value) and other in str(caught.value)
    assert names(tmp_path) == []
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    assert server.requests[-1].range is None


def test_another_size_is_refused_before_it_comes(server, tmp_path):
    url = server.add("/a.bin", CONTENT)
    with pytest.raises(ChecksumError, match="expected 7 bytes, found 1,048,576"):
        fetch_file(url, tmp_path, size=7)
    assert names(tmp_path) == []


def test_another_size_is_noticed_when_the_server_tells_none(server, tmp_path):
    url = server.add("/a.bin", CONTENT, length=False)
    with pytest.raises(ChecksumError, match="expected 7 bytes, found 1,048,576"):
        fetch_file(url, tmp_path, size=7)
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("length", "needed"), [(True, "1,048,576"), (False, "unknown number")])
def test_a_full_disk_says_how_much_is_missing(server, tmp_path, length, needed):
    url = server.add("/a.bin", CONTENT, length=length)
    (tmp_path / "a.bin.part").symlink_to("/dev/full")
    with pytest.raises(DownloadError, match="full") as caught:
        fetch_file(url, tmp_path)
    assert str(tmp_path) in str(caught.value) and needed in str(caught.value)
    assert not (tmp_path / "a.bin").exists()


def test_a_folder_that_cannot_be_made_says_so(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DownloadError, match="cannot be written.*DSNC_HOME"):
        fetch_file("http://127.0.0.1:1/a.bin", tmp_path / "file" / "folder")


def test_a_file_system_without_locks_still_works(server, tmp_path, monkeypatch, caplog):
    import fcntl

    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert fetch_file(server.add("/a.bin", CONTENT), tmp_path).read_bytes() == CONTENT
    assert "cannot be locked" in caplog.text


def test_an_interrupt_keeps_what_came(server, tmp_path, monkeypatch):
    url = server.add("/a.bin", CONTENT, break_after=HALF)
    monkeypatch.setattr(download.time, "sleep", lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        fetch_file(url, tmp_path)
    assert json.loads((tmp_path / "a.bin.part.json").read_text())["total"] == len(CONTENT)
    assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
