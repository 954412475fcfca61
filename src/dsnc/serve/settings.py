"""The settings of a service, checked."""

import hashlib
import hmac
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dsnc.checks import real, whole
from dsnc.errors import InputError, did_you_mean

_LEAST_TOKEN = 16  # characters: shorter ones can be guessed


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """Everything that can be set about a service.

    Parameters
    ----------
    models : dict of str to Path
        The folder of each model, by the name that it has in addresses.
    host, port : str and int, default "127.0.0.1" and 8000
        Where to listen. Port 0 chooses a free one.
    workers : int, default 1
        Number of processes.
    tokens : tuple of str, default ()
        Every request must have one of these tokens, except for those about health and for the files
        of the page. Without tokens, all requests are answered.
    max_body : int, default 32 MiB
        The most bytes of a request, after decompression.
    max_rows : int, default 100000
        The most rows of a request. Streams are bound by neither of these two limits.
    max_seconds : float, default 30.0
        The most time for a request, from its first byte to the last one of its answer. For a
        stream, the longest pause.
    max_in_flight : int, default 64
        The most requests that a worker handles at a time.
    read_only : bool, default False
        Whether to refuse changes of classes. Without tokens, they are always refused.
    access_log : bool, default True
        Whether to write a line for each request on stderr.
    """

    models: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    tokens: tuple[str, ...] = field(default=(), repr=False)
    max_body: int = 32 << 20
    max_rows: int = 100_000
    max_seconds: float = 30.0
    max_in_flight: int = 64
    read_only: bool = False
    access_log: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        if not self.models:
            raise InputError("models is empty; name at least one folder of a trained model.")
        whole("port", self.port, 0, 65535)
        for name in ("workers", "max_body", "max_rows", "max_in_flight"):
            whole(name, getattr(self, name))
        real("max_seconds", self.max_seconds, above=True)

    @property
    def why_fixed(self) -> str | None:
        """Why classes may not be changed; None if they may."""
        if self.read_only:
            return "The service is read-only; start it without --read-only to change classes."
        if not self.tokens:
            return "Changing classes needs a token; start the service with --token-file FILE."
        return None

    def lets_in(self, authorization: str) -> bool:
        """Return whether an ``Authorization`` header has one of the tokens, in constant time."""
        if not self.tokens:
            return True
        scheme, _, given = authorization.partition(" ")
        digest = _digest(given.strip())
        found = [hmac.compare_digest(digest, _digest(token)) for token in self.tokens]
        return any(found) and scheme.lower() == "bearer"


def _digest(token: str) -> bytes:
    """Return a token as bytes of one length, so that not even that can be told by the time."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def named_models(folders: Iterable[str | os.PathLike[str]]) -> dict[str, Path]:
    """Return folders by their names; two folders with the same name are an error.

    Examples
    --------
    >>> list(named_models(["models/jobs", "models/products"]))
    ['jobs', 'products']
    """
    named: dict[str, Path] = {}
    for folder in folders:
        path = Path(os.path.abspath(folder))
        if path.name in named:
            raise InputError(
                f"{os.fspath(folder)!r} and {os.fspath(named[path.name])!r} are both called "
                f"{path.name!r}, and addresses contain that name; rename one of the folders."
            )
        named[path.name] = path
    return named


def read_tokens(path: Path) -> tuple[str, ...]:
    """Read tokens from a file, one per line.

    Empty lines, and those that begin with ``#``, are ignored. With two tokens, a new one can be
    handed out before the old one is removed.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"token_file={str(path)!r} cannot be read ({reason}).") from None
    tokens = tuple(line.strip() for line in lines if line.strip() and line.strip()[0] != "#")
    how = f"write one with: openssl rand -hex 32 > {path}"
    if not tokens:
        raise InputError(f"token_file={str(path)!r} holds no token; {how}")
    if min(map(len, tokens)) < _LEAST_TOKEN:  # which one is not said: it is a secret
        raise InputError(
            f"token_file={str(path)!r} holds a token of fewer than {_LEAST_TOKEN} characters; {how}"
        )
    return tokens


def unknown_model(name: str, known: Iterable[str]) -> str:
    """Return what is said to who asks for a model that is not there."""
    names = sorted(known)
    return f"There is no model {name!r}.{did_you_mean(name, names)} Known: {', '.join(names)}."
