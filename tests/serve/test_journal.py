"""A journal has whole changes or none, whatever happens to its file."""

import contextlib
import os
import resource
import subprocess
import sys
import time

import pytest

from dsnc.serve.journal import Change, Journal
from dsnc.serve.refusals import Refused


def change(number):
    return Change("add", f'{{"labels": ["ü\n{number}"]}}', f"{number:016x}", f"{number + 1:016x}")


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "model")
    assert not journal.exists
    journal.open()
    return journal


def test_changes_are_read_as_they_were_written(journal):
    assert journal.exists and journal.n_bytes == 0 and journal.read().changes == []
    for number in range(3):
        journal.append(change(number))
    again = Journal(journal.folder.with_name("model"))
    lines = again.read()
    assert lines.changes == [change(number) for number in range(3)]
    assert lines.end == again.n_bytes and not lines.is_damaged
    assert lines.versions == {f"{number:016x}" for number in range(4)}
    assert again.age < 60
    assert journal.clear() is None
    assert journal.n_bytes == 0 and again.read().changes == []


def test_nobody_else_may_read_it(journal):
    assert journal.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("cut", [1, 2, 9, 30, -1])
def test_half_a_line_counts_for_nothing(journal, cut):
    journal.append(change(0))
    end = journal.n_bytes
    journal.append(change(1))
    path = journal.folder / "changes"
    data = path.read_bytes()
    path.write_bytes(data[: end + cut] if cut > 0 else data[:cut])
    assert journal.read() == ([change(0)], end, False)
    journal.append(change(2))
    assert journal.read().changes == [change(0), change(2)]


def test_what_is_damaged_is_neither_written_over_nor_thrown_away(journal):
    for number in range(3):
        journal.append(change(number))
    path = journal.folder / "changes"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    lines = journal.read()
    assert lines.changes == [change(0)] and lines.is_damaged
    with pytest.raises(OSError, match="is damaged"):
        journal.append(change(3))
    kept = journal.clear()
    assert kept.read_bytes() == data and journal.n_bytes == 0
    journal.append(change(0))
    assert journal.set_aside() != kept


def test_a_full_disk_leaves_it_as_it_was(journal):
    journal.append(change(0))
    size, limits = journal.n_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, limits[1]))  # half a line fits
    try:
        with pytest.raises(OSError, match="File too large"):
            journal.append(change(1))
        assert journal.n_bytes == size
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.append(change(1))
    assert journal.read().changes == [change(0), change(1)]


def test_all_see_which_version_is_current(journal):
    other = Journal(journal.folder.with_name("model"))
    other.open()
    journal.current = "0123456789abcdef"
    assert other.current == "0123456789abcdef"


def test_readers_are_waited_for_while_they_live(journal, tmp_path):
    version = "0123456789abcdef"
    journal.coming = version
    assert journal.coming == version and journal.current == "0" * 16
    journal.has_read("0" * 16)  # this process does not wait for itself
    code = "import sys; from pathlib import Path; from dsnc.serve.journal import Journal\n"
    code += "journal = Journal(Path(sys.argv[1]))\n"
    code += "while True: journal.has_read(input()); print(flush=True)"
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:

        def other_has_read(version):
            other.stdin.write(f"{version}\n".encode())
            other.stdin.flush()
            other.stdout.readline()

        other_has_read("0" * 16)
        start = time.monotonic()
        journal.wait_for_readers(version, 0.1)
        assert time.monotonic() - start >= 0.1
        other_has_read(version)
        journal.wait_for_readers(version, 1000)
        other_has_read("0" * 16)
        assert len(list(journal.folder.glob("reader-*"))) == 2
        other.kill()
    journal.wait_for_readers(version, 1000)
    assert len(list(journal.folder.glob("reader-*"))) == 1
    journal.has_read(None)
    assert list(journal.folder.glob("reader-*")) == []


def test_one_writer_at_a_time_and_none_after_it_was_killed(journal, tmp_path):
    code = "import sys, time; from pathlib import Path; from dsnc.serve.journal import Journal\n"
    code += "with Journal(Path(sys.argv[1])).locked(1): print('held', flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        start = time.monotonic()
        with pytest.raises(Refused, match="being changed"), journal.locked(0.1):
            pass
        assert time.monotonic() - start >= 0.1
        holder.kill()
        with journal.locked(10):
            pass
    with contextlib.ExitStack() as stack:
        stack.enter_context(journal.locked(0))
        with pytest.raises(Refused), Journal(tmp_path / "model").locked(0):
            pass


def test_only_one_model_is_kept(journal):
    for version in ("a", "b", ".new-1"):
        (journal.folder / version / "model").mkdir(parents=True)
    journal.keep_models("b")
    assert set(os.listdir(journal.folder)) - {"lock"} == {"b", "changes", "current"}
