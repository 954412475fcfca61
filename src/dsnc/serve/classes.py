"""Which classes there are, and which are near each other."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dsnc.codes import PackedCodes
from dsnc.errors import DsncError, did_you_mean, shorten
from dsnc.inspection.meaning import class_number
from dsnc.serve.answers import dumps
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served

LISTED, NEAREST = 100, 10  # classes, where nobody says how many
_BLOCK = 1000  # of them that are written at a time


def list_classes(served: Served, query: Mapping[str, str], most: int) -> dict[str, Any]:
    """Return classes in the order of their numbers: all, or those whose labels hold a text."""
    _check_names(query, ("query", "offset", "limit"))
    offset, limit = _number(query, "offset", 0, 0), _number(query, "limit", LISTED, 0)
    wanted = query.get("query", "").casefold()
    numbers: Any = range(served.n_classes)
    if wanted:
        numbers = [number for number, name in enumerate(served.names) if wanted in name]
    if limit > most:
        raise Refused(400, f"limit={limit} must be at most {most:,}; use offset to get the rest.")
    some = list(numbers[offset : offset + limit])
    bits = None if served.codes is None else served.codes.n_bits
    found = {"total": len(numbers), "offset": offset, "bits": bits}
    return {**_about(served), **found, "classes": _classes(served, some)}


def nearest_classes(served: Served, query: Mapping[str, str], most: int) -> dict[str, Any]:
    """Return the classes whose codes are nearest to that of a class, or to a code."""
    _check_names(query, ("label", "code", "top_k"))
    if ("label" in query) == ("code" in query):
        raise Refused(400, "Give either a label or a code, as in ?label=nurse or ?code=0f3a.")
    if served.codes is None:
        raise Refused(400, f"{served.name} has no codes of classes.")
    top_k, own = min(_number(query, "top_k", NEAREST, 1), most, served.n_classes), None
    if "label" in query:
        try:
            own = class_number(served.model, query["label"])
        except DsncError as error:
            raise Refused(404, str(error)) from None
        code = served.codes.take([own])
    else:
        code = _code(query["code"], served.codes.n_bits)
    wanted = min(top_k + (own is not None), served.n_classes)
    distances, numbers = (found[0].tolist() for found in served.index.search(code, wanted))
    if own in numbers:  # unless so many have its code that it is not listed
        place = numbers.index(own)
        del numbers[place], distances[place]
    classes = _classes(served, numbers[:top_k])
    for one, distance in zip(classes, distances, strict=False):
        one["distance"] = distance
    return {**_about(served), "code": _hex(code)[0], "classes": classes}


def written(found: dict[str, Any]) -> bytes:
    """Return an answer as JSON, block by block: other requests have their turn in between."""
    classes = found.pop("classes")
    blocks = (classes[at : at + _BLOCK] for at in range(0, len(classes), _BLOCK))
    text = ", ".join(dumps(block)[1:-1] for block in blocks)
    return f'{dumps(found)[:-1]}, "classes": [{text}]}}'.encode()


def _about(served: Served) -> dict[str, str]:
    return {"model": served.name, "version": served.version}


def _classes(served: Served, numbers: list[int]) -> list[dict[str, Any]]:
    labels = served.model.classes_[numbers].tolist() if numbers else []
    codes = [None] * len(numbers) if served.codes is None else _hex(served.codes.take(numbers))
    return [
        {"label": label, "number": number, "code": code}
        for label, number, code in zip(labels, numbers, codes, strict=True)
    ]


def _hex(codes: PackedCodes) -> list[str]:
    """Return codes as ``dsnc encode`` writes them: bit 0 is the first."""
    return [row.tobytes().hex() for row in np.packbits(codes.to_bits(), axis=1)]


def _code(text: str, n_bits: int) -> PackedCodes:
    n_octets = -(-n_bits // 8)
    try:
        octets = bytes.fromhex(text)
    except ValueError:
        octets = b""
    bits = np.unpackbits(np.frombuffer(octets, np.uint8))
    if len(octets) != n_octets or bits[n_bits:].any():
        raise Refused(
            400,
            f"code={shorten(text)} must be {2 * n_octets} hexadecimal digits, of {n_bits} bits, "
            "as in GET /classes.",
        )
    return PackedCodes.from_bits(bits[None, :n_bits])


def _check_names(query: Mapping[str, str], valid: tuple[str, ...]) -> None:
    for name in query:
        if name not in valid:
            hint = did_you_mean(name, valid)
            raise Refused(400, f"{shorten(name)} is not known.{hint} Valid: {', '.join(valid)}.")


def _number(query: Mapping[str, str], name: str, usual: int, least: int) -> int:
    text = query.get(name)
    if text is None:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= least):
        raise Refused(400, f"{name}={shorten(text)} must be a whole number, {least} or more.")
    return int(text)
