"""Open families: a part is chosen by name, by name and settings, or as an instance."""

import copy
import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from dsnc.errors import InputError, unknown_name


class Part:
    """A member of a family.

    A subclass has keyword-only parameters, checks them, and stores them as given under their own
    names. Then ``{"name": ..., **settings}``, a repr and a model file say how to make an equal one.
    """

    def settings(self) -> dict[str, Any]:
        """Return the parameters as plain values: ``type(self)(**settings)`` makes an equal one."""
        values = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        # numpy's numbers are welcome as parameters, but are not JSON
        return {k: v.item() if hasattr(v, "item") else v for k, v in values.items()}

    def __repr__(self) -> str:
        """Return the call that makes an equal instance."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"


def make_part(parameter: str, choice: Any, family: Mapping[str, Any], base: type[Part]) -> Any:
    """Return a new part for a run: by name, by a mapping of name and settings, or a copy.

    Some parts have state. A copy leaves the instance of the user as it was, so training with it
    twice gives the same result twice.

    Parameters
    ----------
    parameter : str
        What messages call it.
    choice : str, mapping or instance of `base`
        What the user asks for.
    family : dict of str to class
        The members by name; a class may be written ``"module:Class"``, to be imported when needed.
    base : type
        What all members are.
    """
    if isinstance(choice, base):
        return copy.deepcopy(choice)
    options = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(options, Mapping) or "name" not in options:
        raise InputError(
            f"{parameter}={choice!r} must be a name, a mapping with one, or an instance of "
            f"{base.__module__}.{base.__qualname__}. Valid names: {', '.join(family)}."
        )
    settings = dict(options)
    name = settings.pop("name")
    if name not in family:
        raise unknown_name(parameter, name, family)
    kind = _class(family[name])
    for setting in settings:
        if setting not in (valid := inspect.signature(kind).parameters):
            raise unknown_name(f"{parameter}={name!r}: setting", setting, valid or ("name",))
    return kind(**settings)


def named_settings(part: Part, family: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes an equal part: name and settings; of a stranger, the name of its class."""
    return {"name": _name_of(part, family) or type(part).__name__, **part.settings()}


def plain_choice(choice: Any, family: Mapping[str, Any]) -> Any:
    """Return what a user asks for in one spelling: the shortest of name, mapping and instance."""
    if isinstance(choice, Part) and _name_of(choice, family):
        choice = named_settings(choice, family)
    if isinstance(choice, Mapping) and set(choice) == {"name"}:
        return choice["name"]
    return choice


def _name_of(part: Part, family: Mapping[str, Any]) -> str | None:
    own = type(part)
    path = f"{own.__module__}:{own.__qualname__}"
    return next((name for name, kind in family.items() if kind in (own, path)), None)


def _class(kind: Any) -> Any:
    if not isinstance(kind, str):
        return kind
    module, _, name = kind.partition(":")
    return getattr(importlib.import_module(module), name)
