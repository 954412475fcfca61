"""The memory of a process in MB; standard library only, so that any environment can ask.

Linux only: elsewhere the peak of a process cannot be forgotten, and both functions say "nan".
"""

import re
from pathlib import Path

_PROCESSES = Path("/proc")


def now(process: int | str = "self") -> float:
    """Return the resident memory at this moment, and forget the peak so far."""
    if not _PROCESSES.exists():
        return float("nan")
    (_PROCESSES / str(process) / "clear_refs").write_text("5")
    return _status(process, "VmRSS")


def peak(process: int | str = "self") -> float:
    """Return the most that it has been since the last call of ``now()``."""
    return _status(process, "VmHWM") if _PROCESSES.exists() else float("nan")


def _status(process: int | str, field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+)", (_PROCESSES / str(process) / "status").read_text())
    return int(found[1]) * 1.024e-3 if found else float("nan")
