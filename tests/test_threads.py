import os
import threading

import numpy as np
import pytest

from dsnc import threads
from dsnc.errors import InputError
from dsnc.threads import in_threads, n_threads


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """Control groups that a test writes, of a process that may use eight cores."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    monkeypatch.setattr(threads, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(threads, "_GROUPS", tmp_path / "groups")
    threads._quota.cache_clear()
    yield tmp_path
    threads._quota.cache_clear()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_number_of_threads(monkeypatch, groups):
    assert n_threads(None) == n_threads(1) == 1
    assert n_threads(7) == n_threads(np.int32(7)) == 7
    assert type(n_threads(np.int64(3))) is int
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 3, 5}, raising=False)
    assert n_threads(-1) == 3  # what this process may use, not what the machine has
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert n_threads(-1) == 6
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert n_threads(-1) == 1


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("10000 100000", 1), ("x", 8)],
)
@pytest.mark.parametrize("where", ["", "pods/this", "pods"])
def test_a_quota_limits_the_number_of_threads(groups, limit, cores, where):
    write(groups / "own", "0::/pods/this\n")
    write(groups / "groups" / where / "cpu.max", limit + "\n")
    assert n_threads(-1) == cores
    assert n_threads(5) == 5  # who asks for them gets them


@pytest.mark.parametrize(("quota", "cores"), [(-1, 8), (300_000, 3), (50_000, 1)])
def test_a_quota_of_the_older_kind(groups, quota, cores):
    write(groups / "own", "4:memory:/a\n3:cpu,cpuacct:/a\n0::/\n")
    write(groups / "groups/cpu/a/cpu.cfs_quota_us", f"{quota}\n")
    write(groups / "groups/cpu/a/cpu.cfs_period_us", "100000\n")
    assert n_threads(-1) == cores


def test_without_control_groups_all_cores_are_used(groups):
    assert n_threads(-1) == 8


@pytest.mark.parametrize("n_jobs", [0, -2, 1.0, True, np.True_, "2", [2], np.nan])
def test_what_is_no_number_of_threads_is_refused(n_jobs):
    with pytest.raises(InputError, match="n_jobs=.* is not a number of threads; give 1 or more"):
        n_threads(n_jobs)
    with pytest.raises(InputError, match="n_jobs="):
        in_threads(lambda rows: None, 10, n_jobs)


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, 16, -1])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 127, 128, 129, 1000])
def test_every_row_is_done_once(n, n_jobs):
    times = np.zeros(n, dtype=int)
    blocks = []

    def work(rows):
        blocks.append(rows)
        times[rows] += 1

    in_threads(work, n, n_jobs)
    assert (times == 1).all()
    assert 1 <= len(blocks) <= n_threads(n_jobs)
    assert len(blocks) == 1 or min(rows.stop - rows.start for rows in blocks) >= 60
    assert all(rows.step is None for rows in blocks)


def test_few_rows_stay_in_the_calling_thread():
    seen = []
    in_threads(lambda rows: seen.append(threading.current_thread()), 100, 8)
    in_threads(lambda rows: seen.append(threading.current_thread()), 10_000, 1)
    assert seen == [threading.current_thread()] * 2


def test_several_work_at_once():
    barrier = threading.Barrier(4, timeout=30)
    in_threads(lambda rows: barrier.wait(), 4 * threads._MIN_ROWS, 4)  # or it would wait for ever


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_an_error_reaches_the_caller(n_jobs):
    def work(rows):
        if rows.stop == 1000:
            raise InputError("the last rows are bad")

    with pytest.raises(InputError, match="the last rows are bad"):
        in_threads(work, 1000, n_jobs)
    in_threads(work, 999, n_jobs)
