"""A model that is served: read whole, and tried out."""

import contextlib
import hashlib
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

import dsnc
from dsnc.codes import HammingIndex, PackedCodes
from dsnc.errors import DsncError, InputError, ModelFileError
from dsnc.files import copy_plain
from dsnc.inspection.meaning import class_codes
from dsnc.model import CodeModel, CodeSetModel, SetModel, read_fitted, takes_text
from dsnc.persistence.layout import ARRAYS_FILE, HEADER_FILE

_FILES = (HEADER_FILE, ARRAYS_FILE)
_VERSION = 16  # hexadecimal digits
_TEXT = "bücher"  # not ASCII: it makes the table of all characters, too

Identity = tuple[tuple[int, int, int, int], ...]


@dataclass(frozen=True)
class Served:
    """A model, as it was when it was read.

    Its name is that in addresses. The version is the beginning of the SHA-256 of ``model.json``,
    which has that of the arrays; the identity changes when the folder does.
    """

    name: str
    path: Path
    model: Any
    version: str
    identity: Identity

    @classmethod
    def read(cls, name: str, path: Path, written: str = "") -> Self:
        """Read a model and predict with it, so that no client waits for what the first takes.

        Arrays are mapped from a copy, which has no name any more when this returns: whatever
        happens to the folder, even if its files are cut while they are read, is nothing to us.
        If it still holds the version that we have just `written`, its checksum is right.
        """
        identity = identity_of(path)
        with tempfile.TemporaryDirectory(prefix="dsnc-serve-") as aside:
            copy = Path(aside) / "model"
            copy.mkdir()
            try:
                for file in _FILES:
                    copy_plain(path / file, copy / file)
                version = version_of(copy)
                is_ours = version == written and identity_of(path) == identity
                model = read_fitted(copy, verify=not is_ours) or dsnc.load(copy)
            except OSError as error:
                raise _unreadable(path, error) from None
            except DsncError as error:
                raise InputError(str(error).replace(str(copy), str(path))) from None
            served = cls(name, path, model, version, identity)
            served.try_out()
        return served

    def try_out(self) -> None:
        """Predict in all ways that clients may ask for: what is made at its first use is there."""
        some: list[Any]
        if self.takes_text:
            record = self.model.records.example
            text = _TEXT if self.takes_lines else {k: _filled(value) for k, value in record.items()}
            some = [[text], [text] * 300]
        else:
            some = [sp.csr_matrix((n, self.n_features), dtype=np.float32) for n in (1, 300)]
            some += [X.toarray() for X in some]
        for X in some:
            self.model.predict(X)
            self.model.predict_top_k(X, k=min(2, self.n_classes))
            if self.model._novelty is not None:
                self.model.is_unknown(X)
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
    def takes_lines(self) -> bool:
        """Whether a text alone may be a row."""
        return self.takes_text and self.model.records.takes_lines

    @cached_property
    def n_features(self) -> int:
        """Numbers of a row."""
        return int(self.model.n_features_in_)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.model.classes_)

    @property
    def is_open(self) -> bool:
        """Whether classes can come and go."""
        return self.model.kind in (CodeModel.kind, CodeSetModel.kind)

    @property
    def explains(self) -> bool:
        """Whether it has codes, which can be explained."""
        return hasattr(self.model, "explain")

    @cached_property
    def codes(self) -> PackedCodes | None:
        """The codes of the classes, if they have some."""
        try:
            return class_codes(self.model)
        except (DsncError, AttributeError):
            return None

    @cached_property
    def index(self) -> HammingIndex:
        """Finds the nearest of them."""
        return HammingIndex(self.codes)  # type: ignore[arg-type]

    @cached_property
    def names(self) -> list[str]:
        """The labels of the classes as texts, in lower case."""
        return [str(label).casefold() for label in self.model.classes_.tolist()]


def _filled(value: Any) -> Any:
    return value.replace("...", _TEXT) if isinstance(value, str) else value


def identity_of(path: Path) -> Identity:
    """Return what changes when one of the files does; empty where they are not all there."""
    try:
        found = [(path / file).stat() for file in _FILES]
    except OSError:
        return ()
    return tuple((s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in found)


def version_of(path: Path) -> str:
    """Return the version of the model in a folder."""
    return hashlib.sha256((path / HEADER_FILE).read_bytes()).hexdigest()[:_VERSION]


def _unreadable(path: Path, error: OSError) -> ModelFileError:
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        return ModelFileError.at(path, what, expected="the folder that dsnc train -o wrote")
    return ModelFileError.at(path, f"cannot be read ({error.strerror or error})")
