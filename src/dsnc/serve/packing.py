"""Bodies that come and go packed (gzip, deflate); none becomes larger than it may."""

import zlib
from collections.abc import Iterator
from typing import Any

from dsnc.serve.limits import Limits, Refused

_EITHER = 32 + zlib.MAX_WBITS  # gzip, or deflate with zlib's frame
_GZIP = 16 + zlib.MAX_WBITS
_LEVEL = 4
_PIECE = 1 << 20  # bytes
_LEAST = 1024  # bytes that are worth it


class Unpacker:
    """Unpacks what comes in pieces, as the header ``Content-Encoding`` says."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise Refused(415, f"Content-Encoding {encoding[:60]!r} is not known; send gzip.")
        is_plain = name in ("", "identity")
        self._unpack = None if is_plain else zlib.decompressobj(_EITHER)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield some of the body as it was before, in pieces that are not large."""
        if self._unpack is None:
            yield data
            return
        while data:
            try:
                yield self._unpack.decompress(data, _PIECE)
            except zlib.error:
                raise Refused(400, "The body cannot be unpacked; it is damaged.") from None
            if self._unpack.unused_data:
                raise Refused(400, "The body cannot be unpacked; it has extra bytes at its end.")
            data = self._unpack.unconsumed_tail

    def close(self) -> None:
        """Refuse a body that ends too early."""
        if self._unpack is not None and not self._unpack.eof:
            raise Refused(400, "The body cannot be unpacked; its end is missing.")


def unpacked(body: bytes, encoding: str, limits: Limits) -> bytes:
    """Return a whole body as it was before it was packed."""
    unpacker, parts, size = Unpacker(encoding), [], 0
    for piece in unpacker.pieces(body):
        size += len(piece)
        limits.check_body(size)
        parts.append(piece)
    unpacker.close()
    plain = b"".join(parts)
    limits.check_values(plain, len(body))
    return plain


def wants_gzip(accepted: str) -> bool:
    """Tell whether a client takes gzip, by its header ``Accept-Encoding``."""
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() in ("gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def packed(body: bytes, accepted: str) -> tuple[bytes, dict[bytes, bytes]]:
    """Return a body, packed if that is wished and worth it, and the headers that say so."""
    if len(body) < _LEAST:
        return body, {}
    headers = {b"vary": b"Accept-Encoding"}
    if not wants_gzip(accepted):
        return body, headers
    packer = new_packer()
    return packer.compress(body) + packer.flush(), {**headers, b"content-encoding": b"gzip"}


def new_packer() -> Any:
    """Return what packs a body, or a stream of pieces."""
    return zlib.compressobj(_LEVEL, wbits=_GZIP)
