"""The steps of an epoch without torch, in threads that give the same bits in any number."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc._native import Trainer
from dsnc.codes import Encoded, HammingIndex
from dsnc.decoders.known_codes import weight_codes
from dsnc.decoders.scoring import Candidates, Scoring, accuracy
from dsnc.fast import recipe
from dsnc.fast.model import Model, Weights
from dsnc.fast.rows import Feed, Scaling, without_some
from dsnc.rows import draw_rows
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.loop import Pass, Steps
from dsnc.training.settings import RunSettings

_CANDIDATES = 64  # classes that a held-out row is decided among
_MOST_ROWS = 4096  # held-out rows that an epoch is measured on
_SHARPNESS = (1.0, 0.4)  # of their bits


class Plan(NamedTuple):
    """What a step does, in numbers that stay the same."""

    n_bits: int
    n_draws: int
    soft_share: float  # of the loss; where it is 0, no soft bits are looked at
    sharpness: float  # of the soft bits
    n_uniform: int
    window: int  # blocks of classes in which the nearest are looked for
    smoothing: float
    fading: float  # what is left of a sum of squares after a step
    bias_rate: float  # as a share of that of the class vectors
    moves_encoder: bool
    each_alone: bool  # whether classes are decided one by one, by sigmoids, and not by a softmax


class HeldOutRows:
    """Rows that tell how good an epoch was, through their nearest classes: not rows x classes.

    They are scaled as the rows that are learned from. Of very many, some are looked at.
    """

    def __init__(self, examples: Examples, scaling: Scaling, n_threads: int = 1) -> None:
        self._n_threads = n_threads
        chosen = draw_rows(examples.n_rows, _MOST_ROWS)
        rows = chosen if examples.rows is None else examples.rows[chosen]
        self.n_rows = len(rows)
        some = examples._replace(rows=rows)
        self._feed = Feed(some, scaling)
        self._targets, self._weight = some.used()

    def accuracy(self, model: Model, sharpness: Sequence[float]) -> float:
        """Return what the best classes by soft bits are worth; see `Targets.worth`.

        Bits grow sharper as long as training lasts, and the decoder will choose how sharp it sees
        them: so the best of several is what an epoch is worth.
        """
        linear = model.decoder()
        index = HammingIndex(weight_codes(linear)[0])
        worth = np.empty((len(sharpness), self.n_rows))
        for rows, encoded, targets in self._encoded(model):
            _, classes = index.search(encoded.codes, _CANDIDATES, n_jobs=self._n_threads)
            doubts = np.zeros(classes.shape, np.float32)
            candidates = Candidates(linear, encoded.numbers(), classes, doubts, targets)
            for which, value in enumerate(sharpness):
                worth[which, rows] = candidates.worth(candidates.scores(Scoring(value)))
        # Rounded, so that a row of next to no weight does not decide which epoch is best.
        return round(max(accuracy(each, self._weight) for each in worth), 6)

    def _encoded(self, model: Model) -> Iterator[tuple[slice, Encoded, Targets]]:
        for start in range(0, self.n_rows, self._feed.at_once):
            rows = slice(start, min(start + self._feed.at_once, self.n_rows))
            encoded = Encoded(model.logits(self._feed.matrix(np.arange(rows.start, rows.stop))))
            yield rows, encoded, self._targets.take(rows)


class FastSteps(Steps):
    """Trains a model.

    Parameters
    ----------
    model : Model
    feed : Feed
        The rows.
    settings : RunSettings
        Among them rates and epochs, as numbers.
    plan : Plan
        What a step does.
    seed : int
        Decides the order of rows and all noise.
    n_threads : int
        The result does not depend on it.
    held_out : HeldOutRows, optional
    searches : callable
        Tells whether an epoch looks for the nearest classes, or takes those of the one before.
    batch_size : int
    left_out : float
        Share of a row's features that a step does not see, others each time.
    """

    def __init__(
        self,
        model: Model,
        feed: Feed,
        settings: RunSettings,
        plan: Plan,
        *,
        seed: int,
        n_threads: int = 1,
        held_out: HeldOutRows | None = None,
        searches: Callable[[int], bool] = recipe.searches,
        batch_size: int = recipe.BATCH,
        left_out: float = 0.0,
    ) -> None:
        self.model, self.settings, self.held_out = model, settings, held_out
        self._feed, self._seed, self._left_out = feed, seed, left_out
        batch_size = min(batch_size, feed.n_rows)
        self._at_once = max(1, feed.at_once // batch_size) * batch_size
        self._best: Weights | None = None
        self._is_best = False  # whether the weights are the best, and not copied yet
        n_classes = len(model.weights.classes)
        self._n_nearest = min(recipe.N_NEAREST, n_classes)
        self._searches = searches
        self._near: NDArray[np.int32] | None = None  # the nearest classes of all rows
        is_needed = not all(map(searches, range(int(settings.max_epochs))))
        is_few = feed.n_rows * self._n_nearest <= recipe.MOST_KEPT
        self._keeps_near = is_needed and is_few and n_classes > recipe.FEW
        n_threads = min(n_threads, batch_size)
        given = model.weights, model.squares, plan, batch_size, self._n_nearest, n_threads
        self._trainer = Trainer(*given)

    def run(self, epoch: int, is_late: Callable[[], bool]) -> Pass:
        """Pass over the rows in an order of their own for each epoch."""
        self._copy_best()
        noise = np.random.SeedSequence([self._seed, epoch])
        order = np.random.default_rng(noise).permutation(self._feed.n_rows)
        seed = int(noise.generate_state(1, np.uint64)[0])
        total, done = 0.0, 0
        searches = self._near is None or self._searches(epoch)
        for start in range(0, len(order), self._at_once):
            part = order[start : start + self._at_once]
            total += self._learn(part, seed, start, epoch, searches)
            done += len(part)
            if is_late():
                break
        rate = self._rates(epoch + done / len(order))[0]
        is_whole = done == len(order)
        return Pass(rows=done, loss=total / done, learning_rate=rate, is_whole=is_whole)

    def _learn(
        self, rows: NDArray[np.int64], seed: int, place: int, epoch: int, searches: bool
    ) -> float:
        """Take the steps over some rows; return the sum of their losses."""
        n_rows = self._feed.n_rows
        ends = (epoch + place / n_rows, epoch + (place + len(rows)) / n_rows)
        rates = np.array([self._rates(end) for end in ends], np.float32).T.copy()
        near, taken = self._near_of(rows, searches), self._feed.take(rows)
        if self._left_out:
            lots = np.random.SeedSequence([seed, place]).generate_state(1)[0]
            taken = without_some(taken, self._left_out, int(lots))
        loss = self._trainer.run(taken._replace(near=near), rates, seed, place, searches)
        if searches and self._keeps_near:
            self._keep_near(rows, near)
        return loss

    def _near_of(self, rows: NDArray[np.int64], searches: bool) -> NDArray[np.int32]:
        """Return the nearest classes of some rows, or room for them."""
        if searches or self._near is None:
            return np.empty((len(rows), self._n_nearest), np.int32)
        return self._near[rows]

    def _keep_near(self, rows: NDArray[np.int64], near: NDArray[np.int32]) -> None:
        if self._near is None:
            self._near = np.empty((self._feed.n_rows, near.shape[1]), np.int32)
        self._near[rows] = near

    def _rates(self, epochs: float) -> recipe.Rates:
        peak = recipe.peak_rates(self.settings)
        n_epochs = int(self.settings.max_epochs)
        share = recipe.share_of_peak(epochs, n_epochs, self.settings.schedule)
        return recipe.Rates(peak.encoder * share, peak.classes * share)

    def validate(self) -> tuple[float, int] | None:
        """Return the accuracy on held-out rows, and how many of them were looked at."""
        if self.held_out is None:
            return None
        return self.held_out.accuracy(self.model, _SHARPNESS), self.held_out.n_rows

    def keep(self) -> None:
        """Remember the weights as they are; they are not copied before they move."""
        self._is_best = True

    def _copy_best(self) -> None:
        """Copy the weights if they are the best ones."""
        if self._is_best:
            if self._best is None:
                self._best = Weights(*(np.empty_like(array) for array in self.model.weights))
            for kept, array in zip(self._best, self.model.weights, strict=True):
                kept[...] = array
            self._is_best = False

    def keep_best(self) -> None:
        """Go back to the best weights, if any were remembered."""
        if self._best is not None and not self._is_best:
            for kept, array in zip(self._best, self.model.weights, strict=True):
                array[...] = kept
        self._best, self._is_best = None, False

    def state(self) -> dict[str, Any]:
        """Return weights, sums of squared gradients, the best weights, and the nearest classes."""
        self._copy_best()
        sets = {"weights": self.model.weights, "squares": self.model.squares, "best": self._best}
        arrays = {
            f"{name}.{field}": array
            for name, known in sets.items()
            if known is not None
            for field, array in known._asdict().items()
        }
        return {"arrays": arrays | ({} if self._near is None else {"near": self._near})}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        arrays = state["arrays"]
        self._near = arrays.get("near")
        if "best.classes" in arrays:
            self.keep()
            self._copy_best()  # makes room
        sets = {"weights": self.model.weights, "squares": self.model.squares, "best": self._best}
        for name, known in sets.items():
            for field, array in (known._asdict() if known is not None else {}).items():
                array[...] = arrays[f"{name}.{field}"]
        self.read_codes()

    def read_codes(self) -> None:
        """Take the codes of the classes from their vectors, when others have changed these."""
        self._trainer.read_codes()
