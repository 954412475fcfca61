"""What happened in training, epoch by epoch."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """The figures of one epoch. The accuracy is None if it was not measured."""

    epoch: int
    rows: int
    loss: float
    intra: float
    inter: float
    factor: float
    learning_rate: float
    seconds: float
    validation_accuracy: float | None = None
    validation_rows: int | None = None  # that it was measured on

    def __str__(self) -> str:
        """Return the most important figures."""
        text = f"loss {self.loss:.4f}"
        if self.validation_accuracy is not None:
            text += f", validation accuracy {100 * self.validation_accuracy:.2f} %"
        return text


@dataclass
class History:
    """The epochs of a run, why it ended, and which epoch was kept.

    ``pandas.DataFrame(history.records())`` makes a table of it.
    """

    epochs: list[Epoch] = field(default_factory=list)
    best_epoch: int | None = None
    best_accuracy: float | None = None
    stopped: str = ""

    def records(self) -> list[dict[str, Any]]:
        """Return one dict per epoch."""
        return [asdict(epoch) for epoch in self.epochs]

    def column(self, name: str) -> list[Any]:
        """Return one figure of all epochs."""
        return [getattr(epoch, name) for epoch in self.epochs]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values; `from_dict` reverses this."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "History":
        """Make a history from the result of `to_dict`."""
        return cls(**{**values, "epochs": [Epoch(**epoch) for epoch in values["epochs"]]})

    def __len__(self) -> int:
        """Return the number of epochs."""
        return len(self.epochs)

    def __repr__(self) -> str:
        """Return one line: number of epochs, best accuracy, why training ended."""
        best = ""
        if self.best_accuracy is not None:
            best = f", best validation accuracy {self.best_accuracy:.4f} in epoch {self.best_epoch}"
        return f"History({len(self)} epochs{best}; {self.stopped or 'running'})"


@dataclass
class Progress:
    """What a callback receives after each epoch."""

    epoch: Epoch
    history: History
    max_epochs: int
    is_stopping: bool = False

    def stop(self) -> None:
        """End training after this epoch; the best one is kept."""
        self.is_stopping = True
