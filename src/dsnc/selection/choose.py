"""The call that chooses: from evidence to decoder, calibration and report."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dsnc.decoders import Decoder, Evidence, LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.registry import AUTO, Wanted, parse_decoder
from dsnc.decoders.scoring import (
    MAX_ROWS,
    TOLERANCE,
    is_clearly_better,
    lower_bound,
)
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError
from dsnc.rerank import FeatureReranker, Reranked
from dsnc.selection.auto import Best, choose_best
from dsnc.selection.report import DecoderReport
from dsnc.selection.second_stage import add_second_stage, parse_reranker
from dsnc.selection.sets import SetSettings, fit_rule, wide_enough

_AS_ASKED = "as asked for"
_ALL = "features decide best among the highest-scoring of all classes"
_SHORT_LIST = "its first labels are as good as if all had been scored"
_NO_LIST = "the first labels of a shortlist are not as good as if all had been scored"


@dataclass(frozen=True)
class SelectionSettings:
    """What a user may say about the choice.

    Parameters
    ----------
    decoder : str, mapping or Decoder, default "auto"
        As `dsnc.decoders.parse_decoder` accepts it.
    reranker : str, mapping or None, default None
        As `dsnc.selection.second_stage.parse_reranker` accepts it.
    sets : SetSettings
        How label sets are made, if rows have them.
    """

    decoder: Any = "auto"
    reranker: Any = None
    sets: SetSettings = SetSettings()


class Chosen(NamedTuple):
    """What was chosen, and what is needed to choose again.

    Attributes
    ----------
    decoder : Decoder
        The decoder.
    trained : LinearDecoder or None
        The class vectors of training, if a model file needs them beside those of the decoder.
    evidence : Evidence
        What the choice was made from.
    report : DecoderReport or None
        Why it was made. None if decoder and report are as before.
    reranker : FeatureReranker or None
        The second stage, if there is one.
    rule : SetRule or None
        Turns scores into label sets, if rows have them.
    """

    decoder: Decoder
    trained: LinearDecoder | None  # the class vectors of training, where a file needs them beside
    evidence: Evidence
    report: DecoderReport | None  # None: the decoder is the one it was, and so is its report
    reranker: FeatureReranker | None = None
    rule: SetRule | None = None  # where rows have sets of labels

    @property
    def stages(self) -> Decoder:
        """The decoder, with the second stage if there is one."""
        return self.decoder if self.reranker is None else Reranked(self.decoder, self.reranker)


def choose(evidence: Evidence, settings: SelectionSettings) -> Chosen:
    """Make the decoder that was asked for, or the one that held-out rows find best.

    After further training, a decoder keeps its settings. Probabilities are calibrated on held-out
    rows.

    Parameters
    ----------
    evidence : Evidence
        The results of training.
    settings : SelectionSettings
        What the user asked for.

    Returns
    -------
    Chosen
    """
    wanted = parse_decoder(settings.decoder, evidence.linear.n_bits)
    before = evidence.before
    if before is not None and wanted.name in (AUTO, before.name):
        evidence = replace(evidence, before=None)
        decoder = before.renewed(evidence.linear)
        return Chosen(decoder, _beside(decoder, evidence), evidence, None, evidence.reranker)
    evidence = replace(evidence, before=None)
    if wanted.instance is not None:
        return _with_features(_taken(wanted.instance, evidence), settings)
    best = _made(wanted, evidence)
    decoder, reason = best.decoder, best.reason
    if evidence.has_sets:
        if wanted.kind is None or (wanted.kind is ShortlistDecoder and not wanted.settings):
            wide = wide_enough(decoder, evidence, short=wanted.kind is not None)
            if wide.name != decoder.name:
                reason = _NO_LIST if decoder.name == ShortlistDecoder.name else _SHORT_LIST
            decoder = wide
    elif evidence.rows is not None:
        decoder = decoder.calibrated(evidence.rows)
    report = DecoderReport(decoder.name, decoder.chosen_settings(), reason, best.trials)
    first = Chosen(decoder, _beside(decoder, evidence), evidence, report)
    chosen = _with_features(first, settings)
    if best.fuller is None or chosen.reranker is None:
        return chosen
    return _fuller(chosen, best.fuller, first, settings)


def _made(wanted: Wanted, evidence: Evidence) -> Best:
    """Return the decoder that is asked for, or the best."""
    if wanted.kind is None:
        return choose_best(evidence)
    return Best(wanted.kind.make(evidence, **wanted.settings), _AS_ASKED, [])


def _fuller(
    chosen: Chosen, fuller: SoftDecoder, first: Chosen, settings: SelectionSettings
) -> Chosen:
    """Let the best of all classes be the candidates, if that is worth it where features decide.

    Few bits may put a class too far away for any list, and still let it be among the first by
    score. And what lists are better in, features may decide as well.
    """
    rows, report = chosen.evidence.rows, first.report
    if rows is None or rows.encoded.source is None or report is None or chosen.evidence.has_sets:
        return chosen
    fuller = fuller.calibrated(rows)
    own = replace(report, chosen=fuller.name, settings=fuller.chosen_settings(), reason=_ALL)
    other = _with_features(
        Chosen(fuller, _beside(fuller, first.evidence), chosen.evidence, own), settings
    )
    if other.reranker is None:
        return chosen
    judges = rows.take(MAX_ROWS)
    mine, others = judges.right(chosen.stages), judges.right(other.stages)
    if own.nanoseconds < report.nanoseconds:
        is_worth_it = lower_bound(others, mine, judges.weight) >= -TOLERANCE
    else:
        is_worth_it = is_clearly_better(others, mine, rows)
    return other if is_worth_it else chosen


def _with_features(chosen: Chosen, settings: SelectionSettings) -> Chosen:
    """Let features decide among the candidates, where that is asked for or is worth it."""
    wanted, evidence, report = parse_reranker(settings.reranker), chosen.evidence, chosen.report
    found = add_second_stage(chosen.decoder, evidence, wanted)
    evidence = replace(evidence, train_vectors=None, reranker=found.reranker)
    if report is not None and found.tried is not None:
        report = report.with_second_stage(found)
    both = chosen._replace(
        decoder=found.decoder, reranker=found.reranker, evidence=evidence, report=report
    )
    if not evidence.has_sets:
        return both
    rule = fit_rule(both.stages, evidence.rows, settings.sets, evidence.most)
    return both._replace(rule=rule)


def _beside(decoder: Decoder, evidence: Evidence) -> LinearDecoder | None:
    """Return the class vectors of training, unless the decoder holds them or needs none."""
    if decoder.stands_alone:
        return None
    return evidence.linear if decoder.evidence() is None else None


def _taken(decoder: Decoder, evidence: Evidence) -> Chosen:
    """Take a decoder as it is; what vectors it may have, nobody knows to be those of training."""
    linear = evidence.linear
    if decoder.n_classes != linear.n_classes:
        raise InputError(
            f"decoder has {decoder.n_classes} classes; the model has {linear.n_classes}."
        )
    report = DecoderReport(decoder.name, decoder.chosen_settings(), _AS_ASKED)
    return Chosen(decoder, None if decoder.stands_alone else linear, evidence, report)
