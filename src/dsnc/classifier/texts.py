"""Strings in place of rows: the parameter `text`, and rows where training needs them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from dsnc.errors import InputError, shorten, unknown_name
from dsnc.features import FittedTextFeatures, TextFeatures, TextRows, are_texts


def make_features(text: Any) -> TextFeatures:
    """Return unfitted features for the parameter `text` of an estimator, checked.

    Parameters
    ----------
    text : dict, TextFeatures or None
        Settings, an example whose settings are taken, or None for the defaults.
    """
    if text is None:
        return TextFeatures()
    if isinstance(text, TextFeatures):
        features: TextFeatures = clone(text)
    elif isinstance(text, Mapping):
        valid = TextFeatures._get_param_names()
        for name in text:
            if name not in valid:
                raise unknown_name("text", name, valid)
        features = TextFeatures(**text)
    else:
        raise InputError(
            f"text={shorten(text)}: give settings such as {{'words': (1, 2)}}, TextFeatures, or "
            "None."
        )
    features.check_parameters()
    return features


def learned_features(X: Any, text: Any, more: Sequence[str] = ()) -> TextFeatures | None:
    """Return features fitted to X, and to more texts; None where X holds numbers."""
    return make_features(text).fit([*TextRows.listed(X), *more]) if are_texts(X) else None


def as_numbers(X: Any, features: FittedTextFeatures | None) -> Any:
    """Return X, with texts turned into rows."""
    return TextRows.of(X, features).numbers() if are_texts(X) else X


def plain_settings(text: Any) -> dict[str, Any] | None:
    """Return the parameter `text` as JSON can hold it, without what belongs to the machine."""
    if text is None:
        return None
    settings = text.get_params() if isinstance(text, TextFeatures) else dict(text)
    settings.pop("n_jobs", None)
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def settings_of(plain: Any) -> Any:
    """Return what `plain_settings` was given, as a dict."""
    if not isinstance(plain, dict):
        return plain
    return {name: tuple(v) if isinstance(v, list) else v for name, v in plain.items()}
