"""Several columns of texts: joined, or each with n-grams of its own, as held-out rows decide."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dsnc.data import Split
from dsnc.data.columns import Columns
from dsnc.data.table_rows import FIELD
from dsnc.features import TextFeatures
from dsnc.labels import object_array
from dsnc.targets import Targets

_SOME_ROWS = 50_000  # that decide, a tenth of them held out


def with_better_texts(parts: Split, random_state: int = 0) -> Split:
    """Return data that were read with ``separate_texts=True`` as they are, or with texts joined.

    The nearest class means decide, which take a moment: whatever puts more of the held-out texts
    next to their class; in doubt, texts are joined.
    """
    train = parts.train
    if train.columns is None or not train.columns.separate:
        return parts
    rows = np.random.default_rng(random_state).permutation(len(train))[:_SOME_ROWS]
    held, kept = np.split(rows, [-(-len(rows) // 10)])
    texts = train.X.tolist()
    joined = _joined(texts, train.columns)
    targets = train.as_label_sets().targets
    separate, one = (_share_near(which, targets, kept, held) for which in (texts, joined))
    if separate > one:
        return parts
    columns = replace(train.columns, separate=False)
    as_one = (object_array(_joined(part.X, train.columns)) for part in parts)
    pairs = zip(parts, as_one, strict=True)
    return Split(*(replace(part, X=X, columns=columns) for part, X in pairs))


def _joined(texts: Any, columns: Columns) -> list[str]:
    """Return texts with one field instead of one for each; words beside texts keep theirs."""
    return [text.replace(FIELD, " ", len(columns.text) - 1) for text in texts]


def _share_near(texts: list[str], targets: Targets, kept: Any, held: Any) -> float:
    """Return the share of held-out texts that are nearest to the mean of a class of their own."""
    if not len(kept):
        return 0.0
    features = TextFeatures()
    X = features.fit_transform([texts[row] for row in kept])
    sums = sp.csr_array(targets.take(kept).classes.astype(np.float64).T) @ X
    lengths = np.sqrt(sums.multiply(sums).sum(axis=1)).ravel()
    means = sp.diags_array(1 / np.maximum(lengths, 1e-12)) @ sums
    scores = (features.transform([texts[row] for row in held]) @ means.T).tocsr()
    return float(targets.take(held).contains(np.asarray(scores.argmax(axis=1)).ravel()).mean())
