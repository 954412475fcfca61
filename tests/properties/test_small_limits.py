"""Of very many rows some are looked at. Which ones does not change the answer.

All tests have fewer rows than these limits, so here the limits are lowered. A limit that is not
among them is found by its use in the source.
"""

import ast
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dsnc
from dsnc.baselines import nearest_neighbors
from dsnc.classifier import open_world
from dsnc.classifier.open_world import usual_rows
from dsnc.codes import Encoded
from dsnc.codes.soft import SoftCodes
from dsnc.decoders import HeldOut, LinearDecoder, SoftDecoder
from dsnc.decoders.memory import Memory
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.fast.rows import Scaling
from dsnc.fast.steps import HeldOutRows
from dsnc.predictor import Predictor
from dsnc.rows import draw_rows
from dsnc.selection import SelectionSettings, VectorTrainer, choose, new_labels
from dsnc.selection.gather import gather
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from made_evidence import problem

LIMIT = 64
LIMITS = {
    ("baselines.nearest_neighbors", "_JUDGES"),
    ("classifier.one_vs_rest", "_JUDGES"),
    ("classifier.open_world", "_JUDGES"),
    ("classifier.open_world", "_MOVERS"),
    ("decoders.base", "MAX_CALIBRATED"),
    ("decoders.memory", "_HELD_OUT"),
    ("decoders.scoring", "MAX_ROWS"),
    ("decoders.shortlist_tuning", "_COUNTED"),
    ("decoders.shortlist_tuning", "_MOST_ROWS"),
    ("fast.steps", "_MOST_ROWS"),
    ("selection.class_vectors", "_NAMING"),
    ("selection.gather", "_MAX_HELD_OUT"),
    ("selection.new_classes", "_JUDGES"),
    ("selection.new_labels", "_JUDGES"),
    ("selection.second_stage", "_JUDGES"),
    ("selection.sets", "_ROWS"),
}
# What is shown to people, how long rows are, how much is held at a time, steps of a curve: no rows
# that decide.
OTHERS = {
    ("decoders.base", "_MAX_SCORES"),
    ("decoders.novelty", "_STEPS"),
    ("decoders.shortlist_tuning", "_MAX_COMPARED"),
    ("discovery.grouping", "_JUDGES"),
    ("discovery.marks", "_OTHERS"),
    ("fast.class_vectors", "_SAMPLE"),
    ("selection.new_vectors", "_OTHERS"),
    ("selection.new_vectors", "_SAMPLE"),
}
N, N_CLASSES, N_BITS = 1000, 10, 8
Y = np.repeat(np.arange(N_CLASSES), N // N_CLASSES)  # in the order of classes, as in many files
X = np.arange(N * N_BITS, dtype=np.float32).reshape(N, N_BITS) / N - 2  # each row is known by it
WEIGHT = (1 + np.arange(N)).astype(np.float32)
EXAMPLES = Examples(X, Targets(Y, N_CLASSES), WEIGHT, None)


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Lower every limit, wherever it was imported."""
    for room, name in LIMITS:
        monkeypatch.setattr(import_module(f"dsnc.{room}"), name, LIMIT)
    for room in ("selection.choose", "selection.second_stage"):
        monkeypatch.setattr(import_module(f"dsnc.{room}"), "MAX_ROWS", LIMIT)


def limits_in_use():
    """Return the constants that say how many rows are taken, of all modules of the package."""
    root = Path(dsnc.__file__).parent
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        room = ".".join(path.relative_to(root).with_suffix("").parts)
        own = {name for node in tree.body for name in _constants(node)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and _takes_rows(call):
                yield from ((room, name) for arg in call.args for name in _names(arg) & own)


def _constants(node):
    return _names(node) if isinstance(node, ast.Assign | ast.AnnAssign) else set()


def _names(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id.isupper()}


def _takes_rows(call):
    """Tell whether it is ``rows.take(n)``, ``draw_rows(m, n)`` or ``linspace(0, m - 1, n)``."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    return name in ("take", "draw_rows", "_rows") or (
        name == "linspace" and ast.unparse(call.args[1]).endswith("- 1")
    )


def test_every_limit_is_lowered_here():
    found = set(limits_in_use())
    assert found - OTHERS <= LIMITS
    assert len(found & LIMITS) > 6
    for room, name in LIMITS:
        assert isinstance(getattr(import_module(f"dsnc.{room}"), name), int)


def assert_spread(rows):
    """All classes and all thirds of the file have their share, within five sigma."""
    rows = np.asarray(rows)
    assert len(rows) == LIMIT
    assert len(np.unique(rows)) == LIMIT
    assert_shares(np.bincount(Y[rows], minlength=N_CLASSES))
    assert_shares(np.bincount(3 * rows // N, minlength=3))


def assert_shares(counts):
    """Kinds of rows of which there are as many have equal shares of those that were drawn."""
    n, share = counts.sum(), 1 / len(counts)
    assert n == LIMIT
    sigma = np.sqrt(n * share * (1 - share) * (N - n) / (N - 1))
    assert np.abs(counts - n * share).max() < 5 * sigma


def trained(known=X):
    linear = LinearDecoder(np.ones((N_CLASSES, N_BITS)), np.zeros(N_CLASSES))
    return Predictor(NumpyEncoder([Layer(np.eye(N_BITS), np.zeros(N_BITS))]), linear)


def rows_of(logits):
    """Return which rows of X these are."""
    return np.rint((logits[:, 0] + 2) * N / N_BITS).astype(int)


def test_held_out_rows_that_are_gathered():
    rows = gather(trained(), EXAMPLES, EXAMPLES).held_out
    which = rows_of(rows.encoded.logits)
    assert_spread(which)
    assert np.array_equal(rows.targets.y, Y[which])
    assert np.array_equal(rows.weight, WEIGHT[which])


def test_codes_of_training_rows_that_are_known(monkeypatch):
    monkeypatch.setattr(import_module("dsnc.selection.gather"), "_CODE_BYTES", 16 * LIMIT)
    with pytest.warns(dsnc.errors.DsncWarning, match=f"use only {LIMIT} of them"):
        evidence = gather(trained(), EXAMPLES)
    assert_shares(np.bincount(evidence.targets.y, minlength=N_CLASSES))


def test_held_out_rows_that_are_remembered():
    memory = Memory.empty(N_BITS, N_CLASSES)
    memory = memory.with_held_out(SoftCodes.from_logits(X), Y)
    places = draw_rows(N, LIMIT)
    assert_spread(places)
    assert np.array_equal(memory.held_out_classes, Y[places])
    assert np.array_equal(memory.held_out.octets, SoftCodes.from_logits(X[places]).octets)


def test_held_out_rows_that_measure_an_epoch():
    rows = HeldOutRows(EXAMPLES, Scaling())
    which = rows_of(rows._feed.features(np.arange(rows.n_rows)))
    assert_spread(which)
    assert np.array_equal(rows._targets.y, Y[which])
    np.testing.assert_allclose(rows._weight / rows._weight[0], WEIGHT[which] / WEIGHT[which[0]])


def test_rows_that_name_candidates():
    trainer = VectorTrainer(trained(), EXAMPLES, "none", 0)
    found = trainer._candidates(trained().decoder, 1)
    assert_spread(np.flatnonzero(found[:, 0] >= 0))


@pytest.fixture
def drawn(monkeypatch):
    """Return a function: the rows that are drawn in a module, in a list, from now on."""

    def listen(module):
        found = []
        monkeypatch.setattr(
            module, "draw_rows", lambda *sizes: found.append(draw_rows(*sizes)) or found[-1]
        )
        return found

    return listen


def test_training_rows_that_choose_the_number_of_neighbors(drawn):
    found = drawn(nearest_neighbors)
    nearest_neighbors.NearestNeighborsBaseline().fit(X, Y)
    assert_spread(found[0])


def test_codes_that_tell_what_scores_of_labels_are_usual(drawn):
    found = drawn(new_labels)
    new_labels._usual(trained().decoder, X, 0.5)
    assert_spread(found[0])


def test_known_rows_that_tell_how_far_lines_move(drawn):
    found = drawn(open_world)
    memory = Memory.empty(N_BITS, N_CLASSES)
    signs = open_world._first_stage(trained(), memory, SoftCodes.from_logits(X))
    assert_spread(found[0])
    assert len(signs) == LIMIT


def evidence(n):
    known = problem(N_CLASSES, n=N)
    encoded, targets, _ = known.held_out
    rows = HeldOut(Encoded(encoded.logits), targets, WEIGHT)
    return replace(known, held_out=rows.take(n))


def test_what_is_usual_is_that_of_the_rows_that_are_looked_at():
    """Each row hides its own class: fewer rows alone say the same."""
    linear = evidence(N).linear
    predictor = SimpleNamespace(decoder=SoftDecoder(linear.weight, linear.bias))
    all_rows, few = (usual_rows(predictor, evidence(n), None) for n in (N, LIMIT))
    assert np.array_equal(all_rows.usual, few.usual)
    assert np.array_equal(all_rows.quantiles, few.quantiles)


def test_a_calibration_is_that_of_the_rows_that_are_looked_at():
    settings = {"name": "shortlist", "known": "weights", "size": 6, "closeness": 0.0}
    settings |= {"sharpness": 1.0, "prior": 1.0}
    many, few = (choose(evidence(n), SelectionSettings(settings)).decoder for n in (N, LIMIT))
    for name, array in many.arrays().items():
        assert np.array_equal(few.arrays()[name], array), name
