"""Bodies that come and go packed (gzip, deflate); none becomes larger than it may."""

import zlib
from collections.abc import Iterator

from dsnc.serve.refusals import Refused, too_large

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


def unpacked(body: bytes, encoding: str, most: int) -> bytes:
    """Return a whole body as it was before it was packed."""
    unpacker, parts, size = Unpacker(encoding), [], 0
    for piece in unpacker.pieces(body):
        size += len(piece)
        if size > most:
            raise too_large(f"The body is larger than {most:,} bytes.")
        parts.append(piece)
    unpacker.close()
    return b"".join(parts)


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
    packer = zlib.compressobj(_LEVEL, wbits=_GZIP)
    return packer.compress(body) + packer.flush(), {**headers, b"content-encoding": b"gzip"}


class Packer:
    """Packs a stream, so that each piece can be unpacked when it comes."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(_LEVEL, wbits=_GZIP)

    def add(self, data: bytes) -> bytes:
        """Return a piece packed."""
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def close(self) -> bytes:
        """Return the end."""
        return self._packer.flush()
