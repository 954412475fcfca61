"""The nearest training rows, exactly: where classes are regions, little beats them."""

from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dsnc.baselines.nearest_centroid import UntrainedBaseline
from dsnc.checks import whole
from dsnc.classifier.one_vs_rest import Comparison, judged, rows_and_judges, source_of
from dsnc.decoders import ScoresDecoder
from dsnc.encoders import NeighborsEncoder
from dsnc.predictor import Predictor
from dsnc.rows import draw_rows

if TYPE_CHECKING:
    from dsnc.classifier.estimator import DSNCClassifier

_COUNTS = (1, 3, 10, 30)  # of neighbors
_SCALINGS = ("none", "standard", "unit_rows")
_JUDGES = 1000  # training rows that choose at most, and a fifth of them
# Of a comparison: those of about 5 s on one core, and what a pair of rows takes besides.
_MOST_PRODUCTS, _OVERHEAD = 1e10, 10


class NearestNeighborsBaseline(UntrainedBaseline):
    """Gives a row the class of its nearest training rows; each votes by one over its distance.

    The model holds all training rows. A row is compared with all of them, block by block, or looked
    up in a tree where there are few dense features.

    Parameters
    ----------
    n_neighbors : int or "auto", default "auto"
        How many training rows vote. "auto" tries 1, 3, 10 and 30 on some of the training rows,
        which are held out meanwhile.
    scaling : "auto", "standard", "common", "unit_rows" or "none", default "auto"
        How features are scaled. Rows of length 1 ("unit_rows") are compared by angle, and sparse
        rows always are; others by Euclidean distance. For dense rows, "auto" tries the same way
        what is best. "common" is the same as "none".
    text : dict, TextFeatures or None, default None
        As in `DSNCClassifier`.
    """

    kind: ClassVar[str] = "nearest_neighbors"

    def __init__(
        self, *, n_neighbors: int | str = "auto", scaling: str = "auto", text: Any = None
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scaling = scaling
        self.text = text

    def _encoder(self, X: Any, y: Any, weight: Any, n_classes: int) -> NeighborsEncoder:
        """Return the neighbors of the settings that predict rows best that are held out."""
        counts: Any = _COUNTS if self.n_neighbors == "auto" else [self.n_neighbors]
        scalings = ["unit_rows"] if sp.issparse(X) else _SCALINGS
        tries = list(product(scalings if self.scaling == "auto" else [self.scaling], counts))
        kept = np.flatnonzero(weight > 0)
        judges = kept[draw_rows(len(kept), min(_JUDGES, len(kept) // 5))]

        def make(rows: Any, scaling: str, n_neighbors: int) -> NeighborsEncoder:
            scale, parts = np.ones(X.shape[1]), X[rows].astype(np.float32)
            if scaling == "standard":
                scale = parts.std(axis=0, dtype=np.float64)
                scale[scale == 0] = 1
            settings = n_classes, whole("n_neighbors", n_neighbors), scaling == "unit_rows"
            return NeighborsEncoder(parts, y[rows], weight[rows], scale, *settings)

        def score(settings: tuple[str, int]) -> float:
            encoder = make(np.setdiff1d(kept, judges), *settings)
            found = Predictor(encoder, ScoresDecoder(n_classes)).predict(X[judges])
            return float((found == y[judges]) @ weight[judges])

        return make(kept, *(max(tries, key=score) if len(tries) > 1 else tries[0]))


def compare_with_neighbors(
    model: "DSNCClassifier", X: Any, y: Any, *, has_validation: bool = False
) -> Comparison | None:
    """Judge the nearest neighbors by the rows that were held out, where that takes seconds.

    Parameters and result are those of `compare_with_one_vs_rest`.
    """
    known = rows_and_judges(model, X, y, has_validation=has_validation)
    if known is None:
        return None
    examples, judges = known
    rows = examples.X if examples.rows is None else examples.X[examples.rows]
    X, asked = source_of(judges.encoded)
    values, tries = (rows.nnz, 1) if sp.issparse(rows) else (rows.size, len(_SCALINGS))
    n_asked = len(judges.targets) + _JUDGES * len(_COUNTS) * tries
    if n_asked * (values + _OVERHEAD * rows.shape[0]) > _MOST_PRODUCTS:
        return None
    others = NearestNeighborsBaseline().fit(rows, examples.used()[0].classes)
    return judged(model, judges, others.predict(X[asked]))
