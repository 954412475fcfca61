"""After the last step: trained arrays, and the way back to go on from them."""

from typing import Any, NamedTuple

from dsnc.decoders import Decoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.encoders.torch import ModuleEncoder
from dsnc.errors import InputError
from dsnc.training.base_objective import BaseObjective
from dsnc.training.setup import OURS


class Trained(NamedTuple):
    """What training leaves: arrays, or the user's own module behind a face."""

    encoder: NumpyEncoder | ModuleEncoder
    decoder: Decoder


def export(objective: BaseObjective, n_features: int, *, unit_rows: bool) -> Trained:
    """Return what was learned; the scaling of features is inside the weights."""
    encoder, n_bits = objective.encoder, objective.settings.n_bits
    exported: NumpyEncoder | ModuleEncoder
    if isinstance(encoder, OURS):
        layers = [Layer(*layer) for layer in encoder.layers()]
        exported = NumpyEncoder(layers, row_normalize=unit_rows)
    else:
        exported = ModuleEncoder(encoder, n_features, n_bits, row_normalize=unit_rows)
    return Trained(exported, objective.make_decoder())


def take_over(objective: BaseObjective, encoder: Any, decoder: Any) -> None:
    """Let an objective go on from what `export` gave."""
    settings = objective.settings
    if encoder.n_bits != settings.n_bits:
        raise InputError(
            f"n_bits={settings.n_bits}, but the model has {encoder.n_bits} bits; to "
            "change n_bits, call fit."
        )
    if isinstance(encoder, ModuleEncoder):
        objective.encoder = encoder.module
    else:
        try:
            objective.encoder.load_layers(list(encoder.layers))  # type: ignore[operator]
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"encoder={settings.encoder!r}, hidden={settings.hidden!r} is not the encoder "
                "that the model has; to change it, call fit."
            ) from error
    objective.take_over(decoder)
