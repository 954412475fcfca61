"""A checkpoint restores the run, not only the weights.

It holds the state of model, optimizer, schedule and history at the end of an epoch, and a
fingerprint of data and settings. Since an epoch's random numbers depend on the seed and its number
alone, a run that is killed anywhere and resumed ends with the same bits as one that was not.
"""

import contextlib
import hashlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, Any, ClassVar, Self

from dsnc.errors import CheckpointError
from dsnc.files import whole_file, why
from dsnc.training.examples import Examples, fingerprint
from dsnc.training.settings import FREE, RunSettings

FILES = {"torch": "checkpoint.pt", "fast": "checkpoint.safetensors"}
"""Trainer to the name of its file in the folder."""
_ASIDE = ".checkpoint"
_ATTEMPTS = 10


class Checkpoint(ABC):
    """The one checkpoint of a run, in a folder that is made if missing.

    The fingerprint says what the run is: a checkpoint of another run is refused.
    """

    trainer: ClassVar[str]

    def __init__(self, folder: str | os.PathLike[str], fingerprint: str) -> None:
        self.path = Path(folder) / FILES[self.trainer]
        self._fingerprint = fingerprint

    @classmethod
    def of_run(
        cls,
        settings: RunSettings,
        seed: int,
        n_classes: int,
        examples: Examples,
        validation: Examples | None,
    ) -> Self | None:
        """Return the checkpoint that the settings ask for; None if they do not."""
        if settings.checkpoint is None:
            return None
        kept = {k: repr(v) for k, v in vars(settings).items() if k not in FREE}
        data = [fingerprint(part) for part in (examples, validation) if part is not None]
        text = f"{kept} {seed} {n_classes} {data}"
        return cls(settings.checkpoint, hashlib.sha256(text.encode()).hexdigest())

    @abstractmethod
    def _write(self, state: dict[str, Any], file: IO[bytes]) -> None:
        """Write a state to a file."""

    @abstractmethod
    def _read(self) -> dict[str, Any]:
        """Return the state in the file; a damaged one fails in any way it likes."""

    def save(self, state: dict[str, Any]) -> None:
        """Write the state aside and rename it: there is always one complete checkpoint."""
        try:
            for attempt in range(_ATTEMPTS):
                try:
                    self._put({"fingerprint": self._fingerprint, **state})
                    break
                except FileNotFoundError:  # another process of this run took it for left behind
                    if attempt == _ATTEMPTS - 1:
                        raise
        except (OSError, RuntimeError) as error:  # torch reports a full disk as RuntimeError
            with contextlib.suppress(OSError):  # it is empty: there is no previous one
                self.path.parent.rmdir()
            raise CheckpointError(
                f"The checkpoint in {self.path.parent} cannot be written {why(error)}; the "
                "previous checkpoint, if any, is intact."
            ) from error

    def _put(self, state: dict[str, Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(self.path, durable=True) as file:
            self._write(state, file)
        for left in self.path.parent.glob(f"{_ASIDE}*"):  # by a run that was killed
            left.unlink(missing_ok=True)

    def load(self) -> dict[str, Any] | None:
        """Return the state, or None if there is none yet."""
        try:
            self._refuse_others()
            if not self.path.exists():
                return None
        except PermissionError as error:
            raise CheckpointError(
                f"checkpoint={str(self.path.parent)!r} cannot be read ({error}). Choose "
                "another folder."
            ) from error
        try:
            state = self._read()
            fingerprint = state.pop("fingerprint")
        except Exception as error:
            raise CheckpointError(
                f"{self.path} is damaged or not a checkpoint ({type(error).__name__}). "
                "Delete it to start the run from scratch."
            ) from error
        if fingerprint != self._fingerprint:
            raise CheckpointError(
                f"{self.path} belongs to a run with other data or settings, or from another "
                "version. Choose another folder for this run, or delete it to start from scratch."
            )
        return state

    def _refuse_others(self) -> None:
        for trainer, name in FILES.items():
            other = self.path.parent / name
            if other != self.path and other.exists():
                raise CheckpointError(
                    f"{other} belongs to a run with trainer={trainer!r}, but this run has "
                    f"{self.trainer!r}. Continue with trainer={trainer!r}, choose another folder, "
                    "or delete it to start from scratch."
                )
