"""`DSNCClassifier`: fit, predict, save."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dsnc.classifier.base import LearnedClassifier, Lesson
from dsnc.classifier.inputs import class_numbers
from dsnc.classifier.texts import as_numbers
from dsnc.codes import Encoded, PackedCodes
from dsnc.codes.threads import n_threads
from dsnc.decoders import LinearDecoder
from dsnc.decoders.choose import (
    DecoderReport,
    Material,
    make_decoder,
    material_of,
    parse_choice,
    rehearse,
    renewed,
    scoring_of,
    trained_beside,
    wanted_sharpness,
    with_soft_rows,
)
from dsnc.decoders.scoring import SCORING
from dsnc.decoders.tune import HeldOut
from dsnc.predictor import Predictor
from dsnc.training.settings import RunSettings, Settings

if TYPE_CHECKING:
    from dsnc.training.examples import Examples

_MAX_CODES = 1 << 20  # training rows whose codes are known to decoders
_MAX_HELD_OUT = 1 << 15  # rows that choose among decoders
_SOFTER = 0.7  # sharpness to train rows at, beside that which rows of training like best


class DSNCClassifier(LearnedClassifier):
    """Classifier for very many classes: learns a short binary code of x, decodes it to the class.

    Setting only `n_bits` gives the best recipe we know; ``DSNCClassifier(**PAPER)`` is the paper's.

    Parameters
    ----------
    n_bits : int
        Length of the codes. More bits cost time and memory and gain accuracy; log2 of the number
        of classes is the least that can work, four times as many is a good start.
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
    n_samples : int
        Codes sampled for each example in a step, for a gradient given by name.
    code_values : "signs" or "bits"
        Whether the decoder sees -1 and +1 in training, or the paper's 0 and 1.
    soft_share : float
        Share of the loss that is taken on the bits' probabilities instead of on drawn bits: what
        the decoders that re-rank by soft bits will see. The paper has 0.
    soft_rows : bool
        Whether `fit` may give those decoders rows of their own: a fifth more epochs, of the rows
        alone, on bits as soft as held-out rows (or the decoder's setting) like them, where that is
        softer than what training saw (short codes of dense rows, above all) and turns out to be
        more accurate.
    decoder : str or dict
        Maps a code to its class: "shortlist", "soft", "linear", "nearest", "table", or "auto" for
        the best of them on held-out rows (see `decoder_report_`). Settings go into a dict, such
        as ``{"name": "shortlist", "size": 50, "radius": 3}``; docs/decoders.md has them all.
    scaling : "auto", "standard", "common", "unit_rows" or "none"
        What is done to X: "auto" divides sparse rows by their length; dense features by one
        common deviation where they seem to share a unit (pixels), else each by its own.
    text : dict, TextFeatures or None
        Where X holds strings: settings of `dsnc.features.TextFeatures`, such as
        ``{"words": (1, 3)}``.
    beta, gamma : float
        Weights of the intra-class and the inter-class term (means of squared distances).
    adaptive : bool
        Double both when validation accuracy rises, halve them when it falls, as the paper does.
    label_smoothing : float
        Share of the target spread over all classes.
    class_weight : dict, "balanced" or None
        As in scikit-learn.
    max_epochs, batch_size, learning_rate, schedule, weight_decay
        Of Adam; `schedule` is "one_cycle" or "constant". ``batch_size="auto"`` takes a fiftieth of
        the rows, at least 16 and at most 1,000; ``learning_rate="auto"`` is 0.02 for dense rows
        and 0.01 for sparse ones.
    validation_fraction : float
        Share of the rows held out to choose the best epoch, where `fit` is given no others. A
        class never loses its last row to it.
    validation_every : int
        Epochs between validations.
    patience : int, optional
        Stop after so many validations without a new best.
    time_limit : float, optional
        Stop after so many seconds, with the best model so far.
    device : str
        "auto", "cpu", "cuda", ...
    precision : "float32" or "bfloat16"
        Of the large matrix products in training.
    checkpoint : path, optional
        A folder where every epoch is saved; `fit` with the same data and settings goes on there.
    callbacks : sequence of callable
        Called with (epoch, objective) after each epoch; a true answer stops training.
    verbose : bool
        Draw a progress bar on stderr.
    n_jobs : int, optional
        Threads that predict; -1 takes all cores.
    random_state : int, RandomState or None
        The same number gives the same model, bit for bit, on one machine.

    Attributes
    ----------
    classes_ : array
        The labels.
    predictor_ : dsnc.predictor.Predictor
        The trained arrays; it alone predicts.
    decoder_report_ : dsnc.decoders.DecoderReport
        Which decoder was chosen, why, and what the others would have been worth.
    history_ : dsnc.training.history.History
        What happened in training.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn.
    """

    kind: ClassVar[str] = "dsnc"
    settings_kind: ClassVar[type[RunSettings]] = Settings
    decoder_report_: DecoderReport

    def __init__(
        self,
        *,
        n_bits: int = 64,
        encoder: Any = "linear",
        hidden: Sequence[int] = (1024,),
        normalize: bool = True,
        gradient: Any = "straight_through",
        n_samples: int = 4,
        code_values: str = "signs",
        soft_share: float = 0.25,
        soft_rows: bool = True,
        decoder: Any = "auto",
        scaling: str = "auto",
        text: Any = None,
        beta: float = 0.0,
        gamma: float = 0.0,
        adaptive: bool = True,
        label_smoothing: float = 0.0,
        class_weight: Any = None,
        max_epochs: int = 50,
        batch_size: int | str = "auto",
        learning_rate: float | str = "auto",
        schedule: str = "one_cycle",
        weight_decay: float = 0.0,
        validation_fraction: float = 0.1,
        validation_every: int = 1,
        patience: int | None = None,
        time_limit: float | None = None,
        device: str = "auto",
        precision: str = "float32",
        checkpoint: str | os.PathLike[str] | None = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.encoder = encoder
        self.hidden = hidden
        self.normalize = normalize
        self.gradient = gradient
        self.n_samples = n_samples
        self.code_values = code_values
        self.soft_share = soft_share
        self.soft_rows = soft_rows
        self.decoder = decoder
        self.scaling = scaling
        self.text = text
        self.beta = beta
        self.gamma = gamma
        self.adaptive = adaptive
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.validation_fraction = validation_fraction
        self.validation_every = validation_every
        self.patience = patience
        self.time_limit = time_limit
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.callbacks = callbacks
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def encode(self, X: Any) -> PackedCodes:
        """Return the binary code of each row."""
        X = self._check_rows(X)
        return self.predictor_.encode(X)

    def with_decoder(self, decoder: Any, X: Any = None, y: Any = None) -> Self:
        """Return a classifier with the same codes and another decoder; nothing is trained.

        Parameters
        ----------
        decoder : str or dict
            As the parameter of that name.
        X, y : rows and labels, optional
            The training rows, for a decoder that needs their codes where the model does not know
            them any more: a model from a file knows those that its own decoder needs.
        """
        check_is_fitted(self, "predictor_")
        parse_choice(decoder)
        material = self._known_material()
        if X is not None:
            X = as_numbers(X, self.predictor_.features)
            X, y = self._check_rows_and_labels(X, y, reset=False)
            codes = self.predictor_.encode(X)
            numbers = class_numbers(y, self.classes_).astype(np.int64)
            material = replace(material, codes=codes, y=numbers)
        other = copy.copy(self)
        other.decoder = decoder
        chosen, other.decoder_report_ = make_decoder(decoder, material)
        other.predictor_ = self.predictor_.with_decoder(chosen, trained_beside(chosen, material))
        other._material = material  # a copy comes without
        return other

    def _settings(self) -> RunSettings:
        parse_choice(self.decoder)
        n_threads(self.n_jobs)
        settings = super()._settings()
        rehearse(self.decoder, self.n_bits)
        # Training changes a module; what the user passed stays as it was.
        return replace(settings, encoder=copy.deepcopy(self.encoder))

    def _trained_decoder(self) -> LinearDecoder:
        return self._known_material().linear

    def _known_material(self) -> Material:
        """Return what training left, or what a model file still knows of it."""
        known: Material | None = getattr(self, "_material", None)
        return known or material_of(self.predictor_.decoder, self.predictor_.trained)

    def _with_best_decoder(self, trained: Predictor, lesson: Lesson) -> Predictor:
        linear: Any = trained.decoder  # the paper's objective trains this one
        name, settings = parse_choice(self.decoder)
        material = Material(linear)
        if lesson.calls and hasattr(self, "predictor_"):
            decoder = self.predictor_.decoder
            material = self._going_on(linear, lesson)
            if name in ("auto", decoder.name):
                renewed_decoder = renewed(decoder, material.scorer)
                self._material = material  # not before: a refusal leaves everything as it was
                return trained.with_decoder(
                    renewed_decoder, trained_beside(renewed_decoder, material)
                )
        if not lesson.calls:  # a pass over some rows does not know the others
            X, y, _ = _some_rows(lesson.examples, _MAX_CODES)
            material = replace(material, codes=trained.encode(X), y=y)
        if lesson.held_out is not None:
            X, y, weight = _some_rows(lesson.held_out, _MAX_HELD_OUT)
            held = HeldOut(Encoded(trained.logits(X)), y, weight)
            material = replace(material, held_out=held)
        if self.soft_rows and not lesson.calls and name not in ("linear", "nearest"):
            fixed = {key: settings[key] for key in SCORING if key in settings}
            material = _with_soft_rows(material, lesson, fixed)
        decoder, self.decoder_report_ = make_decoder(self.decoder, material)
        self._material = material
        return trained.with_decoder(decoder, trained_beside(decoder, material))

    def _going_on(self, linear: LinearDecoder, lesson: Lesson) -> Material:
        """Return what is known after a pass over some examples: rows, and how to score by them."""
        decoder, beside = self.predictor_.decoder, self.predictor_.trained
        material = Material(linear, scoring=scoring_of(decoder))
        if beside is None:
            return material
        before, sharpness = material_of(decoder, beside).scorer, material.scoring.sharpness
        soft = lesson.learner.fit_soft_rows(before, sharpness, lesson.examples, call=lesson.calls)
        return replace(material, soft=soft)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the codes of the training rows: what predicts does not need them."""
        state = super().__getstate__()
        state.pop("_material", None)
        return state


def _with_soft_rows(material: Material, lesson: Lesson, fixed: Mapping[str, Any]) -> Material:
    """Train rows on soft bits where held-out rows, or the user, like bits softer than drawn."""
    learner = lesson.learner
    wanted = learner.agreed(wanted_sharpness(material, fixed))
    if wanted >= 1:
        return material
    # Rows that learn from softer bits like them still softer.
    sharpness = wanted if "sharpness" in fixed else _SOFTER * wanted
    soft = learner.fit_soft_rows(material.linear, sharpness, lesson.examples, lesson.held_out)
    return with_soft_rows(material, soft, fixed)


def _some_rows(
    examples: "Examples", most: int
) -> tuple[Any, NDArray[np.int64], NDArray[np.float32] | None]:
    """Return rows, their classes and weights; evenly spaced ones where there are too many."""
    rows = np.arange(len(examples.y)) if examples.rows is None else examples.rows
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]
    X = examples.X if len(rows) == len(examples.y) else examples.X[rows]
    weight = None if examples.weight is None else examples.weight[rows]
    return X, examples.y[rows].astype(np.int64), weight
