"""The steps of an epoch without torch: kernels in threads that give the same bits in any number."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import Encoded, HammingIndex, PackedCodes
from dsnc.codes.layout import Layout, scratch
from dsnc.decoders.known_codes import weight_codes
from dsnc.decoders.scoring import Candidates, Scoring, accuracy
from dsnc.fast import recipe
from dsnc.fast._kernels import step as kernels
from dsnc.fast._kernels.lanes import LANES
from dsnc.fast._kernels.meeting import GATE
from dsnc.fast._kernels.state import Batch, Plan, Space, Weights
from dsnc.fast.model import Model
from dsnc.fast.rows import Feed, Scaling, without_some
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.loop import Pass, Steps
from dsnc.training.settings import RunSettings

_CANDIDATES = 64  # classes that a held-out row is decided among
_MOST_ROWS = 4096  # held-out rows that an epoch is measured on
_SHARPNESS = (1.0, 0.4)  # of their bits


class HeldOutRows:
    """Rows that tell how good an epoch was, through their nearest classes: not rows x classes.

    They are scaled as the rows that are learned from. Of very many, some are looked at, evenly
    spaced.
    """

    def __init__(self, examples: Examples, scaling: Scaling, n_threads: int = 1) -> None:
        self._n_threads = n_threads
        n = examples.n_rows
        chosen = np.linspace(0, n - 1, min(n, _MOST_ROWS)).astype(np.int64)
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
        self._feed, self._plan, self._seed, self._left_out = feed, plan, seed, left_out
        batch_size = min(batch_size, feed.n_rows)
        self._n_threads = min(n_threads, batch_size)
        self._at_once = max(1, feed.at_once // batch_size) * batch_size
        self._best: Weights | None = None
        self._is_best = False  # whether the weights are the best, and not copied yet
        n_classes, width = model.weights.classes.shape
        n_nearest = min(recipe.N_NEAREST, n_classes)
        self._searches = searches
        self._near: NDArray[np.int32] | None = None  # the nearest classes of all rows
        is_needed = not all(map(searches, range(int(settings.max_epochs))))
        is_few = feed.n_rows * n_nearest <= recipe.MOST_KEPT
        self._keeps_near = is_needed and is_few and n_classes > recipe.FEW
        self._layout = _laid_out(model)
        n_octets = max(self._layout.planes.shape[1], width // 8)
        n_inputs = plan.n_draws + (plan.soft_share > 0)
        most = -(-(feed.targets.most + n_nearest + plan.n_uniform) // LANES) * LANES

        def floats(*shape: int) -> NDArray[np.float32]:
            return np.zeros(shape, np.float32)

        slots = 2 * batch_size
        self._batch = Batch(
            floats(slots, width),
            floats(slots, width),
            floats(slots, width),
            np.zeros((slots, n_octets), np.uint8),
            floats(slots, n_inputs, width),
            np.zeros((slots, most), np.int32),
            np.zeros(slots, np.int64),
            np.zeros(slots, np.int64),
            np.zeros(slots, np.int64),
            floats(slots, n_inputs, most),
        )
        self._spaces = [
            Space(
                np.empty((batch_size, n_nearest), np.int64),
                *scratch(model.n_bits, batch_size, n_nearest),
                floats(1, width),
                np.zeros((1, n_octets), np.uint8),
            )
            for _ in range(self._n_threads)
        ]

    def run(self, epoch: int, is_late: Callable[[], bool]) -> Pass:
        """Pass over the rows in an order of their own for each epoch."""
        self._copy_best()
        noise = np.random.SeedSequence([self._seed, epoch])
        order = np.random.default_rng(noise).permutation(self._feed.n_rows)
        seed = noise.generate_state(1, np.uint64)[0]
        total, done = 0.0, 0
        searches = self._near is None or self._searches(epoch)
        with ThreadPoolExecutor(self._n_threads) as pool:
            for start in range(0, len(order), self._at_once):
                part = order[start : start + self._at_once]
                total += self._learn(pool, part, seed, start, epoch, searches)
                done += len(part)
                if is_late():
                    break
        rate = self._rates(epoch + done / len(order))[0]
        is_whole = done == len(order)
        return Pass(rows=done, loss=total / done, learning_rate=rate, is_whole=is_whole)

    def _learn(
        self,
        pool: ThreadPoolExecutor,
        rows: NDArray[np.int64],
        seed: Any,
        place: int,
        epoch: int,
        searches: bool,
    ) -> float:
        """Take the steps over some rows; return the sum of their losses."""
        n_threads, n_rows = self._n_threads, self._feed.n_rows
        ends = (epoch + place / n_rows, epoch + (place + len(rows)) / n_rows)
        rates = np.array([self._rates(end) for end in ends], np.float32).T.copy()
        gates, losses = np.zeros((2, GATE), np.int64), np.zeros(len(self._batch.logits) // 2)
        near = self._near_of(rows, searches)
        plan, taken = self._plan._replace(searches=searches), self._feed.take(rows)
        if self._left_out:
            lots = np.random.SeedSequence([int(seed), place]).generate_state(1)[0]
            taken = without_some(taken, self._left_out, lots)
        taken = taken._replace(near=near)
        given = taken, self.model.weights, self.model.squares, tuple(self._layout)

        def work(thread: int) -> None:
            mine = self._batch, self._spaces[thread], plan, rates, seed, place
            kernels.run(*given, *mine, (thread, n_threads), gates, losses)

        if n_threads == 1:
            work(0)
        else:
            _in_all(pool, work, n_threads)
        if searches and self._keeps_near:
            self._keep_near(rows, near)
        return float(losses.sum())

    def _near_of(self, rows: NDArray[np.int64], searches: bool) -> NDArray[np.int32]:
        """Return the nearest classes of some rows, or room for them."""
        if searches or self._near is None:
            return np.empty((len(rows), self._spaces[0].keys.shape[1]), np.int32)
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
        self._layout = _laid_out(self.model)


def _laid_out(model: Model) -> Layout:
    """Return the codes of the classes: the signs of their vectors."""
    return Layout.of(PackedCodes.from_logits(model.weights.classes[:, : model.n_bits]))


def _in_all(pool: ThreadPoolExecutor, work: Callable[[int], None], n_threads: int) -> None:
    """Do work in threads that will wait for each other: in all, or else in none.

    Ctrl-C may come, or the system may refuse a thread, when some are there already.
    """
    begin, running = Event(), list[Future[None]]()

    def wait_and_work(thread: int) -> None:
        begin.wait()
        if len(running) == n_threads:
            work(thread)

    try:
        for thread in range(n_threads):
            running.append(pool.submit(wait_and_work, thread))
        begin.set()
        for future in running:
            future.result()
    finally:  # after Ctrl-C, too, nothing may go on moving the weights
        begin.set()
        wait(running)
