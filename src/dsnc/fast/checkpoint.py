"""The checkpoint of a run without torch: arrays, and the history beside them."""

import json
from typing import IO, Any

from safetensors import safe_open
from safetensors.numpy import save

from dsnc.training.checkpoint import Checkpoint


class ArrayCheckpoint(Checkpoint):
    """Of a run whose state is a dict of arrays, by name."""

    trainer = "fast"

    def _write(self, state: dict[str, Any], file: IO[bytes]) -> None:
        plain = {key: value for key, value in state.items() if key != "arrays"}
        file.write(save(state["arrays"], metadata={"state": json.dumps(plain)}))

    def _read(self) -> dict[str, Any]:
        with safe_open(self.path, framework="numpy") as file:
            plain = json.loads(file.metadata()["state"])
            return {**plain, "arrays": {name: file.get_tensor(name) for name in file.keys()}}
