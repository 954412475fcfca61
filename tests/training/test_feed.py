import numpy as np
import pytest

from dsnc.targets import Targets
from dsnc.training import feed
from dsnc.training.examples import Examples
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings

K = 20


def make_examples(n=400):
    y = (np.arange(n) % K).astype(np.int32)
    X = 5 * np.eye(K, 30)[y] + np.random.default_rng(0).normal(size=(n, 30))
    return Examples(X.astype(np.float32), Targets(y, K))


def learn(loss, rows):
    examples = make_examples()
    learner = Learner(Settings(n_bits=16, max_epochs=2, loss=loss, device="cpu"), examples, K, 0)
    used = [None if part is None else np.asarray(part) for part in rows]
    training, held_out = (make_examples()._replace(rows=part) for part in used)
    return learner.fit(training, held_out)


@pytest.mark.parametrize("held_out", [None, np.arange(200, 400)])
def test_few_scores_mean_few_rows_to_validate_on(monkeypatch, held_out):
    monkeypatch.setattr(feed, "_SCORES", K * 60)
    monkeypatch.setattr(feed, "_LEAST_ROWS", 50)
    history = learn("sampled_softmax", (np.arange(200), held_out))
    assert history.column("validation_rows") == [60, 60]
    assert "validation accuracy" in str(history.epochs[0])
    accuracy = history.epochs[0].validation_accuracy
    assert accuracy * 60 == pytest.approx(round(accuracy * 60), abs=1e-3)
    again = learn("sampled_softmax", (np.arange(200), held_out))  # the same rows
    assert again.column("validation_accuracy") == history.column("validation_accuracy")


def test_all_rows_are_looked_at_where_there_is_time(monkeypatch):
    rows = np.arange(200), np.arange(200, 400)
    assert learn("sampled_softmax", rows).column("validation_rows") == [200, 200]
    monkeypatch.setattr(feed, "_SCORES", 0)
    monkeypatch.setattr(feed, "_LEAST_ROWS", 50)
    assert learn("softmax", rows).column("validation_rows") == [200, 200]
