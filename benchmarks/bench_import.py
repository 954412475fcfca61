"""What starting costs: ``import dsnc``, the command line's help, and one prediction.

Times are of the processor (user and system), so that a busy machine counts less. A prediction is
compared with importing what it cannot do without. Bytecode is cached before.
"""

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from dsnc import DSNCClassifier
from harness import report

NEEDED = "import numpy, scipy.sparse"
ROUNDS = 10
MANY = 10_000  # texts


def main() -> None:
    """Start interpreters in turns and print what each start takes."""
    with tempfile.TemporaryDirectory() as folder:
        commands = {
            "bare Python": ["-c", "pass"],
            "import dsnc": ["-c", "import dsnc"],
            "dsnc.codes": ["-c", "import dsnc.codes"],
            "dsnc.data": ["-c", "import dsnc.data"],
            "dsnc --help": [*_command_line(), "--help"],
            NEEDED: ["-c", NEEDED],
            **_predictions(Path(folder)),
        }
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        seconds = _least({name: _start(c, environment) for name, c in commands.items()})
    report(
        "import",
        [
            {"what": what, "ms": 1e3 * s, f"of {NEEDED}": s / seconds[NEEDED]}
            for what, s in seconds.items()
        ],
    )


def _command_line() -> list[str]:
    return ["-c", "from dsnc.cli import main; main()"]


def _predictions(folder: Path) -> dict[str, list[str]]:
    """Save three small models; return commands that predict one row with each, or many."""
    y = np.arange(400) % 40
    rows = np.eye(40, dtype=np.float32)[y]
    inputs = {
        "dense row": (rows, "dense.npy"),
        "sparse row": (sp.csr_matrix(rows), "sparse.svm"),
        "text": ([f"word{i} thing" for i in y], "text.txt"),
    }
    np.save(folder / "dense.npy", rows[:1])
    (folder / "sparse.svm").write_text("1:1\n")
    (folder / "text.txt").write_text("word1 thing\n")
    commands = {}
    for name, (X, file) in inputs.items():
        model = DSNCClassifier(n_bits=32, max_epochs=2, device="cpu").fit(X, y)
        model.with_decoder("shortlist").save(folder / name)
        arguments = ["predict", str(folder / name), str(folder / file)]
        commands[f"dsnc predict, one {name}"] = [*_command_line(), *arguments]
    (folder / "texts.txt").write_text("word1 thing\n" * MANY)
    arguments = ["predict", str(folder / "text"), str(folder / "texts.txt")]
    commands[f"dsnc predict, {MANY:,} texts"] = [*_command_line(), *arguments]
    return commands


def _start(command: list[str], environment: dict[str, str]) -> Callable[[], float]:
    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command_line = [sys.executable, *command]
        subprocess.run(command_line, check=True, stdout=subprocess.DEVNULL, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return seconds


def _least(starts: dict[str, Callable[[], float]]) -> dict[str, float]:
    for start in starts.values():
        start()  # fills the caches
    best = dict.fromkeys(starts, float("inf"))
    for _ in range(ROUNDS):
        for name, start in starts.items():
            best[name] = min(best[name], start())
    return best


if __name__ == "__main__":
    main()
