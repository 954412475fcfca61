"""`DSNCClassifier`: fit, predict, save."""

import contextlib
import copy
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from dsnc.checks import whole
from dsnc.classifier.inputs import seed_of
from dsnc.classifier.learned import Run
from dsnc.classifier.open_world import OpenWorld, usual_rows
from dsnc.classifier.texts import as_numbers
from dsnc.classifier.trainers import chosen_trainer
from dsnc.decoders import Evidence, LinearDecoder, parse_decoder
from dsnc.decoders.scoring import accuracy
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError, warn
from dsnc.model import CodeModel
from dsnc.predictor import Predictor
from dsnc.selection import DecoderReport, SelectionSettings, VectorTrainer, choose, gather
from dsnc.selection.second_stage import parse_reranker
from dsnc.threads import n_threads
from dsnc.training.settings import RunSettings, Settings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples


@dataclass(kw_only=True, eq=False, repr=False)
class DSNCClassifier(CodeModel, OpenWorld):
    """Classifier for very many classes: learns a short binary code of x, decodes it to the class.

    Setting only `n_bits` gives the best recipe we know; ``DSNCClassifier(**PAPER)`` is the paper's.

    Parameters
    ----------
    n_bits : int
        Length of the codes. More bits cost time and memory and gain accuracy; log2 of the number
        of classes is the least that can work, four times as many is a good start.
    trainer : "auto", "fast" or "torch"
        "fast" trains linear encoders on the CPU, without torch, at a cost that hardly grows with
        the number of classes. "auto" takes it where it can do what is asked, and torch for
        everything else: other encoders and gradients, `beta` and `gamma`, GPUs. The fitted
        attribute `trainer_` says which it was.
    encoder : "linear", "mlp" or torch.nn.Module
        Maps a row to `n_bits` numbers. A module of your own maps a (rows, features) tensor to
        (rows, n_bits).
    hidden : sequence of int
        Widths of the hidden layers of "mlp".
    normalize : bool
        Batch normalization in "mlp".
    gradient : str or dsnc.gradients.Gradient
        How learning passes the sampling of bits: "straight_through", "reinforce", "relaxed",
        "disarm", or an instance.
    n_draws : int
        Codes sampled for each example in a step, for a gradient given by name.
    code_values : "signs" or "bits"
        Whether the decoder sees -1 and +1 in training, or the paper's 0 and 1.
    soft_share : float
        Share of the loss that is taken on the bits' probabilities instead of on drawn bits: what
        the decoders that re-rank by soft bits will see. The paper has 0.
    soft_vectors : bool
        Whether `fit` may train class vectors of their own for those decoders. It tries so where
        held-out rows score better with softer bits than training saw (mostly short codes of dense
        rows), for a fifth more epochs, and keeps the vectors if they are more accurate.
    decoder : str, dict or dsnc.decoders.Decoder
        Maps a code to its class: a name of `dsnc.decoders.decoder_names()`, "auto" for the best
        one on held-out rows (see `decoder_report_`). Settings go into a dict, such
        as ``{"name": "shortlist", "size": 50, "radius": 3}``; docs/decoders.md has them all. A
        decoder that is made already is taken as it is.
    reranker : "auto", "features", dict or None
        A second stage: features of a row decide among the candidates that its code has found.
        "auto" takes it where held-out rows gain clearly. A dict has settings, such as
        ``{"name": "features", "budget": 1_000_000}`` (bytes); docs/reranker.md has them all.
    memory : int
        Bytes of each class that the model remembers: soft codes of some of its rows, four bits a
        bit, which `add_classes` rehearses. 0 keeps nothing of the data; classes that are added
        then cost the others more.
    scaling : "auto", "standard", "common", "unit_rows" or "none"
        What is done to X: "auto" divides rows of mostly zeros (words) by their length; features
        of other rows by one common deviation where they seem to share a unit (pixels), else each
        by its own. Numbers decide, not whether X is a dense or a sparse matrix.
    text : dict, TextFeatures or None
        Where X holds strings: settings of `dsnc.features.TextFeatures`, such as
        ``{"words": (1, 3)}``.
    beta, gamma : float
        Weights of the intra-class and the inter-class term (means of squared distances).
    adaptive : "none", "previous" or "best"
        Double both when validation accuracy rises and halve them when it falls, against the
        accuracy before (as the paper says) or the best so far (as the authors' script does).
    loss : "auto", "softmax", "sampled_softmax", "sigmoid" or "sampled_sigmoid"
        Cross-entropy of a softmax over all classes, or an estimate of it: exact for the classes of
        the batch and each row's 32 nearest, rough for the others. "auto" takes the estimate from
        8,192 classes on where it is faster: not on a GPU in bfloat16. Then validations of an epoch
        look at some of the rows held out, if there are very many (`history_` tells). With sigmoids
        each class is decided by itself, as one against all others.
    label_smoothing : float
        Share of the target spread over all classes; sigmoids are not smoothed.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    max_epochs : int or "auto"
        Passes over the rows. "auto" is 50 with torch. The fast trainer takes between 5, of very
        many rows, and 100, of very few: rates rise and fall over all of them, so that a run that
        is cut short is worse than one that was planned shorter.
    batch_size, learning_rate, schedule, weight_decay
        `schedule` is "one_cycle" or "constant". With torch, of Adam: ``batch_size="auto"`` takes a
        fiftieth of the rows, at least 16 and at most 1,000; ``learning_rate="auto"`` is 0.02 for
        dense rows and 0.01 for sparse ones. With the fast trainer, of AdaGrad: 16 rows, and 2
        divided by the root of `n_bits`, or up to twice that where "auto" takes fewer than 20
        epochs. Numbers given here are Adam's, unless trainer="fast".
    validation_fraction : float
        Share of the rows held out to choose the best epoch, where `fit` is given no others. A
        class never loses its last row to it.
    validation_every : int
        Epochs between validations.
    validation_codes : "hard" or "sampled"
        Whether a validation decodes the most probable code of each row, as prediction does, or one
        that is drawn.
    patience : int, optional
        Stop after so many validations without a new best.
    time_limit : float, optional
        Stop after so many seconds, with the best model so far.
    device : str
        "auto", "cpu", "cuda", ...
    precision : "auto", "float32" or "bfloat16"
        Of the large matrix products in training. "auto" is bfloat16 on a GPU that is fast with it,
        for up to 256 bits, otherwise float32.
    checkpoint : path, optional
        A folder where every epoch is saved; `fit` with the same data and settings goes on there.
    callbacks : sequence of callable
        Called after each epoch with its `Progress`: figures in `progress.epoch`, those before in
        `progress.history`; ``progress.stop()`` ends training.
    verbose : bool
        Draw a progress bar on stderr.
    n_jobs : int, optional
        Threads that predict, by default 1; -1 takes all cores. The fast trainer takes as many, and
        by default all cores; the model does not depend on it.
    random_state : int, RandomState or None
        The same number gives the same model, bit for bit, on one machine.

    Attributes
    ----------
    classes_ : array
        The labels.
    predictor_ : dsnc.predictor.Predictor
        The trained arrays; it alone predicts.
    decoder_report_ : dsnc.selection.DecoderReport
        Which decoder was chosen, why, and what the others would have been worth.
    figures_ : dict
        What this decoder is worth on rows that were not trained on: ``validation_accuracy``.
    history_ : dsnc.training.history.History
        What happened in training. Its accuracies are those of class vectors on hard codes (torch)
        or on soft bits, among the nearest classes of 4,096 rows at most (fast).
    trainer_ : str
        What trained: "fast" or "torch".
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    """

    settings_kind: ClassVar[type[RunSettings]] = Settings
    decoder_report_: DecoderReport = field(init=False)

    n_bits: int = 64
    trainer: str = "auto"
    encoder: Any = "linear"
    hidden: Sequence[int] = (1024,)
    normalize: bool = True
    gradient: Any = "straight_through"
    n_draws: int = 4
    code_values: str = "signs"
    soft_share: float = 0.25
    soft_vectors: bool = True
    decoder: Any = "auto"
    reranker: Any = "auto"
    memory: int = 1024
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: str = "none"
    loss: str = "auto"
    label_smoothing: float = 0.0
    schedule: str = "one_cycle"
    weight_decay: float = 0.0
    validation_codes: str = "hard"
    precision: str = "auto"
    n_jobs: int | None = None

    def with_decoder(self, decoder: Any, X: Any = None, y: Any = None) -> Self:
        """Return a classifier with the same codes and another decoder; nothing is trained.

        Parameters
        ----------
        decoder : str, dict or dsnc.decoders.Decoder
            As the parameter of that name.
        X, y : rows and labels, optional
            The training rows, for a decoder that needs their codes where the model does not know
            them any more: a model from a file knows those that its own decoder needs.
        """
        check_is_fitted(self, "predictor_")
        parse_decoder(decoder, self.n_bits)
        evidence = self._known_evidence()
        if X is not None:
            X = as_numbers(X, self.predictor_.features)
            X, y = self._check_rows_and_labels(X, y, reset=False)
            targets = self._known_targets(y, self._labels)
            evidence = replace(evidence, codes=self.predictor_.encode(X), targets=targets)
        other = copy.copy(self)
        other.decoder = decoder
        other.__dict__.update(self._chosen(self.predictor_, evidence, decoder))
        evidence, stages = other._known_evidence(), other.predictor_.stages
        with contextlib.suppress(InputError):  # who needs the rows themselves cannot be judged
            if (rows := evidence.rows) is not None:
                worth = accuracy(rows.right(stages), rows.weight)
                other._measured = stages, {"validation_accuracy": worth}
                other._novelty = usual_rows(other.predictor_, evidence, other._memory)
            else:
                other._novelty = self._moved_novelty(other.predictor_, other._memory)
        return other

    def _settings(self) -> RunSettings:
        n_threads(self.n_jobs)
        settings = super()._settings()
        parse_decoder(self.decoder, self.n_bits)
        parse_reranker(self.reranker)
        whole("memory", self.memory, least=0)
        # Training changes a module; what the user passed stays as it was.
        return replace(settings, encoder=copy.deepcopy(self.encoder))

    def _settings_for(self, settings: RunSettings, examples: "Examples") -> RunSettings:
        n_classes = examples.targets.n_classes
        least = math.ceil(math.log2(n_classes))
        if self.n_bits < least:
            warn(
                f"n_bits={self.n_bits} cannot tell {n_classes:,} classes apart, which takes "
                f"{least} bits at least; n_bits={4 * least} is a good start."
            )
        return settings

    def _require_extras(self, caller: str) -> None:
        settings: Any = self._settings()
        if chosen_trainer(settings)[0] == "torch":
            super()._require_extras(caller)

    def _why_torch(self) -> str:
        """Return what of the settings the fast trainer cannot do; "" where it need not be told."""
        settings: Any = self._settings()
        return chosen_trainer(settings)[1]

    def _learner_of(self, settings: Any, examples: "Examples", seed: int, *, joins: bool) -> Any:
        if self.verbose and (reason := self._why_torch()):
            sys.stderr.write(f"trainer: torch, since the fast one cannot do {reason}\n")
        if chosen_trainer(settings)[0] == "torch":
            return super()._learner_of(settings, examples, seed, joins=joins)
        from dsnc.fast import FastLearner  # brings the compiler with it

        return FastLearner(settings, examples, examples.targets.n_classes, seed, self.n_jobs)

    def _trained_decoder(self) -> LinearDecoder:
        return self._known_evidence().linear

    def _known_evidence(self) -> Evidence:
        """Return what training left, or what a model file still knows of it."""
        predictor: Predictor = self.predictor_
        known: Evidence | None = getattr(self, "_evidence", None)
        known = known or Evidence.left_by(predictor.decoder, predictor.trained)
        known = known and replace(known, reranker=predictor.reranker)
        if known is None:
            raise InputError(
                f"a model with the {predictor.decoder.name!r} decoder alone does not know the "
                "linear one; save it with 'shortlist', 'table', 'soft' or 'linear' to go on from "
                "there."
            )
        return known

    def _choose_decoder(self, trained: Predictor, run: Run) -> dict[str, Any]:
        linear: Any = trained.decoder  # the paper's objective trains this one
        evidence = Evidence(linear)
        if not run.calls:  # a pass over some rows does not know the others
            train_soft = partial(run.learner.fit_soft_vectors, linear, examples=run.examples)
            evidence = gather(trained, run.examples, run.held_out, train_soft)
            if not run.learner.is_over:
                evidence = replace(evidence, train_vectors=self._vector_trainer(trained, run))
            elif parse_reranker(self.reranker).wanted:
                evidence = replace(evidence, train_vectors=_too_late)
        elif hasattr(self, "predictor_"):
            evidence = self._trained_further(linear, run)
        memory = self._remembering(trained, run)
        chosen = self._chosen(trained, evidence, self.decoder)
        novelty = self._moved_novelty(chosen["predictor_"], memory) if run.calls else None
        if evidence.rows is not None:
            novelty = usual_rows(chosen["predictor_"], evidence, memory)
        return {**chosen, "_memory": memory, "_novelty": novelty}

    def _vector_trainer(self, trained: Predictor, run: Run) -> VectorTrainer:
        """Return what trains class vectors for a second stage."""
        left = run.learner.seconds_left()
        until = None if left is None else monotonic() + left
        settings: Any = {"n_jobs": self.n_jobs, "verbose": self.verbose, "until": until}
        seed = seed_of(self.random_state)
        return VectorTrainer(trained, run.examples, self.scaling, seed, **settings)

    def _trained_further(self, linear: LinearDecoder, run: Run) -> Evidence:
        """Return what is known after a pass over some examples."""
        decoder = self.predictor_.decoder
        known = Evidence.left_by(decoder, self.predictor_.trained) or Evidence(linear)
        soft, scoring = known.soft, known.scoring
        if soft is not None:
            soft = run.learner.partial_fit_soft_vectors(
                soft, scoring.sharpness, run.examples, run.calls
            )
        reranker = self.predictor_.reranker
        return Evidence(linear, scoring=scoring, soft=soft, before=decoder, reranker=reranker)

    def _chosen(self, predictor: Predictor, evidence: Evidence, decoder: Any) -> dict[str, Any]:
        """Return the fitted attributes of a choice."""
        chosen = choose(evidence, self._selection(decoder))
        parts = chosen.decoder, chosen.trained, chosen.reranker, chosen.rule or self._known_rule()
        fitted = {
            "predictor_": predictor.with_decoder(*parts),
            "_evidence": chosen.evidence,
        }
        return fitted if chosen.report is None else {**fitted, "decoder_report_": chosen.report}

    def _selection(self, decoder: Any) -> SelectionSettings:
        return SelectionSettings(decoder, self.soft_vectors, self.reranker)

    def _known_rule(self) -> SetRule | None:
        """Return what makes sets of labels where no rows have chosen it; here there are none."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the codes of the training rows: what predicts does not need them."""
        state = super().__getstate__()
        state.pop("_evidence", None)
        return state


def _too_late(*_: Any) -> list[Any]:
    """Train no class vectors: the user or the clock has ended training."""
    warn("Training ended before the second stage was trained; it is left out.")
    return []
