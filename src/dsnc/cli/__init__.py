"""The command line: ``dsnc train | evaluate | predict | encode | inspect | data | ...``.

Commands import what they need when they run, so that ``dsnc --help`` is quick. Results go to
stdout, everything else to stderr; 0 is success, 1 a failure, 2 a wrong use.
"""

from typing import Any

from dsnc.cli.root import main, make_app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """Return `app`, the whole command line, which takes all of its commands to make."""
    if name != "app":
        raise AttributeError(f"module 'dsnc.cli' has no attribute {name!r}")
    globals()[name] = make_app()
    return globals()[name]
