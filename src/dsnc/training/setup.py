"""Before the first step: the encoder for the rows that come, scaled, in its objective."""

from collections.abc import Callable
from typing import Any

import scipy.sparse as sp
import torch
from torch import nn

from dsnc.encoders.torch import LinearEncoder, MLPEncoder, ModuleEncoder, make_encoder
from dsnc.errors import InputError
from dsnc.training.base_objective import BaseObjective
from dsnc.training.examples import Examples
from dsnc.training.scaling import check_scaling, divides_rows, is_mostly_zeros, scale_of
from dsnc.training.settings import RunSettings

OURS = (LinearEncoder, MLPEncoder)  # their weights can be exported

MakeObjective = Callable[[Any, nn.Module, int, torch.Generator], BaseObjective]
"""(settings, encoder, number of classes, generator of first weights) to what is trained."""


def set_up(
    settings: RunSettings,
    examples: Examples,
    n_classes: int,
    generator: torch.Generator,
    make_objective: MakeObjective,
    device: torch.device,
) -> BaseObjective:
    """Return the objective before training, on its device; `examples` decide the scaling."""
    n_features, sparse = int(examples.X.shape[1]), bool(sp.issparse(examples.X))
    scaling, mostly_zeros = settings.scaling, is_mostly_zeros(examples.X)
    check_scaling(scaling, examples.X, mostly_zeros)
    hidden = {"hidden": tuple(settings.hidden), "normalize": settings.normalize}
    encoder = make_encoder(
        settings.encoder,
        n_features,
        settings.n_bits,
        generator,
        sparse=mostly_zeros,
        **(hidden if settings.encoder == "mlp" else {}),
    )
    is_ours = isinstance(encoder, OURS)
    if sparse and not (is_ours or getattr(encoder, "accepts_sparse", False)):
        raise InputError(
            "encoder: X is sparse and your module does not say accepts_sparse = True; give it "
            "that attribute and SparseRows, or pass X.toarray()."
        )
    objective = make_objective(settings, encoder, n_classes, generator)
    if isinstance(encoder, OURS) and scaling != "none" and not divides_rows(scaling, mostly_zeros):
        encoder.input.scale(*scale_of(examples, scaling))
    objective.to(device)
    if not is_ours:
        _try(ModuleEncoder(encoder, n_features, settings.n_bits), examples.X)
    return objective


def _try(module: ModuleEncoder, X: Any) -> None:
    """Try a user's module on two rows, so that it fails here rather than deep in torch."""
    try:
        shape = module.logits(X[:2]).shape
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"encoder: your module cannot map rows of {module.n_features} features ({error})."
        ) from error
    if shape != (min(2, X.shape[0]), module.n_bits):
        raise InputError(
            f"encoder: your module maps {min(2, X.shape[0])} rows to shape {shape}; expected "
            f"n_bits={module.n_bits} numbers a row."
        )
