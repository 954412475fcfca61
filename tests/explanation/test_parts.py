"""What class vectors add to a row, feature by feature."""

import numpy as np
import pytest

from dsnc.explanation.parts import class_vector, row_of
from dsnc.rerank import ClassVectors

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("unit", [False, True])
def test_of_several_vectors_the_best_one_counts(unit):
    matrix, bias = RNG.normal(size=(6, 5)), RNG.normal(size=6)
    firsts = [0, 3, 4, 6]  # three, one and two vectors
    vectors = ClassVectors.from_matrix(matrix, bias, firsts=firsts, unit_rows=unit)
    rounded, places = vectors.matrix().toarray(), set()
    for x in RNG.normal(size=(20, 5)):
        seen = x / np.linalg.norm(x) if unit else x
        margins = rounded @ seen + bias
        for k in range(3):
            terms, own = class_vector(vectors, k, row_of(x[None], 0))
            best = firsts[k] + int(margins[firsts[k] : firsts[k + 1]].argmax())
            places.add(best)
            np.testing.assert_allclose(terms, rounded[best] * seen, rtol=1e-5)
            assert own == pytest.approx(bias[best])
    assert len(places) > 4  # not always the last
