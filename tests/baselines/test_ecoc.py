import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from test_all_baselines import ANIMALS, X_TEST, Y_TEST, X, Y

import dsnc
from dsnc.baselines import ECOCBaseline
from dsnc.baselines.codebooks import codes_of, make_codebook
from dsnc.codes import PackedCodes
from dsnc.data import make_dense_codes
from dsnc.errors import InputError


def quick(**settings):
    fast = {"n_bits": 20, "max_epochs": 20, "loss": "logistic", "device": "cpu"}
    return ECOCBaseline(**fast | settings)


@pytest.fixture(scope="module")
def model():
    return quick().fit(X, Y)


def test_bits_are_those_of_the_classes_codes(model):
    book = codes_of(model.predictor_.decoder)
    truth = book.take(np.searchsorted(ANIMALS, Y_TEST))
    wrong = model.encode(X_TEST).to_bits() != truth.to_bits()
    assert wrong.mean() < 0.1


def test_decoding_is_the_nearest_code_or_the_least_loss(model):
    book, logits = codes_of(model.predictor_.decoder), model.predictor_.logits(X_TEST)
    distances = model.encode(X_TEST).distance(book)
    assert np.array_equal(model.predict(X_TEST), ANIMALS[distances.argmin(axis=1)])
    losses = np.logaddexp(0, -book.to_signs()[None] * logits[:, None]).sum(axis=2)
    soft = model.with_decoding("soft")
    assert np.array_equal(soft.predict(X_TEST), ANIMALS[losses.argmin(axis=1)])
    assert (model.decoding, soft.decoding) == ("hamming", "soft")
    back = soft.with_decoding("hamming")
    assert np.array_equal(back.predict(X_TEST), model.predict(X_TEST))
    with pytest.raises(InputError, match="decoding='hard' is not known"):
        model.with_decoding("hard")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_each_bit_is_scikit_learns_classifier(loss, rows):
    """Trained to the end, all bits together are what LinearSVC and LogisticRegression find."""
    data = make_dense_codes(n_rows=400, n_classes=8, n_features=6)
    scaled = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0) / 3
    model = quick(
        n_bits=4, loss=loss, C=0.05, scaling="none", max_epochs=300, batch_size=400
    ).set_params(learning_rate=3.0 if rows is sp.csr_array else 0.1)
    model.fit(rows(scaled), data.y)
    book = codes_of(model.predictor_.decoder).to_bits()
    # A constant feature is a bias that is regularized, as ours is.
    padded = np.column_stack([scaled, np.ones(len(scaled))])
    for bit in range(4):
        if loss == "logistic":
            twin = LogisticRegression(C=0.05, fit_intercept=False, tol=1e-8)
        else:
            twin = LinearSVC(C=0.05, fit_intercept=False, tol=1e-8, max_iter=100_000)
        twin.fit(padded, book[data.y, bit])
        expected = twin.decision_function(padded)
        np.testing.assert_allclose(
            model.predictor_.logits(scaled)[:, bit], expected, atol=0.01 * expected.std()
        )


def test_it_is_as_good_as_scikit_learns_at_equal_bits():
    data = make_dense_codes(n_rows=2000, n_classes=40, n_features=16)
    train, _, test = data.split(0.7, 0.0, 0.3, random_state=0)
    theirs = OutputCodeClassifier(LinearSVC(), code_size=30 / 40, random_state=0)
    ours = quick(n_bits=30, decoding="soft", max_epochs=30).fit(train.X, train.y)
    expected = theirs.fit(train.X, train.y).score(test.X, test.y)
    assert ours.score(test.X, test.y) > expected - 0.02


def test_a_codebook_of_ones_own_is_kept_in_the_model_file(tmp_path):
    book = make_codebook("random", 6, 20, seed=5).to_bits()
    model = quick(codebook=book).fit(X, Y)
    assert codes_of(model.predictor_.decoder) == PackedCodes.from_bits(book)
    for decoding in ("hamming", "soft"):
        model.with_decoding(decoding).save(tmp_path / decoding)
        loaded = dsnc.load(tmp_path / decoding)
        assert np.array_equal(loaded.codebook, book)
        again = loaded.set_params(device="cpu").fit(X, Y)
        assert np.array_equal(again.encode(X_TEST).words, model.encode(X_TEST).words)


@pytest.mark.parametrize(
    "base",
    [LogisticRegression(), LinearSVC(), DecisionTreeClassifier(random_state=0), GaussianNB()],
    ids=lambda base: type(base).__name__,
)
@pytest.mark.parametrize("decoding", ["hamming", "soft"])
def test_any_estimator_learns_the_bits(base, decoding):
    model = quick(base=base, decoding=decoding).fit(X, Y, sample_weight=np.ones(len(X)))
    assert model.score(X_TEST, Y_TEST) > 0.6
    assert model.predict_top_k(X_TEST, k=2)[0].shape == (90, 2)
    assert np.isnan(model.cost().encoding.operations)
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict(X_TEST), model.predict(X_TEST))


def test_an_estimator_that_only_predicts():
    class Plain(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.inner_ = KNeighborsClassifier(3).fit(X, y)
            return self

        def predict(self, X):
            return self.inner_.predict(X)

    model = quick(base=Plain()).fit(sp.csr_array(X), Y)
    assert model.score(X_TEST, Y_TEST) > 0.95
    assert set(np.unique(model.predictor_.logits(X_TEST))) == {-1.0, 1.0}
    with pytest.raises(InputError, match="does not accept sample_weight"):
        quick(base=Plain()).fit(X, Y, sample_weight=np.ones(len(X)))


def test_a_class_without_rows_that_count_leaves_a_bit_unsplit():
    two = np.isin(Y, ["ant", "bee"])
    model = quick(base=LogisticRegression()).fit(X, Y, sample_weight=two.astype(float))
    assert set(model.predict(X[two])) == {"ant", "bee"}


def test_what_an_estimator_cannot_do_is_named(tmp_path):
    model = quick(base=GaussianNB()).fit(X, Y)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(InputError, match="base=GaussianNB.*: a model file cannot hold it"):
        model.save(tmp_path / "model")
    with pytest.raises(InputError, match="validation does not work with base"):
        quick(base=GaussianNB()).fit(X, Y, validation=(X, Y))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bits": 2}, "n_bits=2: 6 classes need at least 3 bits"),
        ({"codebook": "given"}, "codebook='given' is not known"),
        ({"codebook": "hadamard"}, "codebook='hadamard' is not known"),
        ({"decoding": "hard"}, "decoding='hard' is not known"),
        ({"loss": "hinge"}, "loss='hinge' is not known"),
        ({"C": 0}, "C=0 must be a number above 0"),
    ],
)
def test_what_cannot_work_is_named(settings, message):
    with pytest.raises(InputError, match=message):
        quick(**settings).fit(X, Y)


@pytest.mark.parametrize("n_jobs", [None, 2, -1])
def test_jobs_fit_and_predict(n_jobs):
    model = quick(base=GaussianNB(), n_jobs=n_jobs).fit(X, Y)
    assert np.array_equal(model.predict(X), quick(base=GaussianNB()).fit(X, Y).predict(X))


@pytest.mark.parametrize("base", [None, GaussianNB()])
def test_what_is_not_a_number_of_jobs_is_refused_before_fitting(base):
    with pytest.raises(InputError, match="n_jobs=0 is not a number of threads"):
        quick(base=base, n_jobs=0).fit(X, Y)
