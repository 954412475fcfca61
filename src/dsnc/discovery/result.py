"""The result of a discovery: proposed classes, for people and programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.errors import InputError, did_you_mean
from dsnc.progress import count


@dataclass(frozen=True, eq=False)
class ProposedClass:
    """Rows that look like a class that nobody has named yet.

    Attributes
    ----------
    name : label
        A label that is not used yet.
    rows : int array
        The numbers of its rows, the most typical first.
    tightness : float
        Mean cosine of its rows' soft bits with their center; 1 means that all rows are the same.
    novel : float
        Share of its rows that are novel by themselves.
    marks : list of str
        Words or features that it has more of than other rows.
    nearest : list of (label, float)
        The most similar known classes and their cosines, the most similar first.
    texts : list of str
        Its most typical rows, if rows are texts.
    """

    name: Any  # a label that is still free
    rows: NDArray[np.int64]  # numbers of its rows, the most typical first
    tightness: float  # mean cosine of its rows' soft bits with their middle: 1 is all the same
    novel: float  # share of its rows that are novel each by itself
    marks: list[str]  # words or features that it has more of than other rows
    nearest: list[tuple[Any, float]]  # known classes, the most alike first, and their cosines
    texts: list[str]  # of its most typical rows, where rows are texts

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON. Row numbers start at 0."""
        return {
            "name": self.name,
            "size": len(self),
            "tightness": round(self.tightness, 4),
            "novel": round(self.novel, 4),
            "marks": self.marks,
            "nearest": [{"label": label, "likeness": round(x, 4)} for label, x in self.nearest],
            "texts": self.texts,
            "rows": self.rows.tolist(),
        }


@dataclass(frozen=True, eq=False)
class Discovery:
    """Proposed classes, the largest first.

    Parameters
    ----------
    classes : list of ProposedClass
        The proposals.
    n_rows : int
        Number of rows that were examined.
    n_novel : int
        Number of these rows that are novel by themselves.
    """

    classes: list[ProposedClass]
    n_rows: int
    n_novel: int

    def __len__(self) -> int:
        """Return the number of proposed classes."""
        return len(self.classes)

    @property
    def groups(self) -> NDArray[np.int64]:
        """For each row that was examined, its place in `classes`; -1 if it is in none."""
        groups = np.full(self.n_rows, -1, dtype=np.int64)
        for number, proposed in enumerate(self.classes):
            groups[proposed.rows] = number
        return groups

    def named(self, names: Mapping[Any, Any] | None = None) -> tuple[NDArray[np.int64], list[Any]]:
        """Return rows and their labels, ready for `add_classes`.

        Parameters
        ----------
        names : dict, optional
            From proposed names to yours. Classes with the same name become one. A class whose name
            is None or missing is left out. By default, all classes keep their proposed names.

        Returns
        -------
        rows : int array of shape (m,)
            Row numbers.
        labels : list of m labels
        """
        known = [proposed.name for proposed in self.classes]
        chosen = dict(zip(known, known, strict=True)) if names is None else names
        for name in chosen:
            if name not in known:
                hint = did_you_mean(str(name), [str(label) for label in known])
                raise InputError(f"names has {name!r}, which is not a proposed class.{hint}")
        parts, labels = [np.empty(0, np.int64)], []
        for proposed in self.classes:
            if (label := chosen.get(proposed.name)) is not None:
                parts.append(proposed.rows)
                labels += [label] * len(proposed)
        return np.concatenate(parts), labels

    def __str__(self) -> str:
        """Return in a sentence what was found."""
        inside = sum(map(len, self.classes))
        return (
            f"{count(len(self), 'proposed class')} of {count(inside, 'row')}; {self.n_novel:,} of "
            f"{count(self.n_rows, 'row')} are novel"
        )
