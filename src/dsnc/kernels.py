"""Whether compiled kernels are worth loading: for a line or two, numpy is done before they are.

Who may want little in all (`dsnc predict` of a small file) says so with `deferred`. Inside, whoever
has a kernel and a plain twin of it asks `can_wait`, with the seconds that the twin would take. They
are paid from one allowance, about what loading the kernels takes: when it does not suffice, kernels
do all the rest. So nothing takes much longer than the better of both ways.
"""

from collections.abc import Iterator
from contextlib import contextmanager

ALLOWANCE = 0.4  # seconds
_left = 0.0


@contextmanager
def deferred(seconds: float = ALLOWANCE) -> Iterator[None]:
    """Let kernels wait until their twins have taken so long, in all threads of the process."""
    global _left
    _left = seconds
    try:
        yield
    finally:
        _left = 0.0


def are_deferred() -> bool:
    """Tell whether kernels may wait at all."""
    return _left > 0


def can_wait(seconds: float) -> bool:
    """Tell whether the kernels can wait, and pay for their twins."""
    global _left
    _left -= seconds
    return _left > 0
