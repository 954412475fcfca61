"""Requests that are not answered as they were meant, and what is said instead."""

from collections.abc import Mapping


class Refused(Exception):
    """A request that gets an error; what it says is for the client."""

    def __init__(
        self, status: int, message: str, headers: Mapping[bytes, bytes] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class Gone(Exception):
    """The client has hung up."""


def busy(what: str) -> Refused:
    """Return the refusal of a server that has too much to do."""
    return Refused(503, f"{what} Try again in a second.", {b"retry-after": b"1"})


def too_many(what: str) -> Refused:
    """Return the refusal of a request that is one too many."""
    return Refused(429, f"{what} Try again in a second.", {b"retry-after": b"1"})


def too_large(what: str) -> Refused:
    """Return the refusal of a request that is too large."""
    return Refused(413, what)
