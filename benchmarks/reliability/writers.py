"""Two processes that save to one folder at the same time, and a reader beside them."""

import os
import random
import shutil
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dsnc.data import load_dataset, write_folder
from dsnc.errors import DsncError, OutputExistsError
from dsnc.persistence import read_model
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE
from reliability.disks import World, train
from reliability.trials import WORKS, Trial, Verdict, WrongError

_DONE, _EXISTS, _REFUSED, _OTHER = 0, 10, 11, 12  # how a writer ends


def trial(world: World, work: Path) -> Trial:
    """Return what lets two processes write to one place."""
    sound = [_bytes_of(model, work / f"sound {i}") for i, model in enumerate(world[:2])]
    cases: dict[str, Callable[[random.Random], None]] = {
        "both replace a model": lambda dice: _replacing(dice, world, work / "both", sound),
        "both replace, one is killed": lambda dice: _killing(dice, world, work / "both", sound),
        "both write a new model": lambda dice: _new(dice, world, work / "both", sound),
        "both write a data folder": lambda dice: _data(dice, world, work / "both"),
        "both train with one checkpoint": lambda dice: _training(dice, world, work / "both"),
    }

    def attempt(dice: random.Random) -> Verdict:
        name = dice.choice(list(cases))
        shutil.rmtree(work / "both", ignore_errors=True)
        (work / "both").mkdir(parents=True)
        cases[name](dice)
        left = sorted(path.name for path in (work / "both").rglob(".*"))
        if left and "killed" not in name:
            raise WrongError(f"left behind: {left}")
        return Verdict(WORKS, name)

    return attempt


def _replacing(dice: random.Random, world: World, folder: Path, sound: list[Any]) -> None:
    times = dice.randrange(2, 6)
    writers = [_fork(lambda m=model: _save_often(m, folder, times)) for model in world[:2]]
    _read_beside(folder, writers)
    if (ends := [_end(child) for child in writers]) != [_DONE, _DONE]:
        raise WrongError(f"writers ended with {ends}")
    _check(folder, sound)


def _killing(dice: random.Random, world: World, folder: Path, sound: list[Any]) -> None:
    world.model.save(folder / "model")
    writers = [_fork(lambda m=model: _save_often(m, folder, 4)) for model in world[:2]]
    time.sleep(dice.uniform(0, 0.2))
    os.kill(writers[0], signal.SIGKILL)
    ends = [_end(child) for child in writers]
    if ends[1] != _DONE:
        raise WrongError(f"the writer that nobody killed ended with {ends[1]}")
    _check(folder, sound)


def _new(dice: random.Random, world: World, folder: Path, sound: list[Any]) -> None:
    pause = dice.uniform(0, 0.02)
    writers = [
        _fork(lambda m=model, p=p: (time.sleep(p), m.save(folder / "model")))
        for model, p in zip(world[:2], (0, pause), strict=True)
    ]
    ends = sorted(_end(child) for child in writers)
    if ends != [_DONE, _EXISTS]:
        raise WrongError(f"one should write and the other refuse; they ended with {ends}")
    _check(folder, sound)


def _data(dice: random.Random, world: World, folder: Path) -> None:
    pause = dice.uniform(0, 0.02)
    writers = [
        _fork(lambda p=p: (time.sleep(p), write_folder(world.dataset, folder / "data")))
        for p in (0, pause)
    ]
    ends = sorted(_end(child) for child in writers)
    if ends != [_DONE, _EXISTS]:
        raise WrongError(f"one should write and the other refuse; they ended with {ends}")
    load_dataset(folder / "data")


def _training(dice: random.Random, world: World, folder: Path) -> None:
    pause = dice.uniform(0, 0.1)
    writers = [_fork(lambda p=p: (time.sleep(p), train(world, folder))) for p in (0, pause)]
    ends = sorted(_end(child) for child in writers)
    if ends != [_DONE, _DONE]:
        raise WrongError(f"trainings ended with {ends}")


def _save_often(model: Any, folder: Path, times: int) -> None:
    for _ in range(times):
        model.save(folder / "model", overwrite=True)


def _read_beside(folder: Path, writers: list[int]) -> None:
    """Read the model while others write it: it is always one of the two."""
    while any(_is_alive(child) for child in writers):
        if (folder / "model").exists():
            header, arrays = read_model(folder / "model")
            if header["decoder"] not in ("soft", "linear") or "encoder.0.weight" not in arrays:
                raise WrongError("a reader saw neither of the models")


def _check(folder: Path, sound: list[Any]) -> None:
    if _files(folder / "model") not in sound:
        raise WrongError("the folder holds neither of the models")


def _bytes_of(model: Any, folder: Path) -> tuple[bytes, ...]:
    shutil.rmtree(folder, ignore_errors=True)
    model.save(folder)
    return _files(folder)


def _files(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / name).read_bytes() for name in (HEADER_FILE, ARRAYS_FILE))


def _fork(work: Callable[[], Any]) -> int:
    child = os.fork()
    if child == 0:
        warnings.simplefilter("ignore")
        try:
            work()
            os._exit(_DONE)
        except OutputExistsError:
            os._exit(_EXISTS)
        except DsncError as error:
            print(type(error).__name__, error, flush=True)
            os._exit(_REFUSED)
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(_OTHER)
    return child


def _is_alive(child: int) -> bool:
    """Tell whether a child runs, and leave its end to be asked for."""
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def _end(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
