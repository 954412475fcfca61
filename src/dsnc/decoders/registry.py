"""All decoders by name, and what a user may ask for: a name, a name with settings, or a decoder."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from dsnc.decoders.base import Decoder
from dsnc.decoders.codebook import CodebookDecoder
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.nearest import NearestDecoder
from dsnc.decoders.scores import ScoresDecoder
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder
from dsnc.decoders.table import TableDecoder
from dsnc.errors import InputError, unknown_name

DECODERS: dict[str, type[Decoder]] = {
    "linear": LinearDecoder,
    "codebook": CodebookDecoder,
    "scores": ScoresDecoder,
    "soft": SoftDecoder,
    "nearest": NearestDecoder,
    "table": TableDecoder,
    "shortlist": ShortlistDecoder,
}
AUTO = "auto"  # the best one for the data


class Wanted(NamedTuple):
    """What was asked for."""

    kind: type[Decoder] | None  # None: the best one for the data
    settings: dict[str, Any]
    instance: Decoder | None = None

    @property
    def name(self) -> str:
        """The name of the decoder, or "auto"."""
        return AUTO if self.kind is None else self.kind.name


def decoder_names() -> list[str]:
    """Return the names that the parameter `decoder` accepts, "auto" included."""
    return [AUTO, *(name for name, kind in DECODERS.items() if kind.settings is not None)]


def parse_decoder(choice: Any, n_bits: int | None = None) -> Wanted:
    """Return what a user asks for, or raise an error if it cannot work, before any training.

    Parameters
    ----------
    choice : str, mapping or Decoder
        A name of `decoder_names()`; a mapping with a name and settings, such as ``{"name":
        "shortlist", "size": 50}``; or a decoder.
    n_bits : int, optional
        The width of the codes, if it is known.

    Examples
    --------
    >>> parse_decoder({"name": "table", "probes": 4}).settings
    {'probes': 4}
    """
    if isinstance(choice, Decoder):
        if n_bits not in (None, choice.n_bits):
            raise InputError(f"decoder has {choice.n_bits} bits, but n_bits={n_bits}.")
        return Wanted(type(choice), {}, choice)
    settings: dict[str, Any] = {}
    if isinstance(choice, Mapping):
        settings = dict(choice)
        choice = settings.pop("name", None)
    if not isinstance(choice, str) or choice not in decoder_names():
        raise unknown_name("decoder", choice, decoder_names())
    kind = None if choice == AUTO else DECODERS[choice]
    checks = (kind and kind.settings) or {}
    for key in settings:
        if key not in checks:
            raise unknown_name(f"decoder={choice!r}: setting", key, checks or ("name",))
        checks[key](key, settings[key])
    if kind and kind.max_bits is not None and n_bits is not None and n_bits > kind.max_bits:
        raise InputError(
            f"decoder={choice!r} accepts at most {kind.max_bits} bits, but n_bits={n_bits}; "
            "use fewer bits, or 'shortlist'."
        )
    return Wanted(kind, settings)
