"""The memory of this process in MB; standard library only, so that any environment can ask.

Linux only: elsewhere the peak of a process cannot be forgotten, and both functions say "nan".
"""

import re
from pathlib import Path

_PROCESS = Path("/proc/self")


def now() -> float:
    """Return the resident memory at this moment, and forget the peak so far."""
    if not _PROCESS.exists():
        return float("nan")
    (_PROCESS / "clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> float:
    """Return the most that it has been since the last call of ``now()``."""
    return _status("VmHWM") if _PROCESS.exists() else float("nan")


def _status(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+)", (_PROCESS / "status").read_text())
    return int(found[1]) * 1.024e-3 if found else float("nan")
