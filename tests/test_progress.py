import subprocess
import sys

import pytest
import rich.progress as rp

from dsnc.progress import counting_bar, duration, progress_bar


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
