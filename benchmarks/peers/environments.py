"""An environment for each tool, made when it is first needed and kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from peers.contestant import Contestant

_ALWAYS = ("numpy", "scipy")  # what `peers.measure` needs itself
_SHOWN = 15  # lines of pip's that an error repeats


class NoEnvironmentError(Exception):
    """pip could not make an environment."""


def python_for(kind: type[Contestant], folder: Path) -> str:
    """Return the Python of a contestant's environment; make it if it is not there, or another.

    Parameters
    ----------
    kind : subclass of Contestant
        Without requirements it runs in the environment of this process.
    folder : Path
        Where environments are.
    """
    if not kind.requirements:
        return sys.executable
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = (*kind.alone, *kind.requirements)[0].replace("==", "-")
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
