"""Trainings that are killed at random moments and go on: the model has the bytes of a whole run.

A training is a process of its own, forked from a warm parent, that fits with a checkpoint and saves
the model. SIGKILL comes whenever the dice say, up to four times; then the run is left to end.
"""

import os
import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import dsnc
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE

_PATIENCE = 120.0  # seconds for a run that nobody kills


class Run(NamedTuple):
    """What is trained."""

    name: str
    fit: Callable[[Path], Any]  # with the folder of its checkpoint, to the fitted model


class Killed(NamedTuple):
    """What became of one training."""

    name: str
    kills: int
    resumed: int  # starts that found a checkpoint
    trouble: str  # empty where the bytes are the same


def runs(trainer: str) -> list[Run]:
    """Return trainings of some kinds, each of a second or less."""
    rng = np.random.default_rng(0)
    y = np.arange(1000) % 50
    X = (2 * rng.normal(size=(50, 24))[y] + rng.normal(size=(1000, 24))).astype(np.float32)
    sparse = sp.csr_matrix(np.where(np.abs(X) > 2, X, 0))
    sets = np.eye(50, dtype=int)[y] | np.eye(50, dtype=int)[(y * 7 + 1) % 50]
    words = np.array([f"w{k}" for k in range(200)])
    texts = [" ".join(words[rng.integers(0, 4, 4) + 4 * k]) for k in y]
    common: dict[str, Any] = {"n_bits": 16, "random_state": 0, "trainer": trainer, "n_jobs": 1}
    common |= {"max_epochs": 8, "decoder": "soft", "reranker": None}
    if trainer == "torch":
        common |= {"batch_size": 100, "device": "cpu"}
    weight = rng.random(1000) + 0.5

    def of(rows: Any, labels: Any, weights: Any = None, **settings: Any) -> Callable[[Path], Any]:
        kind = dsnc.DSNCMultiLabelClassifier if np.ndim(labels) == 2 else dsnc.DSNCClassifier
        given = {} if weights is None else {"sample_weight": weights}

        def fit(folder: Path) -> Any:
            model = kind(**{**common, **settings}, checkpoint=folder)
            return model.fit(rows, labels, **given)

        return fit

    found = [
        Run("dense rows", of(X, y, decoder="auto", reranker="auto")),
        Run("sparse rows, weights", of(sparse, y, weight, memory=0)),
        Run("texts", of(texts, words[y])),
        Run("label sets", of(X, sets)),
    ]
    if trainer == "torch":
        mlp = {"encoder": "mlp", "hidden": (32,), "gradient": "disarm"}
        found.append(Run("MLP, drawn gradients", of(X, y, **mlp)))
        pulled = {"beta": 0.01, "gamma": 0.01, "adaptive": "best"}
        found.append(Run("regularizer that adapts", of(X, y, **pulled)))
    return found


def campaign(
    trainer: str, n_kills: int, seed: int, work: Path, deadline: float = float("inf")
) -> Iterator[Killed]:
    """Kill trainings until there were so many kills; yield what became of each."""
    known = runs(trainer)
    for run in known:
        _train(run, work / "warm", work / "warm model")  # loads what all children will need
        shutil.rmtree(work / "warm")
    expected, seconds = {}, {}
    for run in known:
        target = work / "expected" / run.name
        start = time.monotonic()
        if (status := _wait(_start(run, work / "whole", target), _PATIENCE)) != 0:
            raise RuntimeError(f"{run.name}: a run that nobody killed ended with {status}")
        shutil.rmtree(work / "whole")
        expected[run.name], seconds[run.name] = _files(target), time.monotonic() - start
    done = number = 0
    while done < n_kills and time.monotonic() < deadline:
        run, dice = known[number % len(known)], random.Random(f"{seed} {trainer} {number}")
        most = min(dice.choice((1, 1, 2, 3, 4)), n_kills - done)
        result = one_training(run, dice, most, seconds[run.name], expected[run.name], work / "run")
        done, number = done + result.kills, number + 1
        yield result._replace(name=f"{trainer}: {result.name}")


def one_training(
    run: Run, dice: random.Random, most: int, seconds: float, expected: Any, work: Path
) -> Killed:
    """Kill a training up to `most` times, let it end, and compare its model."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    kills = resumed = 0
    while True:
        resumed += any((work / "checkpoint").glob("checkpoint.*"))
        child = _start(run, work / "checkpoint", work / "model")
        wait = dice.uniform(0, seconds) if kills < most else _PATIENCE
        status = _wait(child, wait)
        if status is None and kills < most:
            kills += 1
            continue
        break
    if status != 0:
        return Killed(run.name, kills, resumed, f"ended with {status}")
    trouble = "" if _files(work / "model") == expected else "other bytes"
    left = sorted(path.name for path in (work / "checkpoint").glob(".*"))
    return Killed(run.name, kills, resumed, trouble or (f"left {left}" if left else ""))


def _start(run: Run, checkpoint: Path, target: Path) -> int:
    """Fork a process that trains and saves; return its number."""
    child = os.fork()
    if child == 0:
        try:
            _train(run, checkpoint, target)
            os._exit(0)
        except BaseException as error:
            print(f"{run.name}: {type(error).__name__}: {error}", flush=True)
            os._exit(1)
    return child


def _train(run: Run, checkpoint: Path, target: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.fit(checkpoint).save(target, overwrite=True)


def _wait(child: int, seconds: float) -> int | None:
    """Return how a process ended by itself; kill it after so many seconds, and return None."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _files(folder: Path) -> tuple[bytes, ...]:
    """Return the bytes that a model is, without its card."""
    return tuple((folder / name).read_bytes() for name in (HEADER_FILE, ARRAYS_FILE))
