import hashlib
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dsnc.data import download
from dsnc.data.download import fetch_file
from dsnc.errors import ChecksumError, DownloadError, DsncError, InputError
from http_server import Server

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several pieces
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2

FETCH = "import sys; from dsnc.data.download import fetch_file; fetch_file(*sys.argv[1:3])"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "BACKOFF", 0.001)
    with Server() as running:
        yield running


def names(folder):
    """All that lies there, the empty lock files apart."""
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def broken_off(server, folder, **how):
    """Leave half a file behind, as a dead connection does; then let the server behave."""
    url = server.add("/a.bin", CONTENT, break_after=HALF, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(download, "TRIES", 1)
        with pytest.raises(DownloadError):
            fetch_file(url, folder)
    assert (folder / "a.bin.part").read_bytes() == CONTENT[:HALF]
    server.pages["/a.bin"].break_after = None
    server.requests.clear()
    return url


# The plain case


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


# Breaking off and going on


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("length", [True, False])
def test_a_broken_connection_is_taken_up_again(server, tmp_path, reset, length):
    how = {"break_after": 300_000, "break_times": 3, "reset": reset, "length": length}
    path = fetch_file(server.add("/a.bin", CONTENT, **how), tmp_path, sha256=SHA256)
    assert path.read_bytes() == CONTENT
    assert names(tmp_path) == ["a.bin"]
    starts = [int((r.range or "bytes=0-")[6:-1]) for r in server.requests]
    assert starts == sorted(starts) and len(starts) == 4
    if length and not reset:  # a reset may throw away what was still on its way
        assert starts == [0, 300_000, 600_000, 900_000]
        assert {r.if_range for r in server.requests[1:]} == {server.pages["/a.bin"].tag}


def test_giving_up_says_how_far_it_got_and_how_to_go_on(server, tmp_path):
    url = server.add("/a.bin", CONTENT, break_after=100_000)
    with pytest.raises(DownloadError) as caught:
        fetch_file(url, tmp_path)
    message = str(caught.value)
    assert "500,000 of 1,048,576 bytes" in message
    assert "run the same command again" in message
    assert url in message and str(tmp_path / "a.bin") in message
    assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
    server.pages["/a.bin"].break_after = None
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert server.requests[-1].range == "bytes=500000-"


def test_the_next_call_goes_on(server, tmp_path):
    url = broken_off(server, tmp_path)
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    [request] = server.requests
    assert request.range == f"bytes={HALF}-"
    assert request.if_range == server.pages["/a.bin"].tag


@pytest.mark.parametrize("how", [{"etag": False}, {"weak": True}])
def test_last_modified_serves_where_no_strong_etag_does(server, tmp_path, how):
    url = broken_off(server, tmp_path, modified=True, **how)
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert [r.if_range for r in server.requests] == [server.pages["/a.bin"].date]


def test_without_any_mark_of_the_version_it_starts_anew(server, tmp_path):
    url = broken_off(server, tmp_path, etag=False)
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert [r.range for r in server.requests] == [None]


def test_a_known_checksum_replaces_the_mark(server, tmp_path):
    url = broken_off(server, tmp_path, etag=False)
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    assert [(r.range, r.if_range) for r in server.requests] == [(f"bytes={HALF}-", None)]


def test_a_file_that_changed_meanwhile_starts_anew(server, tmp_path):
    url = broken_off(server, tmp_path)
    server.pages["/a.bin"].content = CONTENT[::-1]
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT[::-1]
    assert [r.range for r in server.requests] == [f"bytes={HALF}-"]


def test_a_server_without_ranges_starts_anew(server, tmp_path):
    url = broken_off(server, tmp_path, ranges=False)
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT


def test_another_url_does_not_go_on_with_these_bytes(server, tmp_path):
    broken_off(server, tmp_path)
    url = server.add("/mirror", CONTENT[::-1])
    assert fetch_file(url, tmp_path, name="a.bin").read_bytes() == CONTENT[::-1]
    assert [r.range for r in server.requests] == [None]


@pytest.mark.parametrize("note", ["", "{", "[]", "{}", '"text"'])
def test_a_damaged_note_starts_anew(server, tmp_path, note):
    url = broken_off(server, tmp_path)
    (tmp_path / "a.bin.part.json").write_text(note)
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT


def test_a_complete_part_needs_no_network(server, tmp_path):
    url = broken_off(server, tmp_path)
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    assert server.requests == []
    assert names(tmp_path) == ["a.bin"]


def test_a_complete_part_of_unknown_length_is_recognized(server, tmp_path):
    url = broken_off(server, tmp_path, length=False)
    (tmp_path / "a.bin.part").write_bytes(CONTENT)
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    assert [r.range for r in server.requests] == [f"bytes={len(CONTENT)}-"]  # answered by 416


def test_a_part_longer_than_the_file_is_thrown_away(server, tmp_path):
    url = broken_off(server, tmp_path)
    (tmp_path / "a.bin.part").write_bytes(CONTENT + b"more")
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert [r.range for r in server.requests] == [f"bytes={len(CONTENT) + 4}-", None]


def test_a_416_without_details_starts_anew(server, tmp_path):
    url = broken_off(server, tmp_path)
    server.pages["/a.bin"].status, server.pages["/a.bin"].status_times = 416, 1
    assert fetch_file(url, tmp_path).read_bytes() == CONTENT
    assert [r.range for r in server.requests] == [f"bytes={HALF}-", None]


def test_a_killed_download_goes_on(server, tmp_path):
    url = server.add("/a.bin", CONTENT, break_after=HALF, hold=True)
    with subprocess.Popen([sys.executable, "-c", FETCH, url, str(tmp_path)]) as process:
        part = tmp_path / "a.bin.part"
        deadline = time.monotonic() + 20
        # What stands in the process's buffer is lost with it; a piece or more is on disk.
        while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = part.stat().st_size
    assert 0 < kept <= HALF
    assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
    server.pages["/a.bin"].break_after = None
    server.requests.clear()
    assert fetch_file(url, tmp_path, sha256=SHA256).read_bytes() == CONTENT
    assert [r.range for r in server.requests] == [f"bytes={kept}-"]


# Several at once


def test_two_processes_share_one_download(server, tmp_path):
    url = server.add("/a.bin", CONTENT, break_after=1000, break_times=1)  # takes a moment
    command = [sys.executable, "-c", FETCH, url, str(tmp_path)]
    both = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(30) for process in both] == [0, 0]
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert names(tmp_path) == ["a.bin"]
    assert [r.range for r in server.requests] == [None, "bytes=1000-"]


def test_threads_share_one_download(server, tmp_path):
    url = server.add("/a.bin", CONTENT)
    with ThreadPoolExecutor(4) as pool:
        paths = set(pool.map(lambda _: fetch_file(url, tmp_path, sha256=SHA256), range(4)))
    assert paths == {tmp_path / "a.bin"}
    assert len(server.requests) == 1


# What cannot work


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
        self.url = self.part.url = "http://127.0.0.1:1/a.bin"  # nobody listens there
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
    with pytest.raises(ChecksumError, match="fetch it anew") as caught:
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


# The bar


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
    code = "import sys, dsnc.data.download as d; print([m for m in ('pooch', 'requests', 'rich')"
    code += " if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_its_errors_are_the_projects():
    assert issubclass(ChecksumError, DownloadError) and issubclass(DownloadError, DsncError)
