"""What users say of classes instead of showing rows of them: texts, or attributes."""

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from dsnc.classifier.inputs import label_column
from dsnc.errors import InputError, shorten
from dsnc.features import FittedTextFeatures
from dsnc.labels import Labels
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.training.examples import Examples


class Descriptions(NamedTuple):
    """Texts that describe classes, one after the other, and the label of each."""

    texts: list[str]
    labels: NDArray[Any]

    @classmethod
    def of(cls, labels: Any, descriptions: Any) -> "Descriptions":
        """Read a text, or several, of each label."""
        names = checked_labels(labels, descriptions, "descriptions")
        texts, owners = [], []
        for place, given in enumerate(descriptions):
            several = [given] if isinstance(given, str) else given
            if not isinstance(several, list | tuple | np.ndarray) or any(
                not isinstance(text, str) for text in several
            ):
                raise InputError(
                    f"the description of {_shown(names, place)} is {shorten(given)}; give a text, "
                    "or a list of texts."
                )
            some = [str(text) for text in several if text.strip()]
            if not some:
                raise InputError(
                    f"the description of {_shown(names, place)} is empty; write some words, or "
                    "leave it out."
                )
            texts += some
            owners += [place] * len(some)
        return cls(texts, names[owners])

    def without(self, labels: Labels) -> "Descriptions":
        """Return those of classes that are none of these."""
        rest = np.flatnonzero(labels.find(self.labels) < 0)
        return Descriptions([self.texts[place] for place in rest], self.labels[rest])

    def rows(self, features: FittedTextFeatures | None, labels: Labels) -> tuple[Any, NDArray[Any]]:
        """Return rows, and their labels; texts without a known n-gram are left out.

        A class that is none of `labels` and has no other text is refused.
        """
        if features is None:
            raise InputError(
                "descriptions are texts, but the model was fitted to rows of numbers; give "
                "attributes, an array for each class, instead."
            )
        X = features.rows(self.texts)
        is_known = np.diff(X.indptr) > 0
        said = set(self.labels[is_known].tolist())
        missing = (label not in said for label in self.labels.tolist())
        lost = np.fromiter(missing, np.bool_, len(self.texts)) & (labels.find(self.labels) < 0)
        if lost.any():
            place = int(lost.argmax())
            raise InputError(
                f"the description of {_shown(self.labels, place)}, {shorten(self.texts[place])}, "
                "has no n-gram that the model knows; use other words, or fit with rows or "
                "descriptions that contain these."
            )
        rows = np.flatnonzero(is_known)
        return X[rows], self.labels[rows]

    def joined(
        self, examples: "Examples", labels: Labels, features: FittedTextFeatures | None
    ) -> "tuple[Examples, int]":
        """Return examples with descriptions of their classes behind them, and how many."""
        X, owners = self.rows(features, labels)
        numbers = labels.find(owners)
        mine = np.flatnonzero(numbers >= 0)
        n_rows = len(examples.targets)
        y = np.concatenate([examples.targets.y, numbers[mine]])
        weight, rows = examples.weight, examples.rows
        if weight is not None:
            weight = np.concatenate([weight, np.ones(len(mine), np.float32)])
        if rows is not None:
            rows = np.concatenate([rows, n_rows + np.arange(len(mine))])
        X = sp.vstack([examples.X, X[mine]], format="csr")
        targets = Targets(y, examples.targets.n_classes)
        return examples._replace(X=X, targets=targets, weight=weight, rows=rows), len(mine)


class Attributes(NamedTuple):
    """Numbers that describe classes, a row for each, and their labels."""

    numbers: NDArray[np.float32]
    labels: NDArray[Any]

    @classmethod
    def of(cls, labels: Any, attributes: Any) -> "Attributes":
        """Read an array for each label."""
        names = checked_labels(labels, attributes, "attributes")
        try:
            numbers = np.asarray(list(attributes), dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"attributes: each class needs the same number of values ({error})."
            ) from None
        if numbers.ndim != 2 or not numbers.shape[1]:
            raise InputError(
                f"attributes has shape {numbers.shape}; give a row of numbers for each class."
            )
        strange = ~np.isfinite(numbers).all(axis=1)
        if strange.any():
            raise InputError(
                f"attributes of {_shown(names, int(strange.argmax()))} have NaN or infinity; fill "
                "the gaps, or leave the class out."
            )
        return cls(numbers, names)

    def without(self, labels: Labels) -> "Attributes":
        """Return those of classes that are none of these."""
        rest = labels.find(self.labels) < 0
        return Attributes(self.numbers[rest], self.labels[rest])


def items_of(given: Any, name: str) -> tuple[list[Any], list[Any]]:
    """Return labels and what is said of them, of a dict or a Series."""
    if not hasattr(given, "items"):
        raise InputError(
            f"{name} is of type {type(given).__name__}; give a dict with class labels as keys."
        )
    pairs = list(given.items())
    if not pairs:
        raise InputError(f"{name} is empty; leave it out.")
    return [label for label, _ in pairs], [said for _, said in pairs]


def checked_labels(labels: Any, given: Any, name: str) -> NDArray[Any]:
    """Return labels as an array; refuse those that are there twice, or too many or few."""
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise InputError(f"labels is {shorten(labels)}; give a list of labels.")
    names: NDArray[Any] = label_column(labels, "labels")
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise InputError(f"{name}={shorten(given)}: give a list, with one for each label.")
    if len(given) != len(names):
        raise InputError(
            f"{name} has {len(given):,} entries for {len(names):,} labels; give one for each label."
        )
    if not len(names):
        raise InputError("labels is empty; name the classes that are described.")
    label, times = Counter(names.tolist()).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"labels lists {shorten(label)} twice; give each label once, and several texts for "
            "one label as a list."
        )
    return names


def _shown(labels: NDArray[Any], place: int) -> str:
    return shorten(labels[place : place + 1].tolist()[0])
