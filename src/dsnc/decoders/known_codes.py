"""Codes whose classes are known: of the training rows, or of class vectors."""

from typing import TYPE_CHECKING

import numpy as np

from dsnc.arrays import appended
from dsnc.codes import PackedCodes
from dsnc.decoders.checks import Ints
from dsnc.decoders.evidence import Evidence
from dsnc.decoders.linear import LinearDecoder, needed_vectors
from dsnc.decoders.nearest import majority_codes
from dsnc.targets import Targets

if TYPE_CHECKING:
    from dsnc.decoders.changes import Change


def weight_codes(linear: LinearDecoder) -> tuple[PackedCodes, Ints]:
    """Return the code that each class would like best: the signs of its weights."""
    return PackedCodes.from_logits(linear.weight), np.arange(linear.n_classes)


def training_codes(
    linear: LinearDecoder, codes: PackedCodes, targets: Targets
) -> tuple[PackedCodes, Ints]:
    """Return the distinct training codes and their classes, and a code for classes without one.

    Where rows have sets of classes, a code is there once for each class.
    """
    if targets.is_single:
        distinct, labels = majority_codes(codes, targets.y)
    else:
        distinct, labels = _codes_of_sets(codes, targets)
    has_code = np.zeros(linear.n_classes, dtype=np.bool_)
    has_code[labels] = True
    without = np.flatnonzero(~has_code)
    ideal = weight_codes(linear)[0].take(without)
    return PackedCodes.concatenate([distinct, ideal]), np.concatenate([labels, without])


def _codes_of_sets(codes: PackedCodes, targets: Targets) -> tuple[PackedCodes, Ints]:
    """Return each code once for every class that a row with it has, and these classes."""
    _, classes = targets.lists()
    owners = np.repeat(np.arange(len(targets)), targets.sizes())
    pairs = codes.unique().inverse[owners].astype(np.int64) * targets.n_classes + classes
    first = np.unique(pairs, return_index=True)[1]
    return codes.take(owners[first]), classes[first].astype(np.int64)


def changed_codes(
    codes: PackedCodes, labels: Ints, change: "Change", codes_of: str
) -> tuple[PackedCodes, Ints]:
    """Return known codes of the same kind for classes that have come and gone."""
    linear = needed_vectors(change)
    if codes_of == "weights" and not change.keeps_vectors:
        return weight_codes(linear)
    new = np.flatnonzero(change.before < 0)
    ideal = PackedCodes.from_logits(linear.weight[new])
    parts, owners = [ideal], [new]
    if codes_of == "weights":
        return codes.with_more(ideal), appended(labels, new)
    if change.codes is not None and change.labels is not None and len(change.codes):
        come, of = majority_codes(change.codes, change.labels)
        parts.append(come)
        owners.append(of)
    if not change.only_adds(1 + int(labels.max(initial=-1))):
        rows, labels = change.kept(labels)
        codes = codes.take(rows)
    codes = codes.with_more(PackedCodes.concatenate(parts))
    return codes, appended(labels, np.concatenate(owners))


def known_codes(
    evidence: Evidence, wanted: str | None = None
) -> dict[str, tuple[PackedCodes, Ints]]:
    """Return sets of codes to search, by name: the one that is wanted, or all that are worth it.

    Where rows have sets of classes, codes of training rows find little more than those of classes,
    and take several times as long.
    """
    linear, sets = evidence.linear, {}
    if wanted in (None, "weights"):
        sets["weights"] = weight_codes(linear)
    has_codes = evidence.codes is not None and not evidence.has_sets
    if wanted != "weights" and (wanted or has_codes):
        sets["training"] = training_codes(linear, *evidence.training_sets())
    return sets
