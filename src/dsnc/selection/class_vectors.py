"""Trains class vectors over features for a second stage, on the candidates of a decoder."""

from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders import Decoder
from dsnc.errors import warn
from dsnc.predictor import Predictor
from dsnc.progress import progress_bar
from dsnc.rows import draw_rows

if TYPE_CHECKING:
    from dsnc.fast.rows import Feed
    from dsnc.rerank import ClassVectors
    from dsnc.training.examples import Examples

N_CANDIDATES = 20  # of a row, in training
_NAMING = 1 << 17  # rows that name candidates; of more, the others only have a class
_BUDGET, _MOST_BYTES = 8_000_000, 32_000_000  # half of what the rest of the model has, within these
_UNIT_COST, _OTHER_COST = 3.0, 10.0  # of errors, for rows of length 1 and for others
_SETS_COST = 0.1  # as a share of these, where rows have sets of classes
_MORE = 4  # candidates for each class that such a row has on average
_ROWS = 1 << 14  # at a time
_CENTERS = 8  # of a class, at most
_BESIDE = 16  # bytes of a center, beside one for each feature
_OF_FEATURE = 8  # bytes of a feature, beside one for each center


class _TooLate(Exception):
    """The time limit has been reached."""


@dataclass(frozen=True)
class VectorTrainer:
    """Trains class vectors for the candidates that a decoder finds for the training rows.

    Parameters
    ----------
    predictor : Predictor
        Its encoder makes the codes.
    examples : Examples
        The training rows.
    scaling : str
        As in `dsnc.training.scaling`.
    seed : int
        Seed of everything random.
    n_jobs : int, optional
        Number of threads; by default, as many as train. The vectors do not depend on it.
    verbose : bool, default False
        Whether to show a progress bar on stderr.
    until : float, optional
        When to stop, as a value of `time.monotonic`.
    """

    predictor: Predictor
    examples: "Examples"
    scaling: str
    seed: int
    n_jobs: int | None = None
    verbose: bool = False
    until: float | None = None

    def __call__(
        self, decoder: Decoder, budget: int | None = None, C: float | None = None
    ) -> "list[ClassVectors]":
        """Return vectors of each kind that is worth trying; none if interrupted or out of time.

        Parameters
        ----------
        decoder : Decoder
            Finds the candidates.
        budget : int, optional
            The most bytes that the vectors may take in a file.
        C : float, optional
            The cost of errors, for rows of length 1 on average. If it is given, no centers are
            tried.
        """
        from dsnc.fast.class_centers import find_class_centers
        from dsnc.fast.class_vectors import Recipe, train_class_vectors
        from dsnc.fast.learner import threads_to_train
        from dsnc.fast.rows import Feed, scaling_of
        from dsnc.rerank.class_vectors import bytes_of_weight
        from dsnc.training.scaling import is_mostly_zeros

        n_threads, n_classes = threads_to_train(self.n_jobs), decoder.n_classes
        mostly_zeros = is_mostly_zeros(self.examples.X)
        scaling = scaling_of(self.scaling, self.examples, mostly_zeros=mostly_zeros)
        if budget is None:
            budget = min(max(_BUDGET, self._other_bytes() // 2), _MOST_BYTES)
        cost = C or (_UNIT_COST if scaling.unit_rows else _OTHER_COST)
        if C is None and not self.examples.targets.is_single:
            cost *= _SETS_COST
        n_weights = budget // bytes_of_weight(int(self.examples.X.shape[1]))
        recipe = Recipe(cost, n_weights, self.seed)
        kinds: list[ClassVectors] = []
        with progress_bar(n_classes, self.verbose, "class vector") as draw:

            def report(done: int) -> None:
                if self.until is not None and monotonic() > self.until:
                    raise _TooLate
                draw(done, "")

            try:
                report(0)
                found = self._candidates(decoder, n_threads)
                feed = Feed(self.examples, scaling)
                settings: dict[str, Any] = {"n_threads": n_threads, "report": report}
                kinds.append(train_class_vectors(feed, found, n_classes, recipe, **settings))
                most = _n_centers(feed, budget) if C is None else 0
                if most:
                    settings |= {"seed": self.seed, "report": partial(report, n_classes)}
                    centers = find_class_centers(feed, found, most=most, **settings)
                    kinds += [] if centers is None else [centers]
            except (_TooLate, KeyboardInterrupt) as error:
                ended = "Interrupted" if isinstance(error, KeyboardInterrupt) else "Time was up"
                if not kinds:
                    warn(f"{ended} before the second stage was trained; it is left out.")
            return kinds

    def _candidates(self, decoder: Decoder, n_threads: int) -> NDArray[np.int32]:
        """Return the first candidates of each training row; -1 for rows that name none."""
        examples = self.examples
        rows = np.arange(examples.n_rows) if examples.rows is None else examples.rows
        width = N_CANDIDATES
        if not examples.targets.is_single:
            width += round(_MORE * float(examples.targets.sizes().mean()))
        width = min(width, decoder.n_classes)
        predictor = self.predictor.with_decoder(decoder.reaching(width))
        found = np.full((len(rows), width), -1, dtype=np.int32)
        naming = draw_rows(len(rows), _NAMING)
        for start in range(0, len(naming), _ROWS):
            block = naming[start : start + _ROWS]
            X = examples.X[rows[block]]
            named = predictor.candidates(X, width, n_jobs=n_threads)[0]
            found[block, : named.shape[1]] = named  # a table may not find as many
        return found

    def _other_bytes(self) -> int:
        """Return what the model takes without a second stage."""
        parts = self.predictor.encoder, self.predictor.decoder
        costs = [part.cost() for part in parts if hasattr(part, "cost")]
        return sum(cost.bytes for cost in costs)


def _n_centers(feed: "Feed", budget: int) -> int:
    """Return how many centers a class may have in so many bytes; 0 where they make no sense.

    Centers are for dense rows of one class. Sparse rows of a class have too little in common.
    """
    is_dense = isinstance(feed.features(np.zeros(1, np.int64)), np.ndarray)
    if not is_dense or not feed.targets.is_single:
        return 0
    left = max(0, budget - _OF_FEATURE * feed.n_features)
    return min(_CENTERS, left // (feed.targets.n_classes * (feed.n_features + _BESIDE)))
