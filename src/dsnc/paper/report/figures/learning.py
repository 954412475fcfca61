"""What happened in training, epoch by epoch: one thin line for each seed."""

from collections.abc import Mapping, Sequence
from typing import Any

from dsnc.paper.report.figures.series import look_of
from dsnc.pictures.drawing import new_figure

Run = tuple[Sequence[float], Sequence[float]]  # epochs, values


def learning_figure(title: str, ylabel: str, runs: Mapping[str, tuple[str, Sequence[Run]]]) -> Any:
    """Return values against epochs.

    Parameters
    ----------
    title, ylabel : str
    runs : mapping
        Method to its title and the runs of its seeds.
    """
    figure, axes = new_figure(5.2, 3.6)
    for method, (name, seeds) in runs.items():
        look = look_of(method)
        style = {**look.line, "linewidth": 1.0, "alpha": 0.85}
        for number, (epochs, values) in enumerate(seeds):
            marker = look.marker if len(epochs) == 1 else ""
            label = name if number == 0 else None
            axes.plot(epochs, values, **style, marker=marker, label=label)
    axes.set(title=title, xlabel="epoch", ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(loc="outside lower center", ncols=min(4, len(runs)))
    return figure
