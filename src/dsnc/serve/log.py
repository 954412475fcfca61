"""The log of a service: a line of JSON on stderr for each request and each event."""

import json
import logging
import os
import time
import traceback
from datetime import UTC, datetime
from typing import Any

_STDERR = 2


class Log:
    """Writes whole lines: those of several workers do not mix."""

    def __init__(self) -> None:
        self._is_torn = False  # whether the last line that was written is half a one

    def note(self, event: str, **facts: Any) -> None:
        """Write what happened; any thread may."""
        self.write([line(time.time(), event, facts)])

    def write(self, lines: list[str]) -> None:
        """Write lines, all at once."""
        data = b"\n" * self._is_torn + "".join(lines).encode()
        try:
            while data:
                n_bytes = os.write(_STDERR, data)
                self._is_torn = data[n_bytes - 1 : n_bytes] != b"\n"
                data = data[n_bytes:]
        except OSError:
            pass  # nobody reads it, or the disk is full: a service goes on


def line(when: float, event: str, facts: dict[str, Any]) -> str:
    """Return a line about what happened."""
    stamp = datetime.fromtimestamp(when, UTC).isoformat(timespec="milliseconds")
    return f"{json.dumps({'time': stamp.replace('+00:00', 'Z'), 'event': event, **facts})}\n"


class _Remarks(logging.Handler):
    """What the HTTP server says, as lines of ours."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, str] = {}
        if record.exc_info and record.exc_info[1] is not None:
            facts["traceback"] = "".join(traceback.format_exception(record.exc_info[1]))
        self._log.note(record.getMessage().strip(), level=record.levelname.lower(), **facts)


def keep_remarks(log: Log) -> None:
    """Let the log have what uvicorn says that is worth knowing."""
    logger = logging.getLogger("uvicorn")
    logger.handlers, logger.propagate = [_Remarks(log)], False
    logger.setLevel(logging.WARNING)
