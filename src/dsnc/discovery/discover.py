"""Novel rows -> proposed classes, each with what a person needs to name it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.decoders.memory import Memory
from dsnc.discovery.grouping import (
    Grouping,
    class_centers,
    directions,
    grown_groups,
    nearest_centers,
    settled,
    soft_bits,
    usual_likeness,
)
from dsnc.discovery.marks import Background, marking_features, marking_words
from dsnc.discovery.result import Discovery, ProposedClass
from dsnc.errors import InputError
from dsnc.labels import Labels
from dsnc.predictor import Predictor
from dsnc.progress import progress_bar

_FEWEST = 3  # rows of a class, where nobody says how many classes there are
_NEAREST = 3  # known classes that are named
_TYPICAL = 5  # texts that are shown


class Seen(NamedTuple):
    """Rows, and what a model makes of them."""

    X: Any  # rows of numbers
    texts: list[str] | None
    logits: NDArray[np.float32]
    answers: NDArray[np.int64]  # the classes that they would get
    novelty: NDArray[np.float64]
    threshold: float  # above it, a row is novel


def discover(
    predictor: Predictor,
    labels: Labels,
    memory: Memory | None,
    seen: Seen,
    n_classes: int | None,
    *,
    seed: int,
    n_jobs: int | None,
    name: Callable[[int], str],
    verbose: bool = False,
) -> Discovery:
    """Group the rows that are novel; see `dsnc.DSNCClassifier.discover_classes`.

    `name` gives names to features, where rows are numbers.
    """
    if memory is not None and not len(memory.codes):
        memory = None
    can_be_grouped = np.isfinite(seen.novelty)  # a text without a known n-gram is like no other
    is_novel = can_be_grouped & (seen.novelty > seen.threshold)
    novel = np.flatnonzero(is_novel)
    _check_numbers(len(novel), n_classes)
    bits = soft_bits(seen.logits)
    groups = np.full(len(bits), -1, dtype=np.int64)
    with progress_bar(len(novel), verbose, "rows") as show:
        groups[novel] = grown_groups(
            bits[novel], n_classes, memory, seed, n_jobs, lambda done: show(done, "in groups")
        )
    known = _known_centers(predictor, memory)
    rivals = np.full(len(bits), np.inf)
    if memory is not None:
        rivals = np.einsum("ij,ij->i", bits, known[seen.answers]).astype(np.float64)
    rivals[~can_be_grouped] = np.inf
    rivals[is_novel] = -np.inf
    rule: dict[str, Any] = {}
    if n_classes is None and memory is not None:
        rule = {"least": usual_likeness(memory, known), "fewest": _FEWEST}
    grouping = settled(bits, groups, rivals, n_jobs, **rule)
    if not len(grouping.centers):
        raise InputError(
            f"X has {len(novel):,} novel rows, but no {_FEWEST} of them look like one class; give "
            "more rows, or n_classes."
        )
    classes = _described(grouping, seen, is_novel, predictor, known, labels, n_jobs, name)
    return Discovery(classes, len(bits), int((seen.novelty > seen.threshold).sum()))


def _check_numbers(n_novel: int, n_classes: int | None) -> None:
    """Refuse what cannot be grouped."""
    if not n_novel:
        raise InputError(
            "X has no novel row: all look like rows of known classes. A larger unknown_share finds "
            "more; with 1, all rows count as novel."
        )
    if n_classes is not None and n_classes > n_novel:
        raise InputError(
            f"n_classes={n_classes:,} is more than the {n_novel:,} novel rows of X; ask for fewer "
            "classes, or raise unknown_share."
        )


def _known_centers(predictor: Predictor, memory: Memory | None) -> NDArray[np.float32]:
    """Return the middle of each known class; its vector, where nothing is remembered."""
    if memory is not None:
        return class_centers(memory, predictor.n_classes)
    evidence = predictor.decoder.evidence()
    if evidence is None:
        return np.zeros((predictor.n_classes, predictor.n_bits), np.float32)
    return directions(evidence.linear.weight)


def _described(
    grouping: Grouping,
    seen: Seen,
    is_novel: NDArray[np.bool_],
    predictor: Predictor,
    known: NDArray[np.float32],
    labels: Labels,
    n_jobs: int | None,
    name: Callable[[int], str],
) -> list[ProposedClass]:
    """Return the groups, the largest first, with what is known of each."""
    sizes = np.bincount(grouping.groups[grouping.groups >= 0], minlength=len(grouping.centers))
    order = np.lexsort((-grouping.likeness, grouping.groups))
    starts = np.searchsorted(grouping.groups[order], np.arange(len(sizes)))
    near, cosines = nearest_centers(grouping.centers, known, _NEAREST, n_jobs)
    nearest = labels.of(near).tolist()
    background, names = Background(seen.X), free_names(labels, len(sizes))
    classes = []
    for place, group in enumerate(np.argsort(-sizes, kind="stable").tolist()):
        rows = order[starts[group] : starts[group] + sizes[group]]
        texts = [] if seen.texts is None else [seen.texts[row] for row in rows[:20].tolist()]
        excess = background.excess(rows)
        if predictor.features is not None and texts:
            marks = marking_words(excess, predictor.features, texts)
        else:
            marks = marking_features(excess, name)
        classes.append(
            ProposedClass(
                name=names[place],
                rows=rows,
                tightness=float(grouping.likeness[rows].mean()),
                novel=float(is_novel[rows].mean()),
                marks=marks,
                nearest=list(zip(nearest[group], cosines[group].tolist(), strict=True)),
                texts=texts[:_TYPICAL],
            )
        )
    return classes


def free_names(labels: Labels, n: int) -> list[Any]:
    """Return labels that are of the type of the others and still free."""
    known = labels.names
    if known.dtype.kind in "iu":
        first = int(known.max()) + 1
        return list(range(first, first + n))
    if known.dtype.kind == "f":
        start = float(np.floor(known.max())) + 1
        return [start + i for i in range(n)]
    taken = {str(label) for label in known.tolist()}
    names: list[Any] = []
    number = 0
    while len(names) < n:
        number += 1
        if (name := f"new class {number}") not in taken:
            names.append(name)
    return names
