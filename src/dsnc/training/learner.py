"""From arrays to trained arrays: puts source, encoder, objective and loop together."""

import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from dsnc.decoders import LinearDecoder
from dsnc.encoders.torch import Layers, LinearEncoder, MLPEncoder, ModuleEncoder, make_encoder
from dsnc.errors import DsncWarning, InputError
from dsnc.labels import Targets
from dsnc.training.base_objective import BaseObjective
from dsnc.training.batches import Batches, RowSource, Subset, make_source
from dsnc.training.checkpoint import Checkpoint
from dsnc.training.distributed import World, join_world
from dsnc.training.examples import Examples, fingerprint
from dsnc.training.history import History
from dsnc.training.loop import (
    INTERRUPTED,
    LATE,
    TrainConfig,
    Validation,
    make_optimizer,
    train,
)
from dsnc.training.objective import code_objective
from dsnc.training.regularizer import PartnerSampler
from dsnc.training.scaling import scale_of
from dsnc.training.settings import RunSettings, Settings
from dsnc.training.soft_objective import SoftRowsObjective

_OURS = (LinearEncoder, MLPEncoder)  # their weights can be exported
_SOFT_SHARE = 5  # vectors for soft bits begin where training ended: a fifth of its epochs will do
_SOFT_SEED = 1 << 30  # of their batches, beside those of training

MakeObjective = Callable[[Any, nn.Module, int, torch.Generator], BaseObjective]
"""(settings, encoder, number of classes, generator of first weights) to what is trained."""


@dataclass(frozen=True)
class Trained:
    """What training leaves: arrays, or the user's own module behind a face."""

    layers: Layers
    module: ModuleEncoder | None
    unit_rows: bool
    decoder: Any  # a dsnc.decoders.Decoder


class Learner:
    """Learns from arrays.

    Parameters
    ----------
    settings : RunSettings
        How.
    examples : Examples
        The rows that decide the scaling; training may use them or others of the same width.
    n_classes : int
        Number of classes.
    seed : int
        Decides everything that is random.
    make_objective : MakeObjective, optional
        What to train around the encoder; by default the model of the paper.
    """

    def __init__(
        self,
        settings: RunSettings,
        examples: Examples,
        n_classes: int,
        seed: int,
        make_objective: MakeObjective | None = None,
    ) -> None:
        settings.check()
        self.settings, self.n_classes, self.seed = settings, n_classes, seed
        self.n_features = int(examples.X.shape[1])
        self.device = choose_device(settings.device)
        self._sparse = sparse = bool(sp.issparse(examples.X))
        scaling = settings.scaling
        if scaling in ("standard", "common") and sparse:
            raise InputError(
                f"scaling={scaling!r} would make a sparse X dense; use 'unit_rows' or 'none'."
            )
        self.unit_rows = scaling == "unit_rows" or (scaling == "auto" and sparse)
        self._optimizer: torch.optim.Optimizer | None = None
        self._soft: tuple[SoftRowsObjective, torch.optim.Optimizer] | None = None
        self._is_over = False  # whether the user or the clock has ended training
        self._seconds = 0.0  # that it took
        self.objective = self._make_objective(sparse, make_objective or code_objective)
        is_scaled = scaling != "none" and not self.unit_rows
        if is_scaled and isinstance(self.objective.encoder, _OURS):
            self.objective.encoder.input.scale(*scale_of(examples, scaling))
        self.objective.to(self.device)
        if not isinstance(self.objective.encoder, _OURS):
            self._try_module(examples.X)

    def _try_module(self, X: Any) -> None:
        """Show a module of the user's own two rows, to fail here rather than in torch."""
        module = ModuleEncoder(self.objective.encoder, self.n_features, self.settings.n_bits)
        try:
            shape = module.logits(X[:2]).shape
        except (RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                f"encoder: your module cannot map rows of {self.n_features} features ({error})."
            ) from error
        if shape != (min(2, X.shape[0]), self.settings.n_bits):
            raise InputError(
                f"encoder: your module maps {min(2, X.shape[0])} rows to shape {shape}; expected "
                f"n_bits={self.settings.n_bits} numbers a row."
            )

    def _make_objective(self, sparse: bool, make: MakeObjective) -> BaseObjective:
        settings = self.settings
        generator = torch.Generator().manual_seed(_derived(self.seed, 0))
        options: dict[str, Any] = {}
        if settings.encoder == "mlp" and isinstance(settings, Settings):
            options = {"hidden": tuple(settings.hidden), "normalize": settings.normalize}
        encoder = make_encoder(
            settings.encoder, self.n_features, settings.n_bits, generator, sparse=sparse, **options
        )
        takes_sparse = isinstance(encoder, _OURS) or getattr(encoder, "accepts_sparse", False)
        if sparse and not takes_sparse:
            raise InputError(
                "encoder: X is sparse and your module does not say accepts_sparse = True; give it "
                "that attribute and SparseRows, or pass X.toarray()."
            )
        return make(settings, encoder, self.n_classes, generator)

    def fit(self, examples: Examples, validation: Examples | None = None) -> History:
        """Train from the first epoch to the last."""
        settings, begun = self.settings, monotonic()
        self._expect_frequencies(examples)
        world = join_world(self.device.type)
        config = TrainConfig(
            max_epochs=settings.max_epochs,
            learning_rate=self._learning_rate(),
            weight_decay=float(settings.weight_decay),
            schedule=settings.schedule,
            validation_every=settings.validation_every,
            patience=settings.patience,
            time_limit=settings.time_limit,
            verbose=settings.verbose,
        )
        source, held_out = self._sources(examples, validation)
        history = train(
            self.objective,
            self._batches(self.objective, source, examples, self.seed, world),
            config,
            validation=held_out,
            world=world,
            checkpoint=self._checkpoint(examples, validation),
            callbacks=settings.callbacks,
        )
        self._is_over = history.stopped in (INTERRUPTED, LATE)
        self._seconds = monotonic() - begun
        return history

    def fit_soft_vectors(
        self,
        decoder: LinearDecoder,
        sharpness: float,
        examples: Examples,
        validation: Examples | None = None,
        *,
        call: int = 0,
    ) -> LinearDecoder:
        """Return the rows of a decoder, trained on soft bits of this sharpness.

        The encoder stays as it is. `call` numbers the calls of `partial_fit`: each passes once over
        its rows. After `fit` (0) there are some epochs; Ctrl-C leaves the best rows so far. When it
        or the clock has ended training before, or bits are not to be softer than training drew
        them, the rows are left as they are. What the first process wants, all do.
        """
        settings: Any = self.settings
        world = World() if call else join_world(self.device.type)
        left = None if settings.time_limit is None else settings.time_limit - self._seconds
        is_over = not call and (self._is_over or (left is not None and left <= 0))
        if not call:
            sharpness = world.sum(sharpness if world.is_first else 0.0, device=self.device)[0]
            is_over = is_over or sharpness >= 1
        if world.any(is_over, device=self.device):  # every process has its own clock
            return decoder
        config = TrainConfig(
            max_epochs=1 if call else -(-settings.max_epochs // _SOFT_SHARE),
            learning_rate=self._learning_rate(),
            weight_decay=float(settings.weight_decay),
            schedule="constant" if call else "one_cycle",
            time_limit=None if call else left,
            verbose=settings.verbose and not call,
            counted="soft epoch",
            depth=9,
        )
        objective, optimizer = self._soft_objective(decoder, sharpness, config, kept=bool(call))
        source, held_out = self._sources(examples, validation)
        seed = _derived(self.seed, _SOFT_SEED + call)
        batches = self._batches(objective, source, examples, seed, world)
        try:
            train(objective, batches, config, validation=held_out, world=world, optimizer=optimizer)
        except KeyboardInterrupt:
            if call:
                raise
            message = (
                "Interrupted before class vectors for soft bits were trained; they are left out."
            )
            warnings.warn(message, DsncWarning, stacklevel=config.depth - 1)
            return decoder
        return objective.make_decoder()

    def _soft_objective(
        self, decoder: LinearDecoder, sharpness: float, config: TrainConfig, *, kept: bool
    ) -> tuple[SoftRowsObjective, torch.optim.Optimizer]:
        """Return what trains rows, with the optimizer of the last call if it is to be kept."""
        if kept and self._soft is not None:
            objective, optimizer = self._soft
            objective.load_decoder(decoder.weight, decoder.bias)
            objective.sharpness = sharpness
            return objective, optimizer
        settings: Any = self.settings
        objective = SoftRowsObjective(
            self.objective.encoder,
            decoder,
            sharpness,
            smoothing=settings.label_smoothing,
            precision=getattr(torch, settings.precision),
        ).to(self.device)
        optimizer = make_optimizer(objective, config)
        self._soft = (objective, optimizer) if kept else None
        return objective, optimizer

    def _sources(
        self, examples: Examples, validation: Examples | None
    ) -> tuple[RowSource, Validation | None]:
        source = self._source(examples.X)
        if validation is None:
            return source, None
        theirs = source if validation.X is examples.X else self._source(validation.X)
        return source, Validation(*self._select(validation, theirs))

    def _learning_rate(self) -> float:
        if isinstance(self.settings.learning_rate, str):
            dense, sparse = self.settings.rates
            return sparse if self._sparse else dense
        return float(self.settings.learning_rate)  # a checkpoint takes no numpy scalar

    def _batch_size(self, n_rows: int) -> int:
        if isinstance(self.settings.batch_size, str):
            smallest, largest = self.settings.batch_sizes
            return min(largest, max(smallest, -(-n_rows // self.settings.steps)))
        return int(self.settings.batch_size)

    def partial_fit(self, examples: Examples, call: int) -> History:
        """Pass once over some rows with a constant learning rate; `call` numbers the passes."""
        config = TrainConfig(
            max_epochs=1,
            learning_rate=self._learning_rate(),
            weight_decay=self.settings.weight_decay,
            schedule="constant",
        )
        seed = _derived(self.seed, call)
        batches = self._batches(self.objective, self._source(examples.X), examples, seed, World())
        if self._optimizer is None:  # kept from call to call: its moments are what it has learned
            self._optimizer = make_optimizer(self.objective, config)
        return train(self.objective, batches, config, optimizer=self._optimizer)

    def load(self, encoder: Any, decoder: Any) -> None:
        """Go on from trained arrays; the scaling is inside their weights."""
        if encoder.n_bits != self.settings.n_bits:
            raise InputError(
                f"n_bits={self.settings.n_bits}, but the model has {encoder.n_bits} bits; to "
                "change them, fit anew."
            )
        if isinstance(encoder, ModuleEncoder):
            self.objective.encoder = encoder.module
        else:
            try:
                self.objective.encoder.load_layers(list(encoder.layers))  # type: ignore[operator]
            except (RuntimeError, ValueError) as error:
                hidden = getattr(self.settings, "hidden", ())
                raise InputError(
                    f"encoder={self.settings.encoder!r}, hidden={hidden!r} is not "
                    "the encoder that the model has; to change it, fit anew."
                ) from error
            self.unit_rows = encoder.row_normalize
        self.objective.take_over(decoder)
        self.objective.to(self.device)

    def export(self) -> Trained:
        """Return what was learned."""
        encoder = self.objective.encoder
        own = not isinstance(encoder, _OURS)
        return Trained(
            layers=[] if own else encoder.layers(),  # type: ignore[operator]
            module=ModuleEncoder(
                encoder, self.n_features, self.settings.n_bits, row_normalize=self.unit_rows
            )
            if own
            else None,
            unit_rows=self.unit_rows,
            decoder=self.objective.make_decoder(),
        )

    def describe(self, examples: Examples) -> dict[str, Any]:
        """Return what the model was made from, for its file."""
        return {
            "rows": examples.n_rows,
            "features": self.n_features,
            "sparse": bool(sp.issparse(examples.X)),
            "fingerprint": fingerprint(examples),
        }

    def _select(self, examples: Examples, source: RowSource) -> tuple[RowSource, Targets, Tensor]:
        """Return the rows to use, their targets and, on the device, their weights."""
        targets, weight = examples.used()
        if examples.rows is not None:
            source = Subset(source, torch.from_numpy(examples.rows).to(self.device))
        if weight is None:
            return source, targets, torch.ones(len(targets), device=self.device)
        return source, targets, torch.from_numpy(weight).to(self.device)

    def _expect_frequencies(self, examples: Examples) -> None:
        targets, weight = examples.used()
        counts = targets.counts(weight)
        self.objective.expect(torch.tensor(counts, dtype=torch.float32))

    def _source(self, X: Any) -> RowSource:
        return make_source(X, self.device, unit_rows=self.unit_rows)

    def _batches(
        self,
        objective: BaseObjective,
        source: RowSource,
        examples: Examples,
        seed: int,
        world: World,
    ) -> Batches:
        chosen, targets, weight = self._select(examples, source)
        y = torch.from_numpy(targets.y.astype(np.int64)).to(self.device)
        regularized = objective.is_regularized
        return Batches(
            chosen,
            y,
            weight,
            batch_size=self._batch_size(len(y)),
            seed=seed,
            device=self.device,
            partners=PartnerSampler(y, self.n_classes) if regularized else None,
            world=world,
        )

    def _checkpoint(self, examples: Examples, validation: Examples | None) -> Checkpoint | None:
        if self.settings.checkpoint is None:
            return None
        free = {"checkpoint", "callbacks", "verbose", "time_limit", "device", "soft_vectors"}
        settings = {k: repr(v) for k, v in vars(self.settings).items() if k not in free}
        data = [fingerprint(part) for part in (examples, validation) if part is not None]
        text = f"{settings} {self.seed} {self.n_classes} {data}"
        return Checkpoint(self.settings.checkpoint, hashlib.sha256(text.encode()).hexdigest())


def choose_device(device: str) -> torch.device:
    """Return the device by name; "auto" is CUDA where there is one."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if device == "cuda":  # under torchrun each process has its own
            device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        raise InputError(f"device={device!r} cannot be used here ({error}); try 'cpu'.") from error
    if chosen.type == "meta":
        raise InputError(f"device={device!r} holds no numbers; try 'cpu'.")
    return chosen


def _derived(seed: int, number: int) -> int:
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
