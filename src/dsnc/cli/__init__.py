"""The command line: ``dsnc train | evaluate | predict | encode | inspect | data | ...``.

Commands import what they need when they run, so that ``dsnc --help`` is quick. Results go to
stdout, everything else to stderr; 0 is success, 1 a failure, 2 a wrong use.
"""

from dsnc.cli.root import app, main

__all__ = ["app", "main"]
