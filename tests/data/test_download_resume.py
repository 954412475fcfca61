"""A download that broke off goes on; several at once share one."""

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from downloads import CONTENT, FETCH, HALF, SHA256, broken_off, names
from dsnc.data.download import fetch_file
from dsnc.errors import DownloadError


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
