"""Full disks, and folders that nobody may write to: an error in words, and what was there stays.

Disks are real, of a few kilobytes: they become full in the middle of what is written. A read-only
folder is a disk that is mounted so, or one of another user.
"""

import contextlib
import io
import os
import random
import shutil
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import dsnc
from dsnc.data import Dataset, load_dataset, write_folder
from dsnc.errors import DsncError
from reliability.mounts import make_read_only, small_disk
from reliability.trials import REFUSED, WORKS, Trial, Verdict, WrongError, refusal

_NOBODY = 65534
_LARGE = 1 << 20  # kilobytes of a disk on which everything fits


class World(NamedTuple):
    """What is written: made once, before disks become small."""

    model: Any
    other: Any
    dataset: Dataset
    folder: Path  # with a saved model, and tables

    @classmethod
    def made(cls, folder: Path) -> "World":
        """Train two small models, and write what commands read."""
        rng = np.random.default_rng(0)
        y = np.arange(300) % 30
        X = (2 * rng.normal(size=(30, 16))[y] + rng.normal(size=(300, 16))).astype(np.float32)
        settings = {"n_bits": 16, "max_epochs": 2, "trainer": "fast", "random_state": 0}
        models = [dsnc.DSNCClassifier(**settings, decoder=d).fit(X, y) for d in ("soft", "linear")]
        dataset = Dataset.from_labels(X, y)
        folder.mkdir(parents=True)
        models[0].save(folder / "model")
        lines = [",".join(["label", *(f"x{j}" for j in range(16))])]
        lines += [",".join(map(str, [k, *row])) for k, row in zip(y, X.tolist(), strict=True)]
        (folder / "rows.csv").write_text("\n".join(lines) + "\n")
        return cls(*models, dataset, folder)


def _save(world: World, disk: Path) -> None:
    world.other.save(disk / "model", overwrite=True)


def train(world: World, disk: Path) -> None:
    """Train with a checkpoint on the disk."""
    settings = {"n_bits": 16, "max_epochs": 3, "trainer": "fast", "random_state": 0}
    model = dsnc.DSNCClassifier(**settings, checkpoint=disk / "run", decoder="soft", reranker=None)
    model.fit(world.dataset.X, world.dataset.labels)


def _data(world: World, disk: Path) -> None:
    write_folder(world.dataset, disk / "data")


def _command(*words: str) -> Callable[[World, Path], None]:
    """Return what runs a command line, whose last word is a file on the disk."""

    def run(world: World, disk: Path) -> None:
        from dsnc.cli import main

        named = {"MODEL": str(world.folder / "model"), "ROWS": str(world.folder / "rows.csv")}
        line = ["dsnc", *(named.get(word, word) for word in words[:-1]), str(disk / words[-1])]
        said, quiet = io.StringIO(), io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(quiet):
            try:
                with mock.patch.object(sys, "argv", line):
                    main()
            except SystemExit as error:
                if error.code in (0, None):
                    return
                if error.code != 1 or "Traceback" in said.getvalue():
                    raise WrongError(f"exit {error.code}: {said.getvalue()[-300:]}") from error
                raise DsncError(said.getvalue()) from None

    return run


ACTIONS: dict[str, Callable[[World, Path], None]] = {
    "a model saved": _save,
    "checkpoints": train,
    "a data folder": _data,
    "dsnc predict": _command("predict", "MODEL", "ROWS", "-o", "out.csv"),
    "dsnc inspect --html": _command("inspect", "MODEL", "--html", "page.html"),
    "dsnc train": _command("train", "ROWS", "--quiet", "-o", "trained"),
}


def trial(world: World, work: Path, how: str) -> Trial:
    """Return what tries one action on a disk: "full", "read-only", "another user" or "closed"."""
    needs = {name: _needed(world, work / "large", name) for name in ACTIONS}

    def attempt(dice: random.Random) -> Verdict:
        name = dice.choice(list(ACTIONS))
        is_old = name == "a model saved" and dice.random() < 0.7
        size = _LARGE
        if how == "full":
            size = needs[name] * is_old + dice.randrange(4, 2 * needs[name], 4)
        disk = work / "small"
        with small_disk(disk, size):
            if is_old:
                world.model.save(disk / "model")
            before = _content(disk)
            if how == "read-only":
                make_read_only(disk)
            elif how != "full":
                disk.chmod(0o555 if how == "another user" else 0)
            return _outcome(world, disk, name, before, f"{how}: {name}")

    return attempt


def _outcome(world: World, disk: Path, name: str, before: dict[str, bytes], case: str) -> Verdict:
    """Act, and look at what is there after."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case.startswith(("another user", "closed")):
                os.seteuid(_NOBODY)
            ACTIONS[name](world, disk)
        except DsncError as error:
            if refusal(error, (DsncError,)) is None:
                raise
            words = str(error)
        else:
            _check_result(world, disk, name)
            return Verdict(WORKS, case)
        finally:
            os.seteuid(0)
    if str(disk) not in words:
        raise WrongError(f"the error does not name the file: {words[:200]}")
    after = _content(disk)
    kept = {key: after[key] for key in after if "checkpoint" not in key}  # whole ones may stay
    if kept != before:
        raise WrongError(f"{sorted(before)} became {sorted(kept)}")
    if hidden := [key for key in after if "/." in f"/{key}"]:
        raise WrongError(f"left behind: {hidden}")
    return Verdict(REFUSED, case)


def _check_result(world: World, disk: Path, name: str) -> None:
    """Read what was written."""
    if name == "a model saved":
        found = dsnc.load(disk / "model").predict(world.dataset.X[:9])
        if (found != world.other.predict(world.dataset.X[:9])).any():
            raise WrongError("the model that was saved says something else")
    elif name == "a data folder":
        load_dataset(disk / "data")
    elif name == "dsnc train":
        dsnc.load(disk / "trained")


def _needed(world: World, folder: Path, name: str) -> int:
    """Return the kilobytes that an action leaves on a large disk."""
    with small_disk(folder, _LARGE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ACTIONS[name](world, folder)
        return shutil.disk_usage(folder).used // 1024


def _content(folder: Path) -> dict[str, bytes]:
    """Return all files but the card of a model, which has the name of its folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "README.md"
    }
