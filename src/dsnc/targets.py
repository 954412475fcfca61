"""What each row should be, and so whether an answer is right."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dsnc.errors import InputError
from dsnc.sparse import sp

# What a right answer of a set is worth at each rank: its share of the mean of P@1, P@3 and P@5.
_RANKS = np.array([23, 8, 8, 3, 3], dtype=np.float64) / 45


@dataclass(frozen=True, eq=False)
class Targets:
    """What each row should be: one class, or a set of classes.

    Parameters
    ----------
    classes : int array of shape (n,), or sparse matrix of shape (n, n_classes)
        The class of each row; or its set, the columns that are not zero.
    n_classes : int
        Number of classes; some may have no row.

    Examples
    --------
    >>> Targets(np.array([2, 0]), 3).contains([[1, 2], [1, 2]])
    array([[False,  True],
           [False, False]])
    """

    classes: Any
    n_classes: int

    def __post_init__(self) -> None:
        """Bring sets into one form: sorted columns, each once, no zeros."""
        if sp.issparse(self.classes):
            sets = sp.csr_array(self.classes)
            if not (sets.has_canonical_format and sets.data.all()):
                sets = sets.astype(np.bool_)  # a copy: what the caller has stays as it is
                sets.sum_duplicates()
                sets.eliminate_zeros()
            object.__setattr__(self, "classes", sets)

    @classmethod
    def from_lists(cls, flat: NDArray[Any], counts: ArrayLike, n_classes: int) -> Self:
        """Make sets from the class numbers of all rows, one row after the other.

        `counts` says how many each row has; one that it has twice counts once.
        """
        ends = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(ends) - 1, n_classes)
        return cls(sp.csr_array((np.ones(len(flat), np.bool_), flat, ends), shape=shape), n_classes)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.classes.shape[0])

    @property
    def is_single(self) -> bool:
        """Whether each row has one class."""
        return not sp.issparse(self.classes)

    @property
    def y(self) -> NDArray[Any]:
        """The class of each row, for what can learn from one class a row only."""
        if not self.is_single:
            raise InputError("rows have sets of classes; one class a row is needed here.")
        y: NDArray[Any] = self.classes
        return y

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that make up the targets."""
        return (self.y,) if self.is_single else (self.classes.indptr, self.classes.indices)

    def lists(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return where the classes of each row begin (and where the last ones end), and all."""
        if self.is_single:
            return np.arange(len(self) + 1), self.classes.astype(np.int32, copy=False)
        return self.classes.indptr.astype(np.int64), self.classes.indices.astype(np.int32)

    def sizes(self) -> NDArray[np.int64]:
        """Return how many classes each row has."""
        return np.diff(self.lists()[0])

    @property
    def most(self) -> int:
        """The number of classes of the row that has most."""
        return int(self.sizes().max(initial=0))

    def take(self, rows: Any) -> "Targets":
        """Return the targets of some rows: numbers, a boolean mask or a slice."""
        return replace(self, classes=self.classes[rows])

    def counts(self, weight: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return how many rows each class has; with weights of rows, how much they weigh."""
        members = self.classes
        if not self.is_single:
            members = self.classes.indices
            weight = None if weight is None else np.repeat(weight, np.diff(self.classes.indptr))
        return np.bincount(members, weight, minlength=self.n_classes)

    def one_each(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rows that have a class, and one class of each: the one that fewest have."""
        owners, flat = np.repeat(np.arange(len(self)), self.sizes()), self.lists()[1]
        order = np.lexsort((self.counts()[flat], owners))
        rows, places = np.unique(owners[order], return_index=True)
        return rows, flat[order[places]].astype(np.int64)

    @property
    def n_ranks(self) -> int:
        """How many of the best answers count: one, or five where rows have sets."""
        return 1 if self.is_single else len(_RANKS)

    def worth(self, is_true: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return what the best answers of each row are worth.

        1 if the first is right, where rows have one class; the mean of the precision of the first,
        the first three and the first five, where they have sets.

        Parameters
        ----------
        is_true : bool array of shape (n, k)
            Whether the answers are right, best first.
        """
        shares = np.ones(1) if self.is_single else _RANKS
        k = min(len(shares), is_true.shape[1])
        return np.asarray(is_true[:, :k] @ shares[:k], dtype=np.float64)

    def worth_of_scores(
        self, scores: NDArray[Any], is_true: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return what the order of scored answers is worth for each row; see `worth`."""
        if self.is_single:
            best = scores.argmax(axis=1)[:, None]
        else:
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self.n_ranks]
        return self.worth(np.take_along_axis(is_true, best, axis=1))

    def contains(self, classes: ArrayLike) -> NDArray[np.bool_]:
        """Tell of one answer a row, or of k, whether it is right; what is not a class is wrong."""
        answers = np.asarray(classes)
        column = (slice(None), *(None for _ in answers.shape[1:]))
        if self.is_single:
            return np.asarray(answers == self.classes[column])
        # Row and class in one integer, ascending: sets are looked up by bisection.
        rows = np.arange(len(self), dtype=np.int64)
        members = np.repeat(rows, np.diff(self.classes.indptr)) * self.n_classes
        members += self.classes.indices
        wanted = rows[column] * self.n_classes + answers
        places = np.minimum(np.searchsorted(members, wanted), max(0, len(members) - 1))
        is_class = (answers >= 0) & (answers < self.n_classes)
        found = members[places] == wanted if len(members) else np.False_
        return np.asarray(is_class & found)
