"""Which classes there are, which are near each other, and what became of a change."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from dsnc.errors import DsncError
from dsnc.inspection.meaning import class_number
from dsnc.serve.limits import Refused
from dsnc.serve.options import Count, Label, from_address
from dsnc.serve.served import Served

Digits = Annotated[str | None, Meta(description="Hexadecimal, bit 0 first.")]


class Listing(Struct, forbid_unknown_fields=True):
    """What is asked about a list of classes."""

    query: Annotated[
        str, Meta(description="Only labels that contain this text, ignoring case.")
    ] = ""
    offset: Annotated[int, Meta(ge=0, lt=10**9, description="How many to skip.")] = 0
    limit: Annotated[int, Meta(ge=0, lt=10**9, description="How many at most.")] = 100


class Nearest(Struct, forbid_unknown_fields=True):
    """What is asked about the nearest classes."""

    label: Annotated[str, Meta(description="Nearest to the code of this class.")]
    top_k: Annotated[Count, Meta(lt=10**9, description="How many.")] = 10


class Class(Struct):
    """A class, and how far it is from the one that was asked about."""

    label: Label
    number: int
    code: Digits
    distance: Annotated[int | UnsetType, Meta(description="Number of bits that differ.")] = UNSET


class Classes(Struct, kw_only=True):
    """Classes that were asked about."""

    model: str
    version: str
    total: Annotated[int | UnsetType, Meta(description="Number on all pages.")] = UNSET
    offset: int | UnsetType = UNSET
    bits: int | None | UnsetType = UNSET
    code: Digits | UnsetType = UNSET
    classes: list[Class]


class Changed(Struct, kw_only=True):
    """What became of a change."""

    model: str
    version: str
    classes: Annotated[int, Meta(description="Number of classes now.")]
    added: list[Label] | UnsetType = UNSET
    removed: list[Label] | UnsetType = UNSET
    rows: int | UnsetType = UNSET
    described: int | UnsetType = UNSET


def list_classes(served: Served, query: Mapping[str, str], most: int) -> Classes:
    """Return classes in the order of their numbers: all, or those whose labels hold a text."""
    question = from_address(query, Listing)
    offset, limit = question.offset, question.limit
    wanted = question.query.casefold()
    numbers: Any = range(served.n_classes)
    if wanted:
        numbers = [number for number, name in enumerate(served.names) if wanted in name]
    if limit > most:
        raise Refused(400, f"limit={limit} must be at most {most:,}; use offset to get the rest.")
    return Classes(
        model=served.name,
        version=served.version,
        total=len(numbers),
        offset=offset,
        bits=None if served.codes is None else served.codes.n_bits,
        classes=_classes(served, list(numbers[offset : offset + limit])),
    )


def nearest_classes(served: Served, query: Mapping[str, str], most: int) -> Classes:
    """Return the classes whose codes are nearest to that of a class."""
    question = from_address(query, Nearest)
    if served.codes is None:
        raise Refused(400, f"{served.name} has no codes of classes.")
    try:
        own = class_number(served.model, question.label)
    except DsncError as error:
        raise Refused(404, str(error)) from None
    code, top_k = served.codes.take([own]), min(question.top_k, most)
    wanted = min(top_k + 1, served.n_classes)
    distances, numbers = (found[0].tolist() for found in served.index.search(code, wanted))
    if own in numbers:  # unless so many have its code that it is not listed
        place = numbers.index(own)
        del numbers[place], distances[place]
    found = _classes(served, numbers[:top_k])
    for one, distance in zip(found, distances, strict=False):
        one.distance = distance
    return Classes(model=served.name, version=served.version, code=code.to_hex()[0], classes=found)


def _classes(served: Served, numbers: list[int]) -> list[Class]:
    labels = served.model.classes_[numbers].tolist() if numbers else []
    codes = [None] * len(numbers) if served.codes is None else served.codes.take(numbers).to_hex()
    return list(map(Class, labels, numbers, codes))
