"""The checkpoint of a run of torch."""

from typing import IO, Any

import torch

from dsnc.training.checkpoint import Checkpoint


class TorchCheckpoint(Checkpoint):
    """Of a run whose state is tensors and plain values."""

    trainer = "torch"

    def _write(self, state: dict[str, Any], file: IO[bytes]) -> None:
        torch.save(state, file)

    def _read(self) -> dict[str, Any]:
        return dict(torch.load(self.path, map_location="cpu", weights_only=True))
