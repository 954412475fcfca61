"""`DSNCClassifier`: fit, predict, save."""

import contextlib
import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from dsnc.checks import whole
from dsnc.classifier.inputs import seed_of
from dsnc.classifier.learned import Run
from dsnc.classifier.open_world import OpenWorld, usual_rows
from dsnc.classifier.texts import as_numbers
from dsnc.classifier.trainers import choose_trainer, tell_why_torch
from dsnc.decoders import Decoder, Evidence, LinearDecoder, parse_decoder
from dsnc.decoders.scoring import accuracy
from dsnc.decoders.set_rule import SetRule
from dsnc.errors import InputError, warn
from dsnc.model import CodeModel
from dsnc.predictor import Predictor
from dsnc.selection import DecoderReport, SelectionSettings, VectorTrainer, choose, gather
from dsnc.selection.confidence import check_confidence
from dsnc.selection.second_stage import parse_reranker
from dsnc.threads import n_threads
from dsnc.training.settings import RunSettings, Settings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples


@dataclass(kw_only=True, eq=False, repr=False)
class DSNCClassifier(CodeModel, OpenWorld):
    """Classifier for very many classes: learns a short binary code for a row and decodes the class.

    The defaults are the best recipe we know, and `n_bits` is the one parameter to think about.
    ``DSNCClassifier(**PAPER)`` is the paper's model.

    Parameters
    ----------
    n_bits : int, default 64
        Length of the codes. More bits gain accuracy and cost time and memory. Telling K classes
        apart takes log2(K) bits at least; four times that is a good start. At most 4,096.
    trainer : "auto", "fast" or "torch", default "auto"
        Which trainer to use. "fast" trains linear encoders on the CPU, without torch, at a cost
        that grows slowly with the number of classes. "torch" trains everything: other encoders and
        gradients, `beta` and `gamma`, on GPUs. "auto" uses the fast trainer if it supports all
        settings, and torch otherwise. The fitted attribute `trainer_` says which one was used, and
        the log names a setting that has selected torch.
    encoder : "linear", "mlp" or torch.nn.Module, default "linear"
        Maps a row to `n_bits` numbers, whose signs are the code. A module of your own maps a (rows,
        features) tensor to a (rows, n_bits) tensor.
    hidden : sequence of int, default (1024,)
        Widths of the hidden layers of the encoder "mlp".
    normalize : bool, default True
        Whether the encoder "mlp" uses batch normalization.
    gradient : str, dict or dsnc.gradients.Gradient, default "straight_through"
        How training estimates a gradient through bits that are drawn at random:
        "straight_through", "reinforce", "relaxed" or "disarm". A dict has a name and settings, such
        as ``{"name": "relaxed", "temperature": 0.5}``; an instance is copied. All of them draw
        ``n_draws=4`` codes for each row in a training step, unless their settings say otherwise.
    code_values : "signs" or "bits", default "signs"
        Whether the decoder sees codes of -1 and +1 in training, or of 0 and 1 as in the paper.
    soft_share : float, default 0.25
        Share of the loss, 0 to 1, that is computed on the probabilities of the bits instead of on
        drawn bits. This prepares the class vectors for decoders that score soft bits. The paper has
        0.
    decoder : str, dict or dsnc.decoders.Decoder, default "auto"
        Maps a code to its class. A name from `dsnc.decoders.decoder_names()`, where "auto" chooses
        the cheapest decoder that is as accurate as any on held-out rows (see `decoder_report_`); a
        dict of a name and settings, such as ``{"name": "shortlist", "size": 50}``
        (docs/decoders.md lists all settings); or a decoder, which is used as it is.
    reranker : "auto", "features", dict or None, default "auto"
        Second stage: features of a row decide among the candidates that its code has found. "auto"
        adds it if held-out rows gain clearly, "features" always, None (or "none") never. A dict has
        settings, such as ``{"name": "features", "budget": 1_000_000}`` (bytes); docs/reranker.md
        lists all of them.
    memory : int, default 1024
        Bytes per class for soft codes of some of its rows, which the model remembers so that
        `add_classes` does not harm known classes. A soft code of 64 bits takes 32 bytes. With 0,
        the model keeps nothing of the data, and added classes cost the known ones more accuracy.
    scaling : "auto", "standard", "common", "unit_rows" or "none", default "auto"
        How features are scaled: "auto" divides rows of mostly zeros (word counts, for example) by
        their length; it centers other features and divides them by a deviation: a common one if
        they seem to share a unit (pixels, for example), otherwise each by its own. This depends on
        the numbers only, not on whether X is a dense or a sparse matrix. "standard" always divides
        each feature by its own deviation, "common" all by one, "unit_rows" divides rows by their
        length, and "none" leaves X alone.
    text : dict, TextFeatures or None, default None
        How strings become rows, if X holds strings. Settings of `dsnc.features.TextFeatures`, such
        as ``{"words": (1, 3)}``, or an instance whose settings are used. None uses the defaults.
    beta, gamma : float, default 0.0
        Weights of the regularizer: `beta` of the mean squared distance between codes of the same
        class, which is added to the loss, `gamma` of that between codes of different classes, which
        is subtracted.
    adaptive : "none", "previous" or "best", default "none"
        Whether to double `beta` and `gamma` when validation accuracy rises and halve them when it
        falls, compared with the accuracy before ("previous", as the paper says) or with the best so
        far ("best", as the authors' script does).
    loss : str, dict or dsnc.training.losses.base.Loss, default "auto"
        The loss over the classes, by name, as a dict of a name and settings, or as an instance.
        "softmax" is the cross-entropy over all classes, and "sampled_softmax" an estimate of it:
        exact for the classes of the batch and the 32 nearest of each row, rough for the others.
        "sigmoid" decides each class by itself, as one against all others, and "sampled_sigmoid"
        estimates that. With torch, "auto" is "softmax", or from 8,192 classes on "sampled_softmax"
        unless a GPU computes in bfloat16; the fast trainer always samples. With a sampled loss and
        very many held-out rows, epochs are measured on some of them (`history_` says how many).
    label_smoothing : float, default 0.0
        Share of the target, 0 to 1, that is spread over all classes. Sigmoids refuse it.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes, as in scikit-learn. They multiply `sample_weight`.
    max_epochs : int or "auto", default "auto"
        Maximum number of passes over the rows. "auto" is 50 with torch. With the fast trainer, it
        is between 5 (very many rows) and 100 (very few). The learning rate rises and falls over all
        of these epochs, so a run that is cut short is worse than one that was planned shorter.
    batch_size, learning_rate, schedule, weight_decay
        Settings of the optimizer, by default "auto", "auto", "one_cycle" and 0. `schedule` may also
        be "constant". With torch, these are settings of Adam: ``batch_size="auto"`` is a fiftieth
        of the rows, but at least 16 and at most 1,000; ``learning_rate="auto"`` is 0.02 for dense
        rows and 0.01 for sparse ones. With the fast trainer, they are settings of AdaGrad: "auto"
        is 16 rows, and a rate of 2 / sqrt(n_bits), or up to twice that if ``max_epochs="auto"``
        gives fewer than 20 epochs. Numbers for batch size and rate select torch, unless
        ``trainer="fast"``; so does a weight decay.
    validation_fraction : float, default 0.1
        Share of the rows held out for validation if `fit` is given no validation rows. Every class
        keeps at least one row to train on. With 0, nothing is measured, and the last epoch is kept.
    validation_every : int, default 1
        Number of epochs between two validations.
    validation_codes : "hard" or "sampled", default "hard"
        Whether validation decodes the most probable code of each row, or one that is drawn at
        random.
    patience : int, optional
        Stop after this many validations without a new best. By default, never.
    time_limit : float, optional
        Stop after this many seconds, with the best model so far. By default, there is no limit.
    device : str, default "auto"
        "auto", "cpu", "cuda", "cuda:1" and so on. With torch, "auto" is a CUDA GPU if there is one,
        and otherwise the CPU.
    precision : "auto", "float32" or "bfloat16", default "auto"
        Precision of the large matrix products in training. "auto" is bfloat16 on a GPU that is fast
        with it, for up to 256 bits, and float32 otherwise.
    checkpoint : path, optional
        Folder in which every epoch is saved. The same `fit` with the same data and settings resumes
        from there.
    callbacks : sequence of callable, default ()
        Functions to call after each epoch with its `Progress`: `progress.epoch` has the figures of
        the epoch, `progress.history` those of all so far, and ``progress.stop()`` ends training.
    verbose : bool, default False
        Whether to show a progress bar on stderr.
    n_jobs : int, optional
        Number of threads; -1 uses all cores. By default, prediction uses one thread, and the fast
        trainer all cores, or as many as OMP_NUM_THREADS says. The fast trainer learns with at most
        8. The model does not depend on this number.
    random_state : int, RandomState or None, default 0
        Seed of everything random. The same int gives the same model, bit for bit, on one machine;
        None gives another model every time.

    Attributes
    ----------
    classes_ : array
        The labels, in the order of the columns of `predict_proba`.
    predictor_ : dsnc.predictor.Predictor
        The trained arrays, and the code that predicts with them.
    decoder_report_ : dsnc.selection.DecoderReport
        Which decoder was chosen and why, and how accurate the others are.
    figures_ : dict
        How good the model is on rows that it was not trained on: ``validation_accuracy``;
        ``calibration_error`` and ``confidence_auroc``, measured on held-out rows that did not
        calibrate the probabilities (see `dsnc.selection.confidence`); and ``test`` if
        `keep_test_figures` was called.
    history_ : dsnc.training.history.History
        The figures of each epoch. Accuracies are measured with the class vectors of training: by
        the torch trainer on hard codes, by the fast one on soft bits, among the nearest classes, on
        at most 4,096 rows.
    trainer_ : str
        The trainer that was used: "fast" or "torch".
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    """

    width: ClassVar[str | None] = "n_bits"
    settings_kind: ClassVar[type[RunSettings]] = Settings
    decoder_report_: DecoderReport = field(init=False)

    n_bits: int = 64
    trainer: str = "auto"
    encoder: Any = "linear"
    hidden: Sequence[int] = (1024,)
    normalize: bool = True
    gradient: Any = "straight_through"
    code_values: str = "signs"
    soft_share: float = 0.25
    decoder: Any = "auto"
    reranker: Any = "auto"
    memory: int = 1024
    beta: float = 0.0
    gamma: float = 0.0
    adaptive: str = "none"
    loss: Any = "auto"
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
            As the parameter `decoder` of the class.
        X, y : rows and labels, optional
            The training rows, for a decoder that needs their codes ("nearest", for example). A
            model that was loaded from a file keeps only the codes that its own decoder needs.
        """
        check_is_fitted(self, "predictor_")
        parse_decoder(decoder, self.n_bits)
        evidence = self._known_evidence()
        if X is not None:
            X = as_numbers(self._without_records(X), self.predictor_.features)
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
                figures = {"validation_accuracy": worth, **other._check_confidence()}
                other._measured = stages, figures
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
                f"at least {least} bits; n_bits={4 * least} is a good start."
            )
        return settings

    def _require_extras(self, caller: str) -> None:
        settings: Any = self._settings()
        if choose_trainer(settings)[0] == "torch":
            super()._require_extras(caller)

    def _learner_of(self, settings: Any, examples: "Examples", seed: int, *, joins: bool) -> Any:
        trainer, reason = choose_trainer(settings)
        if reason:
            tell_why_torch(reason)
        if trainer == "torch":
            return super()._learner_of(settings, examples, seed, joins=joins)
        from dsnc.fast import FastLearner  # here, as nobody needs it to predict

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
                f"a model with only the {predictor.decoder.name!r} decoder does not contain the "
                "linear one, which this needs; save it with 'shortlist', 'table', 'soft' or "
                "'linear' instead."
            )
        return known

    def _choose_decoder(self, trained: Predictor, run: Run) -> dict[str, Any]:
        linear: Any = trained.decoder  # the paper's objective trains this one
        evidence = Evidence(linear)
        if not run.calls:  # a pass over some rows does not know the others
            evidence = gather(trained, run.examples, run.held_out)
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
        reranker = self.predictor_.reranker
        return Evidence(linear, scoring=known.scoring, before=decoder, reranker=reranker)

    def _finish(self, *learned: Any) -> None:
        super()._finish(*learned)
        self._measured[1].update(self._check_confidence())

    def _check_confidence(self) -> dict[str, float]:
        """Return how good the probabilities of a decoder are that was calibrated here."""
        evidence: Evidence | None = getattr(self, "_evidence", None)
        if evidence is None or isinstance(self.decoder, Decoder):
            return {}
        return check_confidence(self.predictor_.stages, evidence)

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
        return SelectionSettings(decoder, self.reranker)

    def _known_rule(self) -> SetRule | None:
        """Return what makes sets of labels where no rows have chosen it; here there are none."""
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the codes of the training rows, which prediction does not need."""
        state = super().__getstate__()
        state.pop("_evidence", None)
        return state


def _too_late(*_: Any) -> list[Any]:
    """Train no class vectors: the user or the clock has ended training."""
    warn("Training ended before the second stage was trained; it is left out.")
    return []
