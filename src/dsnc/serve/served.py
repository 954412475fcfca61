"""Models that are served: read whole, warmed up, replaced in one step when their folder is."""

import asyncio
import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

import dsnc
from dsnc.errors import DsncError, InputError, ModelFileError
from dsnc.model import SetModel, read_fitted, takes_text
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE
from dsnc.serve.bodies import Rows
from dsnc.serve.refusals import Refused
from dsnc.serve.settings import unknown_model

_FILES = (HEADER_FILE, ARRAYS_FILE)
_VERSION = 16  # hexadecimal digits
_AGAIN = 15.0  # seconds until a folder that cannot be read is tried again
_EVERY = 1.0  # seconds between two looks at a folder
_WARM = "warm up"

Identity = tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class Served:
    """A model, as it was when it was read.

    Parameters
    ----------
    name : str
        In addresses.
    path : Path
        Its folder.
    model : FittedModel
    version : str
        The beginning of the SHA-256 of ``model.json``, which has that of the arrays.
    identity : Identity
        What changes when the folder does.
    """

    name: str
    path: Path
    model: Any
    version: str
    identity: Identity

    @classmethod
    def read(cls, name: str, path: Path) -> Self:
        """Read a model and predict with it, so that its kernels are compiled and loaded.

        Arrays are mapped from a copy, which has no name any more when this returns: whatever
        happens to the folder, even if its files are cut while they are read, is nothing to us.
        """
        identity = identity_of(path)
        with tempfile.TemporaryDirectory(prefix="dsnc-serve-") as aside:
            copy = Path(aside) / "model"
            copy.mkdir()
            try:
                for file in _FILES:
                    shutil.copyfile(path / file, copy / file)
                version = hashlib.sha256((copy / HEADER_FILE).read_bytes()).hexdigest()[:_VERSION]
                model = read_fitted(copy) or dsnc.load(copy)
            except OSError as error:
                raise _unreadable(path, error) from None
            except DsncError as error:
                raise InputError(str(error).replace(str(copy), str(path))) from None
            served = cls(name, path, model, version, identity)
            served.warm_up()
        return served

    def warm_up(self) -> None:
        """Predict a row, or a few, in all ways that clients may ask for."""
        some: list[Any] = [np.zeros((n, self.n_features), np.float32) for n in (1, 300)]
        some += [X.astype(np.float64) for X in some]
        some += [sp.csr_matrix(X) for X in some]
        if self.takes_text:
            some = [[_WARM], [_WARM] * 300]
        for X in some:
            self.model.predict(X)
            self.model.predict_top_k(X, k=min(2, self.n_classes))
        if self.explains:
            with contextlib.suppress(DsncError):  # of a decoder that cannot be explained
                self.model.explain(some[0])

    @cached_property
    def has_sets(self) -> bool:
        """Whether a row has a set of labels."""
        return isinstance(self.model, SetModel)

    @cached_property
    def takes_text(self) -> bool:
        """Whether rows may be texts."""
        return takes_text(self.model)

    @cached_property
    def n_features(self) -> int:
        """Numbers of a row."""
        return int(self.model.n_features_in_)

    @cached_property
    def introduction(self) -> str:
        """The beginning of an answer in JSON."""
        return json.dumps({"model": self.name, "version": self.version})[:-1]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.model.classes_)

    @property
    def explains(self) -> bool:
        """Whether it has codes, which can be explained."""
        return hasattr(self.model, "explain")

    def rows(self, most: int) -> Rows:
        """Return what gathers rows for it."""
        return Rows(takes_text=self.takes_text, n_features=self.n_features, most=most)


class Models(Mapping[str, Served]):
    """All models by name; whoever has taken one keeps it, also when another has its place."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._served = {name: Served.read(name, path) for name, path in folders.items()}

    def __getitem__(self, name: str) -> Served:
        """Return a model, or refuse the request."""
        served = self._served.get(name)
        if served is None:
            raise Refused(404, unknown_model(name, self._served))
        return served

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._served)

    def __len__(self) -> int:
        """Return the number of models."""
        return len(self._served)

    def only(self) -> Served:
        """Return the model, where there is one."""
        if len(self._served) > 1:
            places = ", ".join(f"/models/{name}/predict" for name in self._served)
            raise Refused(404, f"Several models are served; ask one of {places}.")
        return next(iter(self._served.values()))

    async def watch(self, note: Callable[..., None], every: float = _EVERY) -> None:
        """Look after the folders for ever; one that has changed is read, and takes the place.

        A folder that cannot be read, as while it is copied, is tried again when it changes, and
        after a while: the disk may have been full.
        """
        failed: dict[str, tuple[Identity, float]] = {}
        while True:
            await asyncio.sleep(every)
            for name, served in list(self._served.items()):
                identity, now = identity_of(served.path), time.monotonic()
                before, when = failed.get(name, ((), 0.0))
                if identity in ((), served.identity) or (identity == before and now < when):
                    continue
                try:
                    new = await asyncio.to_thread(Served.read, name, served.path)
                except Exception as error:  # whatever it is, the model that is there goes on
                    failed[name] = identity, now + _AGAIN
                    note("not reloaded", model=name, error=str(error))
                    continue
                self._served[name] = new
                note("reloaded", model=name, version=new.version)


def identity_of(path: Path) -> Identity:
    """Return what changes when one of the files does; empty where they are not all there."""
    try:
        found = [(path / file).stat() for file in _FILES]
    except OSError:
        return ()
    return tuple((s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in found)


def _unreadable(path: Path, error: OSError) -> ModelFileError:
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        return ModelFileError.at(path, what, expected="the folder that dsnc train -o wrote")
    return ModelFileError.at(path, f"cannot be read ({error.strerror or error})")
