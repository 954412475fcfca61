"""What a client asks for besides rows: the same names in JSON, in addresses and in parameters."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from dsnc.errors import did_you_mean, shorten
from dsnc.serve.limits import Refused

T = TypeVar("T", bound=Struct)
Label = str | int | float
Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1)]

_WHOLE = re.compile(r"-?[0-9]{1,9}")


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an answer holds."""

    top_k: Annotated[
        Count | None,
        Meta(description="Return a list of this many labels for each row, best first."),
    ] = None
    probabilities: Annotated[
        bool, Meta(description="Return the probabilities of the labels, too.")
    ] = False
    reject_below: Annotated[
        Share | None,
        Meta(
            description="Leave rows to a person whose best label is less probable: a decision for "
            "each row, answer or person. From label sets, leave out such labels."
        ),
    ] = None
    explain: Annotated[
        bool | Count,
        Meta(
            description="Explain each answer; a number says how many of the largest terms to "
            "return."
        ),
    ] = False
    unknown: Annotated[
        Label | None,
        Meta(
            description="The label for rows that seem to belong to no class; they have no "
            "probability."
        ),
    ] = None
    unknown_share: Annotated[
        Share,
        Meta(description="The share of rows of known classes that may be taken for unknown."),
    ] = 0.05

    @property
    def k(self) -> int:
        """Labels of each row."""
        return self.top_k or 1


PLAIN = Options()


def as_struct(given: Mapping[str, Any], struct: type[T], *, strict: bool = True) -> T:
    """Return what somebody asks for, checked; if not strictly, texts may stand for values."""
    try:
        return msgspec.convert(given, struct, strict=strict)
    except msgspec.ValidationError as error:
        values = {name: shorten(value) for name, value in given.items()}
        raise Refused(400, explained(error, values, struct)) from None


def from_address(query: Mapping[str, str], struct: type[T]) -> T:
    """Return what a query such as ``top_k=5&probabilities=true`` asks for."""
    given: dict[str, Any] = dict(query)
    if _WHOLE.fullmatch(query.get("unknown", "")):  # a label may be a number
        given["unknown"] = int(query["unknown"])
    found = as_struct(given, struct, strict=False)
    for name, text in query.items():
        if type(getattr(found, name)) is int and not _WHOLE.fullmatch(text):  # such as 1.0
            raise Refused(400, f"{name}={shorten(text)}: Expected int.")
    return found


def explained(
    error: msgspec.ValidationError, values: Mapping[str, str], struct: type[Struct]
) -> str:
    """Say what is wrong with a value, as msgspec does; `values` are as they can be shown."""
    text = str(error)
    if unknown := re.search("unknown field `(.*)`", text, re.DOTALL):
        return name_not_known(unknown[1], struct.__struct_fields__)
    problem, _, path = text.replace("`", "").partition(" - at $.")
    if missing := re.search("missing required field (.*)", problem):
        return f"{missing[1]} is missing{f' in {path}' if path else ''}."
    if not path:
        needed = [f'"{field.name}": [...]' for field in fields(struct) if field.required]
        return f"The body must be an object such as {{{', '.join(needed)}}}."
    value = f"={values[path]}" if path in values else ""
    return f"{path}{value}: {problem}."


def name_not_known(name: str, valid: tuple[str, ...]) -> str:
    """Say that a name is not known, and which are."""
    return f"{shorten(name)} is not known.{did_you_mean(name, valid)} Valid: {', '.join(valid)}."
