"""The settings of a service, checked."""

import functools
import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from dsnc.checks import one_of, real, whole
from dsnc.errors import InputError
from dsnc.serve.limits import Limits

PREDICT, CHANGE = ROLES = "predict", "change"
_LEAST_TOKEN = 16  # characters: shorter ones can be guessed
_PORT = re.compile(r":[0-9]+$")


@dataclass(frozen=True, kw_only=True)
class ServeSettings(Limits):
    """Everything that can be set about a service.

    Parameters
    ----------
    models : dict of str to Path
        The folder of each model, by the name that it has in addresses.
    host, port : str and int, default "127.0.0.1" and 8000
        Where to listen. Port 0 chooses a free one.
    workers : int, default 1
        Number of processes.
    tokens : dict of str to str, default {}
        What the bearer of each token may do: "predict", or "change", which includes it. Every
        request must have one of these tokens, except for those about health and for the files of
        the page. Without tokens, all requests for predictions are answered.
    allowed_hosts : tuple of str, default ()
        Names by which clients may call the service, besides ``localhost``, `host` and addresses
        of digits; ``*`` allows all. Checked where there are no tokens: otherwise any page in a
        browser could give its own name to this machine, and ask.
    drain : float, default 0.5
        For how many seconds the service still answers when it was told to stop, while it says that
        it is not ready: so that a load balancer can send its clients elsewhere.
    read_only : bool, default False
        Whether to refuse changes of classes. Without tokens, they are always refused.
    access_log : bool, default True
        Whether to write a line for each request on stderr.

    All limits of `Limits` are settings, too.
    """

    models: dict[str, Path]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    tokens: dict[str, str] = field(default_factory=dict, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    drain: float = 0.5
    read_only: bool = False
    access_log: bool = True

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        if not self.models:
            raise InputError("models is empty; name at least one folder of a trained model.")
        whole("port", self.port, 0, 65535)
        whole("workers", self.workers)
        real("drain", self.drain)
        for role in self.tokens.values():
            one_of("tokens", role, ROLES)

    @property
    def why_fixed(self) -> str | None:
        """Why classes may not be changed; None if they may."""
        if self.read_only:
            return "The service is read-only; start it without --read-only to change classes."
        if not self.tokens:
            return "Changing classes needs a token; start the service with --token-file FILE."
        return None

    def role_of(self, authorization: str) -> str | None:
        """Return what the bearer of an ``Authorization`` header may do, found in constant time."""
        if not self.tokens:
            return PREDICT
        scheme, _, given = authorization.partition(" ")
        digest = _digest(given.strip())
        found = [
            role
            for token, role in self.tokens.items()
            if hmac.compare_digest(digest, _digest(token))
        ]
        return found[0] if found and scheme.lower() == "bearer" else None

    def is_called(self, host: str) -> bool:
        """Tell whether a ``Host`` header has a name of this service."""
        if self.tokens or "*" in self.allowed_hosts:
            return True
        name = _PORT.sub("", host).strip("[]").rstrip(".").lower()
        return name in (self.host.lower(), *self.allowed_hosts) or _is_local(name)


@functools.lru_cache(1024)
def _is_local(name: str) -> bool:
    """Tell whether no page of a stranger can have such a name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in ("", "localhost") or name.endswith(".localhost")
    return True


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


def read_tokens(path: Path) -> dict[str, str]:
    """Read tokens from a file, one per line, and what their bearers may do.

    ``predict`` behind a token lets it ask, and change nothing; ``change``, or nothing, lets it do
    both. Empty lines, and those that begin with ``#``, are ignored. With two tokens, a new one can
    be handed out before the old one is removed.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise InputError(f"token_file={str(path)!r} cannot be read ({reason}).") from None
    tokens = {}
    for line in filter(None, map(str.strip, lines)):
        if line[0] != "#":
            token, _, role = line.rpartition(" ")
            is_role = bool(token) and role in ROLES
            tokens[token.strip() if is_role else line] = role if is_role else CHANGE
    how = f"write one with: openssl rand -hex 32 > {path}"
    if not tokens:
        raise InputError(f"token_file={str(path)!r} holds no token; {how}")
    if min(map(len, tokens)) < _LEAST_TOKEN:  # which one is not said: it is a secret
        raise InputError(
            f"token_file={str(path)!r} holds a token of fewer than {_LEAST_TOKEN} characters; {how}"
        )
    return tokens
