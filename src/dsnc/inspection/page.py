"""A page about a model: one small file without scripts or links, to look at on any screen."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsnc.files import write_whole
from dsnc.inspection import BitFacts, ModelFacts, Neighbor, Pair, summary, trial_cells
from dsnc.pictures.templating import render


def model_page(
    path: str | os.PathLike[str],
    facts: ModelFacts,
    *,
    title: str,
    bits: Sequence[BitFacts] = (),
    pairs: Sequence[Pair] = (),
    label: Any = None,
    neighbors: Sequence[Neighbor] = (),
) -> Path:
    """Write a page about a model.

    Parameters
    ----------
    path : path
        The file to write; an older one is replaced.
    facts : ModelFacts
        As `dsnc.inspection.model_facts` gives them.
    title : str
        Stands above.
    bits : sequence of BitFacts
        What bits separate.
    pairs : sequence of Pair
        Classes that are near each other.
    label, neighbors : label and sequence of Neighbor
        A class and those near it.

    Returns
    -------
    Path
        The file that was written.
    """
    html = render(
        "model.html",
        "A page about a model",
        title=title,
        summary=summary(facts),
        trials=[trial_cells(trial) for trial in facts.trials],
        bits=bits,
        pairs=pairs,
        label=label,
        neighbors=neighbors,
    )
    return write_whole(Path(path), html)
