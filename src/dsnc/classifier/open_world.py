"""Classes come and go: a fitted model learns new classes and forgets others.

It does not train from scratch. When classes are added, it also trains on what it remembers of the
others; see `dsnc.selection.new_classes`.
"""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dsnc.classifier.descriptions import Attributes, Descriptions, items_of
from dsnc.classifier.inputs import label_column, seed_of
from dsnc.classifier.learned import LearnedClassifier
from dsnc.classifier.texts import as_numbers
from dsnc.codes import Encoded
from dsnc.codes.soft import SoftCodes, octets_of
from dsnc.decoders.evidence import Evidence
from dsnc.decoders.memory import Memory, some_of_each
from dsnc.decoders.novelty import Hidden, MovedNovelty, Novelty, signs_of_novelty
from dsnc.errors import InputError, warn
from dsnc.features import TextRows, are_texts
from dsnc.labels import label_array
from dsnc.predictor import Predictor
from dsnc.rows import draw_rows
from dsnc.selection.lesson import Learning
from dsnc.selection.new_classes import (
    Arrival,
    with_attributes,
    with_described_classes,
    with_new_classes,
    without_classes,
)
from dsnc.selection.new_words import with_new_words
from dsnc.selection.teaching import can_be_taught

if TYPE_CHECKING:
    from dsnc.classifier.learned import Run
    from dsnc.labels import Labels
    from dsnc.training.examples import Examples

_JUDGES = 1 << 12  # held-out rows that tell what is usual,
_MOVERS = 1 << 10  # and how far lines move when classes come or go: that errs by less than lines do
_ROWS = 1 << 16  # that are encoded at a time
_MOST_THREADS = 8  # a batch is small
_CHANGES = 1000  # that a model file lists: the last ones


class OpenWorld(LearnedClassifier):
    """A classifier with codes, whose classes may come and go."""

    memory: int

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: Any = None,
        descriptions: Any = None,
        attributes: Any = None,
    ) -> Self:
        """Learn from rows and their labels. If this fails, the model stays as it was.

        Parameters
        ----------
        X : ndarray, CSR or memory map of shape (n, d), or list of n str
            The rows. `dsnc.features.TextFeatures` turns strings into rows, with the settings
            `text`; it is fitted to all of X.
        y : array of shape (n,)
            The label of each row: integers, strings or booleans.
        sample_weight : array of shape (n,), optional
            Weight of each row, 0 or more. By default, all rows count the same.
        validation : (X, y), optional
            Rows to validate on, instead of rows held out of X. They choose the epoch, the decoder
            and the second stage, and calibrate probabilities. Their labels must occur in `y`.
        descriptions : dict of label to str or list of str, optional
            If X holds strings: texts that describe classes, such as a name and a definition.
            Classes with rows are learned from them as well, and classes without rows from them
            alone, as `add_described_classes` does.
        attributes : dict of label to array of float, optional
            For any X: numbers that describe classes, the same number for each. The classes with
            rows teach what attributes mean, and classes without rows are learned from attributes
            alone. Give either attributes or descriptions.
        """
        if descriptions is None and attributes is None:
            return super().fit(X, y, sample_weight, validation=validation)
        with self._all_or_nothing():
            if attributes is None:
                texts = Descriptions.of(*items_of(descriptions, "descriptions"))
                self._fit(X, y, sample_weight, validation, texts)
                rest = texts.without(self._labels)
                return self._describe(rest) if len(rest.labels) else self
            said = _one_of(descriptions, Attributes.of(*items_of(attributes, "attributes")))
            self._check_memory()
            self._fit(X, y, sample_weight, validation)
            return self._describe(said)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train one pass over more rows. The model may be new, fitted or loaded.

        Labels that were never seen before are added first, as `add_classes` does.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. If X holds strings, the first call decides which n-grams are known.
        classes : array, optional
            The labels to start with; required in the first call.
        """
        strange = self._rows_of_new_classes(y)
        if not len(strange):
            return super().partial_fit(X, y, classes, sample_weight)
        with self._all_or_nothing() as before:
            before.pop("_learner", None)  # it may be moved; what predicts stays as it is
            self.add_classes(_safe_indexing(X, strange), label_column(y)[strange])
            return super().partial_fit(X, y, classes, sample_weight)

    def add_classes(self, X: Any, y: Any) -> Self:
        """Learn new classes, or more rows of known ones, without forgetting the others.

        New classes get codes, class vectors and, if the model has a second stage, vectors over
        features. All class vectors are trained briefly, on these rows and on what the model
        remembers of the other classes (`memory`). If few classes are added to many, only theirs and
        those of classes near them are. The balance between old and new is chosen on remembered
        codes, and on some of the rows if classes have eight or more. The encoder stays as it is,
        except for sparse rows such as texts: if new classes have that many rows, it learns the
        meaning of features that it has hardly seen before. Labels that were removed before return
        to their old place; others come last in `classes_`, in sorted order.

        If this fails, the model stays as it was.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d), or list of n str
            The rows. One row of a class is enough; more are better.
        y : array of shape (n,)
            Their labels.

        Examples
        --------
        >>> import numpy as np
        >>> from dsnc import DSNCClassifier
        >>> X, y = np.eye(6).repeat(20, axis=0), np.arange(6).repeat(20)
        >>> model = DSNCClassifier(n_bits=8).fit(X[:80], y[:80])
        >>> model.add_classes(X[80:], y[80:]).classes_
        array([0, 1, 2, 3, 4, 5])
        """
        check_is_fitted(self, "predictor_")
        with self._all_or_nothing():
            X = self._without_records(X)
            if are_texts(X) and len(X) == len(label_column(y)):
                self._learn_words(TextRows.listed(X), label_column(y))
            X = as_numbers(X, self.predictor_.features)
            X, y = self._check_rows_and_labels(X, y, reset=False)
            labels, before = self._labels.adding(y, "y")
            arrival = Arrival(X, labels.numbers(y, "y").astype(np.int64), before)
            n_new = int(np.count_nonzero(before < 0))
            self._warn_if_forgetful()
            found = with_new_classes(self.predictor_, self._memory, arrival, self._learning())
            self._take(labels, *found, {"classes added": n_new, "rows": len(y)})
        return self

    def add_described_classes(
        self, labels: Any, descriptions: Any = None, *, attributes: Any = None
    ) -> Self:
        """Learn new classes that have no rows yet, from descriptions or attributes.

        A description is treated like a row: it has a code, and features. Attributes are mapped to a
        code; the mapping is learned from known classes whose attributes were given to `fit` or are
        given here. Otherwise this works like `add_classes`, which can add rows of these classes
        later. Known classes may be described, too: they show how far descriptions can be trusted.

        If this fails, the model stays as it was.

        Parameters
        ----------
        labels : sequence
            The label of each class, each once.
        descriptions : sequence of str, or of lists of str
            For each label, one text or several, such as a name and a definition. For a model that
            was fitted to texts.
        attributes : array of shape (len(labels), n_attributes)
            Numbers that describe each class, instead of descriptions.

        Examples
        --------
        >>> from dsnc import DSNCClassifier
        >>> texts = ["night nurse", "bus driver", "ward nurse", "truck driver"] * 10
        >>> model = DSNCClassifier(n_bits=8).fit(texts, ["care", "traffic"] * 20)
        >>> model.add_described_classes(["tow"], ["truck with a crane"]).classes_
        array(['care', 'traffic', 'tow'], dtype=object)
        """
        check_is_fitted(self, "predictor_")
        if attributes is None:
            return self._describe(Descriptions.of(labels, descriptions))
        return self._describe(_one_of(descriptions, Attributes.of(labels, attributes)))

    def _describe(self, said: Descriptions | Attributes) -> Self:
        """Learn classes from what is said of them."""
        with self._all_or_nothing():
            if isinstance(said, Descriptions):
                said.rows(self.predictor_.features, self._labels)  # or they are refused
                self._learn_words(said.texts, said.labels)
                X, y = said.rows(self.predictor_.features, self._labels)
                describe: Any = with_described_classes
            else:
                self._check_memory()
                X, y = said.numbers, said.labels
                self._check_attributes(X.shape[1])
                describe = with_attributes
            labels, before = self._labels.adding(y, "labels")
            arrival = Arrival(X, labels.numbers(y, "labels").astype(np.int64), before)
            self._warn_if_forgetful()
            predictor, memory = describe(self.predictor_, self._memory, arrival, self._learning())
            n_new = int(np.count_nonzero(before < 0))
            self._take(
                labels, predictor, memory, {"classes described": len(set(y.tolist())), "new": n_new}
            )
        return self

    def _learn_words(self, texts: list[str], labels: Any) -> None:
        """Give n-grams that come with new texts a meaning."""
        known = self.predictor_, self._memory
        self.predictor_, self._memory = with_new_words(*known, texts, labels)
        self.n_features_in_ = self.predictor_.n_features

    def _check_memory(self) -> None:
        if not self.memory or (hasattr(self, "predictor_") and self._memory is None):
            raise InputError(
                "attributes: what they mean is learned from the codes that a model remembers for "
                "its classes, but this model remembers none (memory=0, or a file from an earlier "
                "version); fit it again with memory above 0."
            )

    def _check_attributes(self, width: int) -> None:
        known = 0 if self._memory is None else self._memory.attributes.shape[1]
        if known and known != width:
            raise InputError(
                f"attributes has {width} columns, but those of the known classes have {known}; "
                "give the same columns."
            )

    def _warn_if_forgetful(self) -> None:
        if self._memory is None or not len(self._memory.codes):
            warn(
                "The model remembers nothing of its classes (memory=0, or a file from an earlier "
                "version): their vectors stay as they are, and new classes take some of their rows."
            )

    def remove_classes(self, labels: Any) -> Self:
        """Forget classes: they are not predicted any more, and have no probability.

        The other classes stay as they are. Nothing of the removed ones is kept except their labels;
        `add_classes` can bring them back from rows.

        Parameters
        ----------
        labels : sequence, or one label
            Some of `classes_`. At least two classes must stay.
        """
        check_is_fitted(self, "predictor_")
        with self._all_or_nothing():
            several = isinstance(labels, Iterable) and not isinstance(labels, str | bytes)
            wanted = label_array(list(labels) if several else [labels])
            if len(set(wanted.tolist())) < len(wanted):
                raise InputError("labels lists a class twice; give each class once.")
            left, before = self._labels.removing(wanted, "labels")
            if len(left) < 2:
                raise InputError(
                    f"labels names {len(wanted):,} of {len(self._labels):,} classes; at least two "
                    "must remain."
                )
            found = without_classes(self.predictor_, self._memory, before)
            self._take(left, *found, {"classes removed": len(wanted)})
        return self

    def _take(
        self,
        labels: "Labels",
        predictor: Predictor,
        memory: Memory | None,
        change: dict[str, Any],
    ) -> None:
        """Keep what a change has made, all of it at once."""
        self._novelty = self._moved_novelty(predictor, memory)
        self._labels, self.predictor_, self._memory = labels, predictor, memory
        for name in ("_learner", "_evidence"):  # of other classes
            self.__dict__.pop(name, None)
        done = [*self.data_.get("changes", []), {**change, "classes in all": len(labels)}]
        self.data_ = {**self.data_, "changes": done[-_CHANGES:]}

    def _moved_novelty(self, predictor: Predictor, memory: Memory | None) -> Novelty | None:
        """Return what is usual once something else predicts: lines move as remembered rows do."""
        known = self._novelty
        if known is None or memory is None or self._memory is None:
            return known
        after = partial(_first_stage, predictor, memory)
        try:
            after(memory.held_out.take(slice(1)))
            if isinstance(known, MovedNovelty) and len(memory.held_out) == len(
                self._memory.held_out
            ):
                return known.again(after)
            before = _first_stage(self.predictor_, self._memory, memory.held_out)
        except InputError:  # a decoder that needs the rows themselves, which nobody remembers
            return known
        return MovedNovelty(Novelty(known.usual, known.quantiles, known.hidden), before, after)

    def _rows_of_new_classes(self, y: Any) -> Any:
        """Return which rows have labels that were never seen before; none where nothing was."""
        labels = label_column(y)
        if not hasattr(self, "predictor_") or labels.ndim != 1:
            return []
        return np.flatnonzero(self._labels.find(labels) < 0)

    def _learning(self) -> Learning:
        """Return how to learn."""
        from dsnc.fast.learner import threads_to_train

        most = int(self.memory) // octets_of(self.predictor_.n_bits)
        n_threads = min(_MOST_THREADS, threads_to_train(self._n_jobs()))
        return Learning(most, self.scaling, seed_of(self.random_state), n_threads)

    def _remembering(self, trained: Predictor, run: "Run") -> Memory | None:
        """Return what the model remembers of the rows of a run, and of those before."""
        most = int(self.memory) // octets_of(trained.n_bits)
        if not most:
            return None
        seed, n_classes = seed_of(self.random_state), trained.n_classes
        memory = getattr(self, "_memory", None) if run.calls else None
        if memory is None or len(memory.counts) != n_classes:
            memory = Memory.empty(trained.n_bits, n_classes)
        rows, y = _used(run.examples), run.examples.targets.y
        n_rows = len(y) - run.n_described
        rows, described = rows[rows < n_rows], rows[rows >= n_rows]
        some = rows[some_of_each(y[rows], most, seed)]
        memory = memory.with_rows(_codes(trained, run.examples, some), y[some], most, seed)
        memory = memory.counting(y[rows])
        is_first = not (run.calls and hasattr(self, "predictor_"))
        counts = is_first or len(memory.seen) > 0  # features, from the first row on or never
        if counts and can_be_taught(trained.encoder):
            for start in range(0, len(rows), _ROWS):
                memory = memory.seeing(run.examples.X[rows[start : start + _ROWS]])
        if len(described):
            codes = _codes(trained, run.examples, described)
            memory = memory.with_descriptions(codes, y[described])
        if run.held_out is not None and run.held_out.n_rows:
            held = _used(run.held_out)
            memory = memory.with_held_out(
                _codes(trained, run.held_out, held), run.held_out.targets.y[held]
            )
        return memory


def _one_of(descriptions: Any, attributes: Attributes) -> Attributes:
    if descriptions is not None:
        raise InputError("descriptions and attributes are both given; give one of them.")
    return attributes


def _used(examples: "Examples") -> Any:
    return np.arange(examples.n_rows) if examples.rows is None else examples.rows


def _codes(trained: Predictor, examples: "Examples", rows: Any) -> SoftCodes:
    """Return the codes of some rows, block by block: X may be a memory map."""
    starts = range(0, max(1, len(rows)), _ROWS)
    parts = (trained.logits(examples.X[rows[start : start + _ROWS]]) for start in starts)
    return SoftCodes.concatenate([SoftCodes.from_logits(logits) for logits in parts])


def _first_stage(predictor: Predictor, memory: Memory, codes: SoftCodes | None = None) -> Any:
    """Return the signs of novelty of some codes, by default of those that were held out."""
    codes = memory.held_out if codes is None else codes
    logits = codes.take(draw_rows(len(codes), _MOVERS)).logits()
    return signs_of_novelty(Encoded(logits), predictor.decoder, memory)


def usual_rows(predictor: Predictor, evidence: Evidence, memory: Memory | None) -> Novelty | None:
    """Return what is usual for rows of known classes, as held-out rows tell."""
    rows = evidence.rows
    if rows is None or not rows.targets.is_single:
        return None  # a row without a label is nothing strange
    some = rows.take(_JUDGES)
    signs = partial(signs_of_novelty, some.encoded, predictor.decoder, memory)
    return Novelty.of(signs(), signs(Hidden(some.targets.y, evidence.owners)))
