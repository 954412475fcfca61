"""The cache folder: downloads and generated data live under one roof."""

import os
from pathlib import Path


def home() -> Path:
    """Return ``$DSNC_HOME``, or the user's cache folder; nothing is created."""
    if chosen := os.environ.get("DSNC_HOME"):
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "dsnc"
