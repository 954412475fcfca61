"""What a request may cost: each limit is one rule, and stands here; and what is said beyond it."""

from collections.abc import Mapping
from dataclasses import dataclass

from dsnc.checks import real, whole

_PAUSE, _LEAST_RATE = 5.0, 1 << 10  # seconds, and bytes a second, of a body that comes slowly
_HELD = 4  # times max_body that all bodies may take together
_DENSE = 1 << 20  # bytes; what was packed may hold as many values as fit into so many


class Refused(Exception):
    """A request that gets an error; what it says is for the client."""

    def __init__(
        self, status: int, message: str, headers: Mapping[bytes, bytes] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class Gone(Exception):
    """The client has hung up."""


def busy(what: str, status: int = 503) -> Refused:
    """Return the refusal of a server that has too much to do."""
    return Refused(status, f"{what} Try again in a second.", {b"retry-after": b"1"})


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a request, and of all requests of a worker together.

    Parameters
    ----------
    max_body : int, default 32 MiB
        The most bytes of a request, after decompression.
    max_rows : int, default 100000
        The most rows of a request.
    max_answers : int, default 1000000
        The most labels that a request is answered with: rows times `top_k`.
    max_seconds : float, default 30.0
        The most time for a request, from its first byte to the last one of its answer. For a
        stream, the longest pause.
    max_in_flight : int, default 64
        The most requests that a worker answers at a time. One whose body is still coming does not
        count.

    A stream of lines may have any number of bytes and rows: its memory does not grow with them.
    """

    max_body: int = 32 << 20
    max_rows: int = 100_000
    max_answers: int = 1_000_000
    max_seconds: float = 30.0
    max_in_flight: int = 64

    def __post_init__(self) -> None:
        """Check the limits themselves."""
        for name in ("max_body", "max_rows", "max_answers", "max_in_flight"):
            whole(name, getattr(self, name))
        real("max_seconds", self.max_seconds, above=True)

    def body_ends(self, begin: float, now: float, n_bytes: int) -> float:
        """Return when more of a body must have come, given how much has come until now."""
        slow = begin + _PAUSE + n_bytes / _LEAST_RATE
        return min(begin + self.max_seconds, now + _PAUSE, slow)

    def check_body(self, n_bytes: int, what: str = "The body") -> None:
        """Refuse a body, or a line of a stream, that is too large."""
        if n_bytes > self.max_body:
            raise Refused(413, f"{what} is larger than {self.max_body:,} bytes.")

    def check_values(self, text: bytes, n_sent: int) -> None:
        """Refuse more values than the bytes that were sent could hold if they were not packed.

        While JSON is parsed, all others wait, as long as its values take and not its bytes.
        """
        most = max(_DENSE, n_sent)
        if len(text) > most and text.count(b",") > most // 2:
            raise Refused(
                413, "The body holds too many values for its size; send it in parts, or unpacked."
            )

    def check_held(self, n_bytes: int) -> None:
        """Refuse what does not fit beside the bodies that are in memory now."""
        if n_bytes > _HELD * self.max_body:
            raise busy("Too many large requests are being read.")

    def check_rows(self, n_rows: int) -> None:
        """Refuse too many rows."""
        if n_rows > self.max_rows:
            said = f"The request has more than {self.max_rows:,} rows; send fewer at a time."
            raise Refused(413, said)

    def check_answers(self, n_labels: int) -> None:
        """Refuse an answer of too many labels."""
        if n_labels > self.max_answers:
            raise Refused(
                413,
                f"The answer would have {n_labels:,} labels, and may have {self.max_answers:,}; "
                "send fewer rows at a time, or ask for a smaller top_k.",
            )

    def check_in_flight(self, n_requests: int) -> None:
        """Refuse a request that is one too many."""
        if n_requests > self.max_in_flight:
            raise busy("Too many requests are being answered.", 429)
