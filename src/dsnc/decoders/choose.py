"""From what training leaves to a decoder: by name, or the best one for the data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.codes import PackedCodes
from dsnc.decoders.base import Decoder
from dsnc.decoders.checks import Ints
from dsnc.decoders.linear import LinearDecoder
from dsnc.decoders.nearest import NearestDecoder
from dsnc.decoders.scoring import NOTHING, PLAIN, SCORING, Scoring, accuracy
from dsnc.decoders.shortlist import ShortlistDecoder
from dsnc.decoders.soft import SoftDecoder
from dsnc.decoders.table import TableDecoder
from dsnc.decoders.tune import (
    HeldOut,
    calibrate,
    is_clearly_better,
    leading_codes,
    rows_to_score,
    temperature_of,
    training_codes,
    tune_shortlist,
    tune_soft,
    weight_codes,
)
from dsnc.errors import InputError, unknown_name

CHOICES = ("auto", "linear", "soft", "nearest", "table", "shortlist")
KNOWN = ("weights", "leaders", "training")
_TABLE_BITS = 28  # of a table of all codes, at most
_AT_ONCE_NS = 1000  # where all classes are scored in this time, nothing is cheaper
_PRODUCTS_NS = 0.1  # of a multiplication in a matrix product, on a typical machine


@dataclass(frozen=True)
class Material:
    """What training leaves for decoders.

    Parameters
    ----------
    linear : LinearDecoder
        The decoder that was trained with the codes.
    codes, y : PackedCodes and int64 array, optional
        The codes of the training rows and their classes.
    held_out : HeldOut, optional
        Rows that training did not see.
    scoring : Scoring
        What such rows chose before, for when there are none.
    soft : LinearDecoder, optional
        Rows that were trained on soft bits, for the decoders that see such bits.
    """

    linear: LinearDecoder
    codes: PackedCodes | None = None
    y: Ints | None = None
    held_out: HeldOut | None = None
    scoring: Scoring = PLAIN
    soft: LinearDecoder | None = None

    @property
    def scorer(self) -> LinearDecoder:
        """The rows that score soft bits."""
        return self.soft or self.linear

    @property
    def rows(self) -> HeldOut | None:
        """The held-out rows, if there are any."""
        return self.held_out if self.held_out is not None and len(self.held_out.y) else None

    def training(self) -> tuple[PackedCodes, Ints]:
        """Return the codes of the training rows and their classes, or say that there are none."""
        if self.codes is None or self.y is None:
            raise InputError(
                "the model knows no training codes; pass the training rows as X and y, or take "
                "decoder='shortlist' with known='weights', 'soft' or 'linear', which need none."
            )
        return self.codes, self.y


def wanted_sharpness(material: Material, fixed: Mapping[str, Any] = NOTHING) -> float:
    """Return how sharp soft bits should be for the rows; 1, as training drew them, if unknown."""
    if material.rows is None:
        return PLAIN.sharpness
    return tune_soft(material.linear, material.rows, fixed)[0].sharpness


def with_soft_rows(
    material: Material, soft: LinearDecoder, fixed: Mapping[str, Any] = NOTHING
) -> Material:
    """Return the material with rows for soft bits, if held-out rows say that they are better.

    `fixed` are settings of the scoring that are not to choose.
    """
    if material.rows is None:
        return material
    sample = material.rows.take(max(1, rows_to_score(soft)))
    decoders = (tune_soft(rows, material.rows, fixed)[0] for rows in (soft, material.linear))
    better, right = (sample.right(decoder) for decoder in decoders)
    return replace(material, soft=soft) if is_clearly_better(better, right, sample) else material


def scoring_of(decoder: Decoder) -> Scoring:
    """Return how a decoder scores soft bits; plainly, if it sees none."""
    held = {name: getattr(decoder, name) for name in Scoring._fields if hasattr(decoder, name)}
    return Scoring(**held)


def material_of(decoder: Decoder, trained: LinearDecoder | None = None) -> Material:
    """Return what a decoder, and the trained one beside it, still hold of what training left."""
    own = _rows_of(decoder)
    linear = trained or own
    if linear is None:
        raise InputError(
            f"a model with the {decoder.name!r} decoder alone does not know the linear one; save "
            "it with 'shortlist', 'table', 'soft' or 'linear' to go on from there."
        )
    linear = LinearDecoder(linear.weight, linear.bias)
    soft = LinearDecoder(own.weight, own.bias) if trained is not None and own is not None else None
    material = Material(linear, scoring=scoring_of(decoder), soft=soft)
    # Signs of weights are nobody's training codes.
    if isinstance(decoder, ShortlistDecoder) and decoder.codes != weight_codes(decoder.linear)[0]:
        return replace(material, codes=decoder.codes, y=decoder.labels)
    return material


def trained_beside(decoder: Decoder, material: Material) -> LinearDecoder | None:
    """Return the decoder that training left, where another one has rows of its own."""
    own, linear = _rows_of(decoder), material.linear
    if own is None:
        return None
    same = (
        np.array_equal(getattr(own, name), getattr(linear, name)) for name in ("weight", "bias")
    )
    return None if all(same) else linear


def _rows_of(decoder: Decoder) -> LinearDecoder | None:
    return decoder if isinstance(decoder, LinearDecoder) else getattr(decoder, "linear", None)


def renewed(decoder: Decoder, linear: LinearDecoder) -> Decoder:
    """Return a decoder of the same settings on weights that have been trained further."""
    if isinstance(decoder, LinearDecoder):
        return decoder.renewed(linear.weight, linear.bias)
    if isinstance(decoder, ShortlistDecoder):
        # The codes of the rows have moved; the signs of the weights have moved with them.
        return decoder.with_settings(linear, *weight_codes(linear))
    raise InputError(
        f"the {decoder.name!r} decoder needs the codes of all rows, which partial_fit does not "
        "see; take decoder='shortlist', 'soft' or 'linear', or fit anew."
    )


class Trial(NamedTuple):
    """What one decoder is worth on the held-out rows."""

    decoder: str
    settings: dict[str, Any]
    accuracy: float  # NaN where there were no rows
    nanoseconds: float  # of decoding a row, on a typical machine


@dataclass(frozen=True)
class DecoderReport:
    """Which decoder was chosen, why, and what the others would have been worth."""

    chosen: str
    settings: dict[str, Any]
    reason: str
    trials: list[Trial] = field(default_factory=list)

    def __str__(self) -> str:
        """Return the choice, the reason and a line for each trial."""
        lines = [f"{self.chosen}: {self.reason}"]
        for trial in self.trials:
            settings = ", ".join(f"{key}={value}" for key, value in trial.settings.items())
            lines.append(
                f"  {trial.decoder:<10} {100 * trial.accuracy:6.2f} %  "
                f"{trial.nanoseconds / 1000:8.2f} us  {settings}"
            )
        return "\n".join(lines)


def make_decoder(choice: Any, material: Material) -> tuple[Decoder, DecoderReport]:
    """Make the decoder that a user asks for.

    Parameters
    ----------
    choice : str or mapping
        A name of `CHOICES`, or its name and settings, such as
        ``{"name": "shortlist", "size": 50, "radius": 3}``.
    material : Material

    Returns
    -------
    decoder : Decoder
    report : DecoderReport
    """
    name, settings = parse_choice(choice)
    if name == "auto":
        return _choose(material)
    asked = settings.get("sharpness")
    if isinstance(asked, int | float | np.number) and asked >= PLAIN.sharpness:
        material = replace(material, soft=None)  # rows for soft bits are not for sharp ones
    decoder = _MAKERS[name](material, **settings)
    return decoder, DecoderReport(name, _settings(decoder), "as asked for")


def parse_choice(choice: Any) -> tuple[str, dict[str, Any]]:
    """Return name and settings of a decoder, or refuse them."""
    settings: dict[str, Any] = {}
    if isinstance(choice, Mapping):
        settings = dict(choice)
        choice = settings.pop("name", None)
    if not isinstance(choice, str) or choice not in CHOICES:
        raise unknown_name("decoder", choice, CHOICES)
    allowed = _SETTINGS.get(choice, ())
    for key in settings:
        if key not in allowed:
            raise unknown_name(f"decoder setting of {choice!r}", key, allowed or ("name",))
    return choice, settings


def rehearse(choice: Any, n_bits: int) -> None:
    """Refuse before training what would be refused after it."""
    name, settings = parse_choice(choice)
    if name == "table" and n_bits > _TABLE_BITS:
        raise InputError(
            f"decoder='table' with n_bits={n_bits}: a table of all codes has {_TABLE_BITS} bits at "
            "most; take fewer bits, or 'shortlist'."
        )
    if settings:  # try them on next to nothing
        bits = np.array([[0, 0], [1, 1]], dtype=np.bool_)
        linear = LinearDecoder(2.0 * bits - 1, np.zeros(2))
        make_decoder(choice, Material(linear, PackedCodes.from_bits(bits), np.arange(2)))


def _linear(material: Material) -> LinearDecoder:
    return _honest(material.linear, material)


def _soft(material: Material, **scoring: float) -> LinearDecoder:
    scorer = material.scorer
    chosen: dict[str, Any] = _soft_scoring(material, scoring)
    return _honest(SoftDecoder(scorer.weight, scorer.bias, **chosen), material)


def _soft_scoring(material: Material, fixed: Mapping[str, Any]) -> dict[str, float]:
    """Return how bits and biases should count where all classes are scored, beside what is set."""
    fixed = {name: fixed[name] for name in SCORING if name in fixed}
    rows = material.rows
    chosen = material.scoring if rows is None else tune_soft(material.scorer, rows, fixed)[0]
    return {name: getattr(chosen, name) for name in SCORING} | fixed


def _honest(decoder: LinearDecoder, material: Material) -> LinearDecoder:
    """Return the decoder with a temperature that fits the held-out rows, if there are any."""
    if material.rows is None:
        return decoder
    temperature = temperature_of(decoder, material.rows)
    return decoder.renewed(decoder.weight, decoder.bias, temperature)


def _nearest(material: Material, label: str = "true", n_neighbors: int = 1) -> Decoder:
    codes, y = material.training()
    linear = material.linear
    return NearestDecoder.from_examples(
        codes, y, linear.n_classes, linear=linear, label=label, n_neighbors=n_neighbors
    )


def _table(material: Material, source: str = "nearest", **settings: Any) -> Decoder:
    if source not in ("nearest", "linear"):
        raise unknown_name("source", source, ("nearest", "linear"))
    settings = settings | _soft_scoring(material, settings)
    if source == "linear":
        return TableDecoder.from_linear(material.linear, material.scorer, **settings)
    codes, y = material.training()
    nearest = NearestDecoder.from_examples(codes, y, material.linear.n_classes)
    return TableDecoder.from_nearest(nearest, material.scorer, **settings)


def _shortlist(material: Material, known: str | None = None, **settings: Any) -> Decoder:
    """Make a shortlist with what the user set; what is left open, the held-out rows choose."""
    linear, held_out = material.scorer, material.rows
    sets = _known_codes(material, known)
    known_scoring: dict[str, Any] = material.scoring._asdict()
    asked = ShortlistDecoder(linear, *sets[list(sets)[-1]], **{**known_scoring, **settings})
    if held_out is None:
        return asked
    fixed = {name: settings[name] for name in Scoring._fields if name in settings}
    of_all = tune_soft(linear, held_out)[1]
    tuned = tune_shortlist(linear, sets, held_out, of_all=of_all, scoring=fixed)[1].decoder
    decoder = tuned.with_settings(linear, tuned.codes, tuned.labels, **settings)
    return calibrate(decoder, held_out)


def _known_codes(
    material: Material, known: str | None = None
) -> dict[str, tuple[PackedCodes, Ints]]:
    """Return sets of codes to search, by name: the one that is wanted, or all there are."""
    if known not in (None, *KNOWN):
        raise unknown_name("known", known, KNOWN)
    sets: dict[str, tuple[PackedCodes, Ints]] = {}
    if known in (None, "weights"):
        sets["weights"] = weight_codes(material.scorer)
    if known != "weights" and (known or material.codes is not None):
        sets["training"] = training_codes(material.scorer, *material.training())
        sets["leaders"] = leading_codes(material.scorer, *sets["training"])
    return {name: sets[name] for name in KNOWN if name in sets and known in (None, name)}


_MAKERS: dict[str, Callable[..., Decoder]] = {
    "linear": _linear,
    "soft": _soft,
    "nearest": _nearest,
    "table": _table,
    "shortlist": _shortlist,
}
_SETTINGS = {
    "nearest": ("label", "n_neighbors"),
    "soft": tuple(SCORING),
    "table": ("source", "probes", *SCORING),
    "shortlist": ("known", "size", "radius", *Scoring._fields),
}


class _Rival(NamedTuple):
    """A decoder that may be chosen, and which of the held-out rows it gets right."""

    decoder: LinearDecoder | ShortlistDecoder
    accuracy: float
    nanoseconds: float
    right: NDArray[np.bool_]


def _choose(material: Material) -> tuple[Decoder, DecoderReport]:
    """Take the cheapest decoder that the most accurate one does not clearly beat."""
    linear, scorer, held_out = material.linear, material.scorer, material.rows
    all_ns = _PRODUCTS_NS * linear.n_classes * linear.n_bits
    if all_ns < _AT_ONCE_NS:
        reason = f"{linear.n_classes:,} classes are all scored in no time"
        soft = _soft(material)
        return soft, DecoderReport(soft.name, _settings(soft), reason)
    if held_out is None:
        decoder = _shortlist(material)
        reason = f"there are {linear.n_classes:,} classes; no rows were held out to choose by"
        return decoder, DecoderReport(decoder.name, _settings(decoder), reason)
    sets = _known_codes(material)
    everything, of_all = tune_soft(scorer, held_out)
    known, tuned, tried = tune_shortlist(scorer, sets, held_out, of_all=of_all)
    trials = [
        Trial("shortlist", {"known": name, **_settings(t.decoder)}, t.accuracy, t.nanoseconds)
        for name, t in tried.items()
    ]
    rivals = [_Rival(tuned.decoder, tuned.accuracy, tuned.nanoseconds, tuned.right)]
    # On the rows of the shortlist's trials: chance must not decide between them.
    sample = held_out.take(max(1, rows_to_score(linear)))
    for decoder in (everything, linear):
        right = sample.right(decoder)
        worth = accuracy(right, sample.weight)
        trials.append(Trial(decoder.name, _settings(decoder), worth, all_ns))
        rivals.append(_Rival(decoder, worth, all_ns, right))
    best = max(rivals, key=lambda rival: rival.accuracy)
    choice = next(
        rival.decoder
        for rival in sorted(rivals, key=lambda rival: (rival.nanoseconds, -rival.accuracy))
        if rival is best or not is_clearly_better(best.right, rival.right, held_out)
    )
    if isinstance(choice, ShortlistDecoder):
        reason = (
            f"as accurate as any, as far as the held-out rows tell; scoring all "
            f"{linear.n_classes:,} classes would take {all_ns / tuned.nanoseconds:.1f} times as "
            f"long; codes of {known}{', rows trained on soft bits' if material.soft else ''}"
        )
        chosen: Decoder = calibrate(choice, held_out)
    else:
        reason = "scoring all classes is the cheapest that is as accurate"
        chosen = _honest(choice, material)
    return chosen, DecoderReport(chosen.name, _settings(chosen), reason, trials)


def _settings(decoder: Decoder) -> dict[str, Any]:
    """Return the settings that a user may set and a report shows."""
    names = ("size", "radius", *Scoring._fields, "n_neighbors", "probes", "source")
    found = {name: getattr(decoder, name) for name in names if hasattr(decoder, name)}
    return {  # 0.7, and not the float32 next to it
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in found.items()
    }
