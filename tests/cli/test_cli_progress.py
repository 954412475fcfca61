"""Lines of a log: how long the rest takes, and what follows."""

import re
import time

import numpy as np
import pytest

from dsnc.cli.progress import log_epochs
from dsnc.training.history import Epoch, History, Progress


def test_the_time_limit_is_part_of_what_is_left(capsys, monkeypatch):
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    logs = [log_epochs(limit) for limit in (120.0, None)]
    for seconds, number in ((80, 1), (100, 2)):  # the first epoch is a slow one
        monkeypatch.setattr(time, "monotonic", lambda at=now + seconds: at)
        epoch = Epoch(number, 10, 0.5, 0, 0, 1, 0.1, 20)
        for log in logs:
            log(Progress(epoch, History([epoch]), 100))
    *first, limited, second = capsys.readouterr().err.splitlines()
    assert len(first) == 2 and not any("left" in line for line in first)
    assert limited.endswith(", 20.0 s left")
    assert second.endswith(", 32 min 40 s left")


@pytest.mark.parametrize("seed", range(20))
def test_the_time_left_does_not_jump_when_epochs_differ(capsys, monkeypatch, seed):
    dice, now, n = np.random.default_rng(seed), 0.0, 30
    monkeypatch.setattr(time, "monotonic", lambda: now)
    log = log_epochs(then=", then choosing the decoder")
    for number in range(1, n + 1):
        now += 80 if number == 1 else 30 * dice.uniform(0.7, 1.3)
        epoch = Epoch(number, 10, 0.5, 0, 0, 1, 0.1, now)
        stopped = "max_epochs reached" if number == n else ""
        log(Progress(epoch, History([epoch], stopped=stopped), n))
    _, *lines, last = capsys.readouterr().err.splitlines()
    assert "left" not in last and len(lines) == n - 2
    found = [
        re.search(r", (?:(\d+) min )?([\d.]+) s left, then choosing the decoder$", line)
        for line in lines
    ]
    left = np.array([60 * int(match[1] or 0) + float(match[2]) for match in found])
    usual = left / np.arange(n - 2, 0, -1)  # seconds that an epoch is thought to take
    assert np.abs(usual[1:] / usual[:-1] - 1).max() <= 0.25
    assert 0.8 < usual[-10:].mean() / 30 < 1.2
