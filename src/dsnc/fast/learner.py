"""From arrays to trained arrays without torch: the fast twin of `dsnc.training.learner`."""

import os
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders import LinearDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import InputError
from dsnc.fast import recipe
from dsnc.fast.checkpoint import ArrayCheckpoint
from dsnc.fast.model import Model, log_frequencies, log_odds
from dsnc.fast.rows import Feed, Scaling, scaling_of
from dsnc.fast.steps import FastSteps, HeldOutRows, Plan
from dsnc.threads import n_threads
from dsnc.training.examples import Examples
from dsnc.training.history import History
from dsnc.training.loop import INTERRUPTED, LATE, train
from dsnc.training.losses import MANY, refuse_smoothing
from dsnc.training.pace import derived_seed, pace_of_a_pass
from dsnc.training.scaling import is_mostly_zeros
from dsnc.training.settings import Settings

_MOST_THREADS = 8  # a batch is small: more would wait for each other


class FastLearner:
    """Learns from arrays: a linear encoder, straight through drawn bits, few classes at a time.

    Parameters
    ----------
    settings : Settings
        How; of those that only torch knows, the defaults.
    examples : Examples
        The rows that decide the scaling; training may use them or others of the same width.
    n_classes : int
        Number of classes.
    seed : int
        Decides everything that is random.
    n_jobs : int, optional
        Threads; by default as many as there are cores, or as OMP_NUM_THREADS says. The result does
        not depend on it.
    """

    trainer = "fast"
    device = "cpu"

    def __init__(
        self,
        settings: Settings,
        examples: Examples,
        n_classes: int,
        seed: int,
        n_jobs: int | None = None,
    ) -> None:
        settings.check()
        self.settings, self.n_classes, self.seed = settings, n_classes, seed
        self.n_features = int(examples.X.shape[1])
        self._sparse = is_mostly_zeros(examples.X)
        self._scaling = scaling_of(settings.scaling, examples, mostly_zeros=self._sparse)
        self._n_threads = min(_MOST_THREADS, threads_to_train(n_jobs))
        self._model: Model | None = None
        self._is_shared = False  # whether others read its class vectors
        self._soft: Model | None = None  # of `partial_fit`, from call to call
        self.is_over = False  # whether the user or the clock has ended training
        self._seconds = 0.0  # that it took

    def fit(self, examples: Examples, validation: Examples | None = None) -> History:
        """Train from the first epoch to the last."""
        begun = monotonic()
        pace = self._pace(examples)
        checkpoint = ArrayCheckpoint.of_run(
            self.settings, self.seed, self.n_classes, examples, validation
        )
        steps = self._steps(self._started(examples), examples, pace, validation=validation)
        history = train(steps, pace, checkpoint=checkpoint)
        self.is_over = history.stopped in (INTERRUPTED, LATE)
        self._seconds = monotonic() - begun
        return history

    def seconds_left(self) -> float | None:
        """Return how much of the time limit training has left, if there is one."""
        limit = self.settings.time_limit
        return None if limit is None else limit - self._seconds

    def partial_fit(self, examples: Examples, call: int) -> History:
        """Pass once over some rows with a constant learning rate; `call` numbers the passes."""
        pace = self._pace_of_a_pass()
        return train(self._steps(self._started(examples), examples, pace, call=call), pace)

    def load(self, encoder: Any, decoder: Any) -> None:
        """Go on from trained arrays: the scaling that is inside their weights is taken out."""
        if encoder.n_bits != self.settings.n_bits:
            raise InputError(
                f"n_bits={self.settings.n_bits}, but the model has {encoder.n_bits} bits; to "
                "change n_bits, call fit."
            )
        if not isinstance(encoder, NumpyEncoder) or len(encoder.layers) > 1:
            raise InputError(
                "encoder='linear' is not the encoder that the model has; to change it, call fit."
            )
        if encoder.row_normalize:  # whatever these rows would have asked for
            self._scaling = Scaling(unit_rows=True)
        else:
            self._scaling = self._scaling._replace(unit_rows=False)
        weight, bias, _ = encoder.layers[0]
        shift, factor = self._scaling.shift, self._scaling.factor
        if shift is not None and factor is not None:
            bias = bias + shift @ weight
            weight = weight / factor[:, None]
        unit_rows = self._scaling.unit_rows
        self._model = Model.of(weight, bias, decoder.weight, decoder.bias, unit_rows=unit_rows)

    def export(self) -> tuple[NumpyEncoder, LinearDecoder]:
        """Return what was learned; the scaling of features is inside the weights.

        The class vectors are not copied before they are to be moved again.
        """
        self._is_shared = True
        weights, n_bits = self._trained.weights, self.settings.n_bits
        weight, bias = weights.encoder[:, :n_bits], weights.bias[0, :n_bits]
        shift, factor = self._scaling.shift, self._scaling.factor
        if shift is not None and factor is not None:
            weight = weight * factor[:, None]
            bias = bias - shift @ weight
        encoder = NumpyEncoder([Layer(weight, bias)], row_normalize=self._scaling.unit_rows)
        return encoder, self._trained.decoder()

    @property
    def _trained(self) -> Model:
        if self._model is None:
            raise InputError("nothing has been learned yet; call fit or partial_fit first.")
        return self._model

    def _started(self, examples: Examples) -> Model:
        """Return the model, which is made of the first rows that come."""
        if self._model is None:
            sizes = self.n_features, self.settings.n_bits
            bias = self._first_bias(examples)
            self._model = Model.start(*sizes, bias, self.seed)
        elif self._is_shared:
            self._model, self._is_shared = self._model.copy(), False
        return self._model

    def _each_alone(self, examples: Examples) -> bool:
        """Tell whether classes are decided one by one: rows may have several."""
        if self.settings.loss != "auto":
            return bool(self.settings.loss == "sampled_sigmoid")
        return not examples.targets.is_single and self.n_classes < MANY

    def _first_bias(self, examples: Examples) -> NDArray[np.float32]:
        """Return what the scores of classes begin with: how frequent each is."""
        counts = examples.counts()
        if self._each_alone(examples):
            return log_odds(counts, examples.total_weight())
        return log_frequencies(counts)

    def _pace(self, examples: Examples) -> Settings:
        """Return the settings with numbers where they say "auto"."""
        epochs = recipe.epochs_for(self.settings, examples.n_rows, sparse=self._sparse)
        rate = recipe.peak_rates(self.settings, epochs).encoder
        return replace(self.settings, learning_rate=rate, max_epochs=epochs)

    def _pace_of_a_pass(self) -> Settings:
        """Do so for a single pass, of which nobody knows how many will follow."""
        rate = recipe.peak_rates(self.settings).encoder
        return replace(pace_of_a_pass(self.settings), learning_rate=rate)

    def _steps(
        self,
        model: Model,
        examples: Examples,
        pace: Settings,
        *,
        validation: Examples | None = None,
        call: int = 0,
    ) -> FastSteps:
        size = self.settings.batch_size
        held_out = None
        if validation is not None:
            held_out = HeldOutRows(validation, self._scaling, self._n_threads)
        return FastSteps(
            model,
            Feed(examples, self._scaling),
            pace,
            _plan(self.settings, each_alone=self._each_alone(examples)),
            seed=derived_seed(self.seed, call),
            n_threads=self._n_threads,
            held_out=held_out,
            batch_size=recipe.BATCH if isinstance(size, str) else int(size),
            left_out=recipe.LEFT_OUT if self._sparse and self._scaling.factor is None else 0.0,
        )


def _plan(settings: Settings, *, each_alone: bool) -> Plan:
    if each_alone and settings.label_smoothing:
        refuse_smoothing(settings.label_smoothing, "'sampled_sigmoid', one class at a time")
    return Plan(
        n_bits=settings.n_bits,
        n_draws=settings.gradient.n_draws,
        soft_share=settings.soft_share,
        sharpness=1.0,
        n_uniform=recipe.ALONE_UNIFORM if each_alone else recipe.N_UNIFORM,
        window=recipe.WINDOW,
        smoothing=settings.label_smoothing,
        fading=recipe.ALONE_FADING if each_alone else recipe.FADING,
        bias_rate=recipe.BIAS_RATE,
        moves_encoder=True,
        each_alone=each_alone,
    )


def threads_to_train(n_jobs: int | None) -> int:
    """Return how many threads train: as many as are asked for, else all cores."""
    if n_jobs is not None:
        return n_threads(n_jobs)
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdigit() and int(said) else n_threads(-1)
