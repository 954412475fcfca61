import subprocess
import sys
import threading

import pytest
import rich.progress as rp

from dsnc.progress import counting_bar, duration, heartbeat, progress_bar


def drawn(capfd, *columns, description="so far so good"):
    with counting_bar("epoch", *columns) as bar:
        bar.update(bar.add_task("", total=3), completed=2, description=description)
    return capfd.readouterr()


def test_the_bar_counts_on_stderr(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    out, err = drawn(capfd)
    assert out == ""
    line = err.strip().splitlines()[-1]
    assert line.startswith("epoch 2/3 ")
    assert line.endswith("-:--:-- so far so good")


def test_columns_of_ones_own_follow_the_bar(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = rp.TextColumn("{task.description}", markup=False)
    _, err = drawn(capfd, text, rp.TextColumn("left"), description="[b]")
    assert err.strip().splitlines()[-1].endswith(" [b] left")


def test_no_more_time_is_left_than_the_limit(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    with progress_bar(3, True, "epoch", time_limit=3725.5) as show:
        show(1, "so far")
    line = capfd.readouterr().err.strip().splitlines()[-1]
    assert line.endswith("1:02:05 so far")


def test_a_log_gets_a_line_now_and_then(capfd):
    calls, twice = [], threading.Event()

    def say():
        calls.append(None)
        if len(calls) == 2:  # so that one line has been written
            twice.set()
        return "2 of 3 runs"

    with heartbeat(say, seconds=0.001):
        assert twice.wait(60)
    assert capfd.readouterr().err.startswith("2 of 3 runs\n")


def test_what_takes_minutes_has_an_estimate_that_does_not_jump():
    now, bar = 0.0, counting_bar("epoch")
    bar.get_time = lambda: now
    bar.add_task("", total=12)
    (task,) = bar.tasks
    found = []
    for done in range(1, 11):
        now += 40 if done % 2 else 60
        bar.update(task.id, completed=done)
        found.append(task.time_remaining)
    usual = [left / (12 - done) for done, left in enumerate(found[2:], 3)]
    assert all(45 <= seconds <= 56 for seconds in usual)


def test_nothing_heavy_is_loaded_before_a_bar_is_wanted():
    code = "import sys, dsnc.progress; assert not {'rich', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (59.94, "59.9 s"),
        (60, "1 min 0 s"),
        (125.4, "2 min 5 s"),
        (3599, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (90061, "25 h 1 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text
