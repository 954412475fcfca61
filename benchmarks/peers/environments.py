"""An environment for each tool, made when it is first needed and kept.

Where pip reaches nothing, tools are taken from a folder of ``pip install --target FOLDER/NAME``.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from peers.contestant import Contestant

_ALWAYS = ("numpy", "scipy")  # what `peers.measure` needs itself
_one_at_a_time = threading.Lock()
_SHOWN = 15  # lines of pip's that an error repeats


class NoEnvironmentError(Exception):
    """pip could not make an environment."""


class Place(NamedTuple):
    """Where a contestant runs."""

    python: str
    path: str = ""  # a folder with its packages, if they are not that Python's own


def place_for(kind: type[Contestant], environments: Path, tools: Path | None) -> Place:
    """Return where a contestant runs: with the tools of a folder, or in an environment of its own.

    Parameters
    ----------
    kind : subclass of Contestant
        Without requirements it runs in the environment of this process.
    environments : Path
        Where environments are.
    tools : Path, optional
        A folder with a subfolder for each tool, which take the place of environments.
    """
    if not kind.requirements:
        return Place(sys.executable)
    name = name_of(kind)
    if tools is None:
        with _one_at_a_time:
            return Place(python_for(kind, environments))
    if not (tools / name).is_dir():
        raise NoEnvironmentError(f"There is no folder {tools / name}.")
    return Place(sys.executable, str((tools / name).resolve()))


def name_of(kind: type[Contestant]) -> str:
    """Return the name of a tool's folder, such as napkinxc-0.7.2."""
    return (*kind.alone, *kind.requirements)[0].replace("==", "-")


def python_for(kind: type[Contestant], folder: Path) -> str:
    """Return the Python of a tool's environment; make it if it is not there, or another."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = name_of(kind)
    place = folder.resolve() / f"{name}-python{version}"
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = "\n".join((*kind.requirements, *kind.alone, *_ALWAYS))
    ready = place / "ready.txt"  # written last: an environment is there whole, or made again
    if not (ready.is_file() and ready.read_text() == wanted):
        print(f"making an environment for {name} in {place}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(place)], kind)
        pip = [str(python), "-m", "pip", "install"]
        _run([*pip, *kind.requirements, *_ALWAYS], kind)
        if kind.alone:
            _run([*pip, "--no-deps", *kind.alone], kind)
        ready.write_text(wanted)
    return str(python)


def _run(command: list[str], kind: type[Contestant]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = [line for line in done.stdout.splitlines() if "WARNING" not in line]
        raise NoEnvironmentError(
            f"{' '.join(command)} failed:\n" + "\n".join([*lines[-_SHOWN:], kind.if_it_fails])
        )
