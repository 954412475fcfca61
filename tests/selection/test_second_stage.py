"""Whether features decide among the candidates: what is asked for, and what held-out rows say."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dsnc.codes import Encoded
from dsnc.decoders import HeldOut, NearestDecoder
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.errors import DsncError, DsncWarning, InputError
from dsnc.predictor import Predictor
from dsnc.rerank import ClassVectors, FeatureReranker, Reranked
from dsnc.rerank.reranker import ALL
from dsnc.selection import SelectionSettings, VectorTrainer, choose
from dsnc.selection.second_stage import add_second_stage, parse_reranker
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from made_evidence import make_decoder, problem

N_CLASSES = 30
AUTO, FORCED = parse_reranker("auto"), parse_reranker("features")
VECTORS = ClassVectors.from_matrix(3 * np.eye(N_CLASSES), np.zeros(N_CLASSES))
NOISE = ClassVectors.from_matrix(
    np.random.default_rng(5).normal(size=(N_CLASSES, N_CLASSES)), np.zeros(N_CLASSES)
)


class Training:
    """Stands for training: gives vectors, and remembers what was asked of it."""

    def __init__(self, vectors=VECTORS):
        self.vectors, self.asked = vectors, []

    def __call__(self, decoder, budget, C):
        self.asked.append((budget, C))
        return [] if self.vectors is None else [self.vectors]


def evidence(vectors=VECTORS, n=600, weight=None, noise=1.6):
    """Codes that tell little of the class, and features that tell more."""
    found = problem(N_CLASSES, n=n, noise=noise)
    encoded, targets, _ = found.held_out
    X = np.eye(N_CLASSES)[targets.y] + np.random.default_rng(1).normal(0, 0.3, (n, N_CLASSES))
    encoded = Encoded(encoded.logits, source=(X.astype(np.float32), slice(0, n)))
    training = None if vectors is None else Training(vectors)
    return replace(found, held_out=HeldOut(encoded, targets, weight), train_vectors=training)


def second_stage(settings=AUTO, vectors=VECTORS, decoder="soft", **more):
    found = evidence(vectors, **more)
    return add_second_stage(make_decoder(decoder, found)[0], found, settings), found


# What is asked for


def test_choices_by_name():
    assert parse_reranker("none") == parse_reranker(None)
    assert [parse_reranker(c).wanted for c in (None, "auto", "features")] == [False, None, True]
    assert parse_reranker({"name": "auto", "size": 5}) == replace(AUTO, size=5)
    assert parse_reranker({"budget": 0, "mix": 0}) == replace(FORCED, budget=0, mix=0)
    assert parse_reranker({}) == FORCED
    assert parse_reranker({"name": "none", "size": 5}).wanted is False


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("feature", "reranker='feature' is not known. Did you mean 'features'"),
        ("", "reranker=''"),
        (3, "reranker=3"),
        (True, "reranker=True"),
        (["features"], "reranker="),
        ({"name": None}, "reranker=None"),
        ({"budgte": 1}, "reranker: setting='budgte' is not known. Did you mean 'budget'"),
        ({"budget": -1}, "budget=-1 must be a whole number, 0 or more"),
        ({"budget": 1.5}, "budget=1.5 must be a whole number"),
        ({"size": 0}, "size=0 must be a whole number, 1 or more"),
        ({"mix": -0.1}, "mix=-0.1 must be a number from 0 to"),
        ({"reach": np.nan}, "reach=nan must be"),
        ({"reach": "far"}, "reach='far' must be"),
        ({"C": 0}, "C=0 must be a number above 0"),
        ({1: 2}, "reranker: setting=1"),
    ],
)
def test_what_cannot_work_is_refused(choice, message):
    with pytest.raises(InputError, match=message):
        parse_reranker(choice)


ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
SETTINGS = st.dictionaries(
    st.sampled_from(["name", "budget", "size", "mix", "reach", "C"]) | st.text(max_size=4), ANYTHING
)


@given(ANYTHING | SETTINGS | st.sampled_from(["auto", "none", "features"]))
def test_anything_is_understood_or_refused(choice):
    try:
        settings = parse_reranker(choice)
    except DsncError:
        return
    assert settings.wanted in (None, True, False)
    if settings.wanted and settings.size is not None:
        FeatureReranker(VECTORS, size=settings.size)


# What held-out rows say


@pytest.mark.parametrize("decoder", ["soft", "linear", "shortlist", "table", "nearest"])
def test_taken_where_rows_gain(decoder):
    found, known = second_stage(decoder=decoder)
    rows = known.held_out
    without, both = found.accuracies
    assert both > without + 0.1
    assert found.reranker is found.tried
    assert rows.right(Reranked(found.decoder, found.reranker)).mean() == pytest.approx(both)
    assert found.nanoseconds > 0
    assert found.reranker.reach < ALL or found.reranker.size < 16  # as little as it takes


def test_not_taken_where_rows_do_not_gain():
    for vectors in (VECTORS, NOISE):  # codes tell all that there is to tell
        found, _ = second_stage(vectors=vectors, noise=0.1)
        assert found.reranker is None
        assert found.tried is not None
        assert found.accuracies[1] <= found.accuracies[0]
        forced, _ = second_stage(FORCED, vectors=vectors, noise=0.1)
        assert forced.reranker is not None


def test_none_trains_nothing():
    found, known = second_stage(parse_reranker(None))
    assert (found.reranker, found.tried, known.train_vectors.asked) == (None, None, [])


def test_settings_that_are_given_are_kept():
    given = {"size": 7, "mix": 0.25, "reach": 1.5, "budget": 4321, "C": 2.0}
    found, known = second_stage(parse_reranker(given))
    assert known.train_vectors.asked == [(4321, 2.0)]
    reranker = found.reranker
    assert (reranker.size, reranker.mix, reranker.reach) == (7, 0.25, 1.5)
    for name, value in (("size", 100), ("mix", 0.0), ("reach", 0.0), ("size", 1)):
        found, _ = second_stage(parse_reranker({name: value}))
        assert getattr(found.reranker, name) == value


def test_few_rows_are_not_asked():
    found, known = second_stage(n=199)
    assert (found.reranker, found.tried, known.train_vectors.asked) == (None, None, [])
    found, _ = second_stage(n=200)
    assert found.reranker is not None
    found, _ = second_stage(FORCED, n=40)  # nor do they choose settings
    assert (found.reranker.mix, found.reranker.reach, found.reranker.size) == (1, ALL, 16)
    assert found.reranker.vectors is VECTORS
    assert found.accuracies is not None
    assert found.reranker.confidence.temperature != 1


def test_without_rows_it_is_made_where_it_is_asked_for():
    known = replace(evidence(), held_out=None)
    decoder = make_decoder("soft", known)[0]
    assert add_second_stage(decoder, known, AUTO).reranker is None
    found = add_second_stage(decoder, known, parse_reranker({"size": 3, "mix": 2}))
    assert (found.reranker.size, found.reranker.mix, found.accuracies) == (3, 2, None)
    gone = replace(known, train_vectors=Training(None))
    assert add_second_stage(decoder, gone, FORCED).reranker is None


def test_rows_count_by_their_weights():
    """Vectors that help the first classes only, and rows of these that count, or do not."""
    worth = np.where(np.arange(N_CLASSES) < 15, 3.0, -3.0)
    vectors = ClassVectors.from_matrix(np.diag(worth), np.zeros(N_CLASSES))
    y = evidence().held_out.targets.y
    for counts, taken in ((y < 15, True), (y >= 15, False)):
        weight = np.where(counts, 1, 1e-3).astype(np.float32)
        found, known = second_stage(vectors=vectors, weight=weight)
        assert (found.reranker is not None) == taken
        if taken:
            right = known.held_out.right(Reranked(found.decoder, found.reranker))
            expected = np.average(right, weights=weight)
            assert found.accuracies[1] == pytest.approx(expected, abs=1e-5)


def test_probabilities_are_honest():
    found, known = second_stage(n=3000)
    stages, rows = Reranked(found.decoder, found.reranker), known.held_out
    sure = stages.top_k_proba(rows.encoded, 1)[1][:, 0].mean()
    assert sure == pytest.approx(rows.right(stages).mean(), abs=0.03)


# A model that is there already


def test_vectors_of_before_are_used_again():
    known = replace(evidence(None), reranker=FeatureReranker(VECTORS, size=3))
    found = add_second_stage(make_decoder("linear", known)[0], known, AUTO)
    assert found.reranker is not None
    assert found.accuracies is not None  # chosen anew
    gone = replace(known, held_out=None)
    kept = add_second_stage(make_decoder("soft", known)[0], gone, parse_reranker({"mix": 4}))
    assert (kept.reranker.size, kept.reranker.mix) == (3, 4)
    nearest = NearestDecoder(known.codes, known.targets.y, N_CLASSES)
    with pytest.warns(DsncWarning, match="left out.*'nearest' decoder"):
        assert add_second_stage(nearest, gone, AUTO).reranker is None
    nothing = replace(gone, reranker=None)
    with pytest.raises(InputError, match="reranker='features' cannot be trained here"):
        add_second_stage(nearest, nothing, FORCED)


def test_the_report_tells_what_it_is_worth():
    known = evidence()
    chosen = choose(known, SelectionSettings("soft", reranker="auto"))
    trial = chosen.report.trials[-1]
    assert trial.decoder == "+ features"
    assert trial.n_bytes == chosen.reranker.vectors.nbytes
    assert "features decide among its candidates" in chosen.report.reason
    assert chosen.evidence.train_vectors is None
    said = str(chosen.report)
    assert " us " in said
    assert " MB" in said
    chosen = choose(evidence(noise=0.1), SelectionSettings("soft", reranker="auto"))
    assert "gains too little" in chosen.report.reason
    assert chosen.reranker is None


# Training that ends early


def trainer(**settings):
    rng = np.random.default_rng(0)
    X, y = sp.csr_array(rng.random((300, 8), np.float32)), rng.integers(0, N_CLASSES, 300)
    linear = problem(N_CLASSES).linear
    encoder = NumpyEncoder([Layer(rng.normal(size=(8, linear.n_bits)), np.zeros(linear.n_bits))])
    predictor = Predictor(encoder, linear)
    examples = Examples(X, Targets(y, N_CLASSES))
    return VectorTrainer(predictor, examples, "auto", 0, **settings), linear


def test_training_stays_within_its_budget():
    train, linear = trainer()
    (vectors,) = train(linear, 300)
    assert vectors.nbytes <= 300 + 12 * N_CLASSES + 9  # of settings
    assert len(train(linear, 0)[0]) == 0
    assert len(train(linear, None)[0]) > 100


def test_centers_are_tried_where_rows_are_dense_and_of_one_class():
    train, linear = trainer()
    _, centers = train(linear, None)
    assert centers.space is not None
    assert 1 < np.diff(centers.firsts).max() <= 8
    assert train(linear, 2500)[1].nbytes <= 2500 < centers.nbytes
    one_each = 30 * (8 + 16) + 8 * 8
    one = train(linear, one_each)[1]
    assert len(one.bias) == N_CLASSES
    assert one.nbytes <= one_each
    assert len(train(linear, one_each - 1)) == 1
    assert len(train(linear, None, 2.0)) == 1  # what errors cost is for vectors that are trained
    flat = train.examples._replace(X=train.examples.X.toarray() + np.float32(1e7))
    assert len(replace(train, examples=flat)(linear, None)) == 1
    zeros = sp.csr_array(np.eye(300, 8, dtype=np.float32))
    few = replace(train, examples=train.examples._replace(X=zeros))
    assert len(few(linear, None)) == 1


def test_the_kind_of_vectors_that_is_worth_more_is_taken():
    found = evidence()
    decoder = make_decoder("soft", found)[0]
    alone = add_second_stage(decoder, found, AUTO)
    for kinds in ([NOISE, VECTORS], [VECTORS, NOISE]):
        both = replace(found, train_vectors=lambda *_, kinds=kinds: kinds)
        stage = add_second_stage(decoder, both, AUTO)
        assert stage.accuracies == alone.accuracies
        assert stage.reranker.chosen_settings() == alone.reranker.chosen_settings()


def test_time_is_up():
    train, linear = trainer(until=0.0)
    with pytest.warns(DsncWarning, match="Time was up before the second stage was trained"):
        assert train(linear, None) == []


def test_interrupted(monkeypatch):
    train, linear = trainer()

    class Bar:
        def __enter__(self):
            return self.draw

        def __exit__(self, *_):
            return False

        def draw(self, done, _):
            if done:
                raise KeyboardInterrupt

    monkeypatch.setattr("dsnc.selection.class_vectors.progress_bar", lambda *_: Bar())
    with pytest.warns(DsncWarning, match="Interrupted before the second stage"):
        assert train(linear, None) == []


def test_what_was_trained_before_an_interruption_is_kept(monkeypatch):
    train, linear = trainer()

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dsnc.fast.class_centers.find_class_centers", interrupted)
    (vectors,) = train(linear, None)
    assert vectors.space is None


# Whose candidates


def many_classes(n_bits, noise, n_classes=1200, weight=3.0):
    """So many that a list is worth it; features tell all, where `weight` is not 0."""
    n = 1500
    found = problem(n_classes, n_bits, n=n, noise=noise)
    encoded, targets, _ = found.held_out
    X = np.eye(n_classes, dtype=np.float32)[targets.y]
    encoded = Encoded(encoded.logits, source=(X, slice(0, n)))
    vectors = ClassVectors.from_matrix(weight * np.eye(n_classes), np.zeros(n_classes))
    return replace(found, held_out=HeldOut(encoded, targets), train_vectors=Training(vectors))


def test_all_classes_are_scored_where_lists_leave_out_what_features_would_find():
    found = many_classes(n_bits=12, noise=0.7, n_classes=6400)
    alone = choose(found, SelectionSettings())
    both = choose(found, SelectionSettings(reranker="auto"))
    assert (alone.decoder.name, both.decoder.name) == ("shortlist", "soft")
    assert "features decide best" in both.report.reason
    assert both.report.chosen == "soft"
    short = choose(found, SelectionSettings("shortlist", reranker="auto"))
    worth = [found.rows.right(Reranked(c.decoder, c.reranker)).mean() for c in (both, short)]
    assert worth[0] > worth[1] + 0.01


def test_a_list_that_leaves_out_nothing_stays():
    chosen = choose(many_classes(n_bits=24, noise=0.7), SelectionSettings(reranker="auto"))
    assert chosen.decoder.name == "shortlist"
    assert chosen.reranker is not None
    assert "scoring all 1,200 classes would take" in chosen.report.reason
    features = chosen.report.trials[-1]
    assert features.decoder == "+ features"
    assert features.nanoseconds > chosen.report.nanoseconds > 0
