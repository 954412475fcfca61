"""Trials in processes of their own: who crashes, hangs or takes too much is known by its number.

A worker is forked from a warm parent, so that it has everything imported. It says which trial it
begins before it does; when it dies or says nothing for too long, that trial is to blame, and
another worker goes on behind it.
"""

import faulthandler
import json
import os
import random
import resource
import select
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from dsnc.errors import DsncError
from memory import now, peak

WORKS, REFUSED, FAILED = "works", "refused", "FAILED"
_PER_WORKER = 2000  # trials, so that nothing that piles up in one counts
_FRAMES = 3  # of a failure's traceback that are kept


class Limits(NamedTuple):
    """What one trial may take."""

    seconds: float = 10.0
    megabytes: int = 512  # of addresses, above those of a warm process


class Outcome(NamedTuple):
    """What a trial came to."""

    number: int
    what: str  # WORKS, REFUSED or FAILED
    detail: str  # the case, and how it failed
    seconds: float  # of the processor
    megabytes: float  # of resident memory, above that before


class Verdict(NamedTuple):
    """What a trial says of itself when nothing went wrong."""

    what: str
    detail: str = ""


class WrongError(Exception):
    """A trial found something that must not be, such as a probability that is no number."""


Trial = Callable[[random.Random], Verdict]


class Memory:
    """What a model folder may take until it is refused or answers: 100 MB, and 10 times its size.

    It begins when this is made.
    """

    def __init__(self, folder: Path) -> None:
        size = sum(file.stat().st_size for file in folder.iterdir())
        self._most, self._before = 100 + 10e-6 * size, now()

    def check(self) -> None:
        """Raise an error if it was more."""
        if (taken := peak() - self._before) > self._most:
            raise WrongError(f"takes {taken:.0f} MB, more than {self._most:.0f}")


def dice_of(seed: int, number: int) -> random.Random:
    """Return the random numbers of one trial."""
    return random.Random(f"{seed} {number}")


def run_trials(
    trial: Trial, seed: int, numbers: range, limits: Limits, deadline: float = float("inf")
) -> Iterator[Outcome]:
    """Try all numbers, or as many as there is time for; yield what each came to."""
    following = numbers.start
    while following < numbers.stop and time.monotonic() < deadline:
        some = range(following, min(numbers.stop, following + _PER_WORKER))
        for outcome in _one_worker(trial, seed, some, limits, deadline):
            following = outcome.number + 1
            yield outcome


def _one_worker(
    trial: Trial, seed: int, numbers: range, limits: Limits, deadline: float
) -> Iterator[Outcome]:
    """Let one worker try numbers until it has done all of them, or dies."""
    with tempfile.TemporaryFile("w+") as stack:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _work(trial, seed, numbers, limits, writing, stack)
        os.close(writing)
        begun, start, ended = None, time.monotonic(), False
        try:
            with os.fdopen(reading, "rb") as pipe:
                for line in _lines(pipe, limits.seconds):
                    message = json.loads(line)
                    if isinstance(message, int):
                        if time.monotonic() > deadline:
                            return
                        begun, start = message, time.monotonic()
                        continue
                    begun = None
                    yield Outcome(*message)
                    ended = message[0] == numbers[-1]
            if not ended and begun is None:
                raise RuntimeError("a worker ended between two trials")
        finally:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
        if begun is not None:
            seconds = time.monotonic() - start
            stack.seek(0)
            yield Outcome(begun, FAILED, _why_dead(status, stack.read()), seconds, 0.0)


def _lines(pipe: IO[bytes], seconds: float) -> Iterator[bytes]:
    """Yield lines as they come, until there are no more, or none has come for so long."""
    rest = b""
    while select.select([pipe], [], [], seconds)[0]:
        data = os.read(pipe.fileno(), 1 << 16)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines


def _why_dead(status: int, stack: str) -> str:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGKILL:
        return "hang"
    name = signal.Signals(number).name if number else f"exit {os.waitstatus_to_exitcode(status)}"
    frames = [line.strip() for line in stack.splitlines() if line.startswith("  File")]
    return f"crash: {name} {' < '.join(frames[:_FRAMES])}"


def _work(
    trial: Trial, seed: int, numbers: range, limits: Limits, pipe: int, stack: IO[str]
) -> None:
    """Be the worker, and never return."""
    faulthandler.enable(stack)
    faulthandler.dump_traceback_later(limits.seconds * 0.9, file=stack)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = _addresses() + (limits.megabytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        for number in numbers:
            faulthandler.cancel_dump_traceback_later()
            os.write(pipe, b"%d\n" % number)
            outcome = one_trial(trial, seed, number)
            os.write(pipe, json.dumps(outcome).encode() + b"\n")
    except BaseException:
        traceback.print_exc()
        os._exit(3)
    os._exit(0)


def _addresses() -> int:
    """Return the bytes of addresses that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def one_trial(trial: Trial, seed: int, number: int) -> Outcome:
    """Try one number, here and now."""
    before, start = now(), time.process_time()
    try:
        verdict = trial(dice_of(seed, number))
    except BaseException as error:
        verdict = Verdict(FAILED, described(error))
    return Outcome(number, *verdict, time.process_time() - start, peak() - before)


def refusal(error: BaseException, kinds: tuple[type[DsncError], ...]) -> str | None:
    """Return the words of an error of one of these kinds that nothing worse has caused."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            return None
        cause = cause.__cause__
    return str(error) if isinstance(error, kinds) else None


def described(error: BaseException) -> str:
    """Say in one line what was raised and where, so that the same failures look the same."""
    frames: list[Any] = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    where = " > ".join(f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in frames)
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    cause = "" if root is error else f" because of {type(root).__name__}"
    return f"{type(error).__name__}{cause}: {str(error)[:200]} [{where}]"
