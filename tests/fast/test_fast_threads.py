"""The same bits for any number of threads, and what happens where threads cannot be had."""

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from made_steps import make_rows

from comparing import same_model
from dsnc import DSNCClassifier
from dsnc.errors import DsncWarning
from dsnc.fast import FastLearner, recipe, steps
from dsnc.targets import Targets
from dsnc.training.examples import Examples
from dsnc.training.settings import Settings

SPARSE = make_rows(300, n=700, n_features=200)
DENSE = Examples(
    np.random.default_rng(0).normal(size=(700, 30)).astype(np.float32) + np.eye(700, 30), SPARSE[1]
)
KINDS = {"sparse": SPARSE, "dense": DENSE}
WORDS = np.array(["red", "blue", "old", "new", "oak", "iron", "door", "gate", "lamp", "chair"])


def fit(examples, n_jobs, seed=0, validation=None, **settings):
    settings = Settings(n_bits=20, **{"max_epochs": 2, "batch_size": 32} | settings)
    learner = FastLearner(settings, examples, 300, seed, n_jobs)
    history = learner.fit(examples, validation)
    encoder, decoder = learner.export()
    arrays = [*encoder.layers[0][:2], decoder.weight, decoder.bias]
    records = [{**record, "seconds": 0} for record in history.records()]
    return [array.tobytes() for array in arrays], records


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings", [{"max_epochs": 6}, {"label_smoothing": 0.1, "batch_size": 7}], ids=str
)
def test_any_number_of_threads_gives_the_same_bits(kind, settings, monkeypatch):
    monkeypatch.setattr(recipe, "FEW", 100)  # with nearest classes that rows remember
    examples = KINDS[kind]._replace(rows=np.arange(600))
    held_out = KINDS[kind]._replace(rows=np.arange(600, 700))
    alone = fit(examples, 1, validation=held_out, **settings)
    for n_jobs in (2, 3, 4, 20):
        assert fit(examples, n_jobs, validation=held_out, **settings) == alone
    assert fit(examples, 2, seed=1, validation=held_out, **settings) != alone


def test_the_last_threads_may_have_no_rows():
    """Batches of three rows, the last one of a single row."""
    examples = SPARSE._replace(rows=np.arange(301))
    assert fit(examples, 3, batch_size=3, max_epochs=1) == fit(
        examples, 1, batch_size=3, max_epochs=1
    )


def test_texts_by_any_number_of_threads():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 3)) for _ in range(200)]
    labels = [" ".join(sorted(text.split())[:2]) for text in texts]
    models = [
        DSNCClassifier(n_bits=16, trainer="fast", max_epochs=3, n_jobs=n_jobs).fit(texts, labels)
        for n_jobs in (None, 1, 2, 3)
    ]
    assert all(same_model(models[0], other) for other in models[1:])
    assert models[0].history_.column("loss") == models[3].history_.column("loss")
    another = DSNCClassifier(n_bits=16, trainer="fast", max_epochs=3, random_state=1)
    assert not same_model(models[0], another.fit(texts, labels))


def test_further_passes_by_any_number_of_threads():
    examples = Examples(SPARSE.X, Targets(SPARSE.targets.y, 300))
    results = []
    for n_jobs in (1, 3):
        settings = Settings(n_bits=20, max_epochs=5)
        learner = FastLearner(settings, examples, 300, 0, n_jobs)
        learner.fit(examples)
        learner.partial_fit(examples, 1)
        results.append(learner.export()[1].weight.tobytes())
    assert results[0] == results[1]


def test_two_runs_at_once_do_not_disturb_each_other():
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(fit, SPARSE, 2, seed) for seed in (0, 1)]
        assert [run.result() for run in runs] == [fit(SPARSE, 1, seed) for seed in (0, 1)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ctrl_c_in_the_middle_of_a_kernel_keeps_the_best(n_jobs):
    """A real signal, some time after the second epoch."""

    def ctrl_c_soon(progress):
        if progress.epoch.epoch == 2:
            Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()

    settings = Settings(n_bits=20, max_epochs=10**6, callbacks=[ctrl_c_soon])
    learner = FastLearner(settings, SPARSE, 300, 0, n_jobs)
    with pytest.warns(DsncWarning, match="the best model so far is kept"):
        history = learner.fit(SPARSE)
    assert history.stopped == "interrupted" and len(history) >= 2
    assert np.isfinite(learner.export()[1].weight).all()


def test_as_many_threads_as_the_environment_says(monkeypatch):
    wanted, trainer = [], steps.Trainer

    def new_trainer(*given):
        wanted.append(given[-1])
        return trainer(*given)

    monkeypatch.setattr(steps, "Trainer", new_trainer)
    for said in ("3", "1", "100"):
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        fit(SPARSE, None, max_epochs=1)
    fit(SPARSE, 2, max_epochs=1)
    assert wanted == [3, 1, 8, 2]


NO_ROOM = """
import resource, sys
sys.path[:0] = {path}
import numpy as np, test_fast_threads as these
alone = these.fit(these.SPARSE, 1)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (4 << 20)  # less than the stack of a thread
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert these.fit(these.SPARSE, 4) == alone
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_where_the_system_refuses_threads_fewer_do_it():
    code = NO_ROOM.format(path=sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
