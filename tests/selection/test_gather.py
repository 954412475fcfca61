"""What a run leaves for those who choose."""

import numpy as np
import scipy.sparse as sp

import dsnc

RNG = np.random.default_rng(0)
DENSE = (RNG.random((300, 40)) < 0.1) * RNG.random((300, 40))
X, Y = sp.csr_matrix(DENSE.astype(np.float32)), RNG.integers(0, 6, 300)


def test_features_that_one_class_alone_has():
    rows = X.tolil()
    rows[:, :3] = 0
    rows[np.flatnonzero(Y == 2)[:9], 0] = 1
    rows[np.flatnonzero(Y == 5)[:9], 1] = 1
    rows, held = rows.tocsr(), slice(0, 300, 4)
    model = dsnc.DSNCClassifier(n_bits=8, max_epochs=1).fit(rows, Y, validation=(X[held], Y[held]))
    owners = model._evidence.owners
    for feature in range(40):
        classes = set(Y[rows[:, [feature]].toarray()[:, 0] != 0].tolist())
        assert owners[feature] == (classes.pop() if len(classes) == 1 else -1)
    assert owners[:3].tolist() == [2, 5, -1]


def test_nobody_asks_whose_the_features_of_dense_rows_and_texts_are():
    dense = dsnc.DSNCClassifier(n_bits=8, max_epochs=1).fit(DENSE, Y)
    texts = [f"word{n} of {n % 7}" for n in Y]
    spoken = dsnc.DSNCClassifier(n_bits=8, max_epochs=1).fit(texts, Y)
    assert dense._evidence.owners is None and spoken._evidence.owners is None
