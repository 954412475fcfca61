"""Two workers, whose folder is replaced, damaged and mended while they are asked all the time."""

import json
import os
import shutil
import signal
import threading
import time

import pytest

import dsnc
from dsnc.files import whole_folder
from serving import GOLDEN, Service, copied

BODY = {"top_k": 3, "probabilities": True}
PATH = "/models/model/predict"


class Load:
    """Asks without a pause, in threads, and keeps what is answered by version."""

    def __init__(self, service, rows, n_threads=3):
        self.service, self.rows = service, rows
        self.answers, self.problems, self._end = {}, [], threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(n_threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()

    def _ask(self):
        while not self._end.is_set():
            try:
                answer = self.service.predict({"inputs": self.rows, **BODY}, PATH)
                kept = json.dumps([answer["labels"], answer["probabilities"]])
                self.answers.setdefault(answer["version"], set()).add(kept)
                time.sleep(0.005)  # the workers need the cores, too
            except Exception as error:
                self.problems.append(error)
                return

    def until(self, version, seconds=60):
        """Wait until only this version answers."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.problems:
            found = {self.service.predict({"inputs": []}, PATH)["version"] for _ in range(20)}
            if found == {version}:
                return
        raise AssertionError(f"{found} in place of {version}; {self.problems}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("replaced") / "model"
    copied("golden/format1", folder)
    return folder


@pytest.fixture(scope="module")
def workers(model, tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("log"), model, "--workers", "2")
    while len(service.workers) < 2:
        time.sleep(0.05)
    yield service
    service.kill()


def expected(model, rows):
    labels, shares = model.predict_top_k(rows, k=3)
    return labels.tolist(), [[round(float(share), 6) for share in row] for row in shares]


def test_a_folder_is_replaced_damaged_and_mended_under_load(workers, model, X):
    first = json.loads(workers.get("/health"))["models"]["model"]
    goldens = {"old": GOLDEN / "golden/format1", "new": GOLDEN / "golden/format1_reranker"}
    models = {name: dsnc.load(path) for name, path in goldens.items()}
    for loaded in models.values():
        del loaded.feature_names_in_
    with Load(workers, X.tolist()) as load:
        load.until(first)
        with whole_folder(model, replace=True) as aside:  # as `save` does it, in one step
            copied(goldens["new"], aside)
        second = workers.wait_for("reloaded")["version"]
        load.until(second)
        with (model / "model.safetensors").open("r+b") as file:
            file.truncate(100)
        workers.wait_for("not reloaded")
        load.until(second)
        shutil.rmtree(model)  # gone: who has it keeps it
        load.until(second)
        copied(goldens["old"], model)
        load.until(first)
    assert load.problems == []
    assert set(load.answers) == {first, second}
    for version, name in {first: "old", second: "new"}.items():
        (answer,) = load.answers[version]
        assert tuple(json.loads(answer)) == expected(models[name], X)
    events = [(line["event"], line.get("version")) for line in workers.log]
    assert ("reloaded", first) in events and ("reloaded", second) in events
    assert "Traceback" not in workers.path.read_text()


def test_figures_are_those_of_all_workers(workers, X):
    def rows():
        lines = workers.get("/metrics").decode().splitlines()
        return float(next(x for x in lines if x.startswith("dsnc_rows_total{")).split()[-1])

    before = None
    while before != (before := rows()):  # until all that was asked before is counted
        time.sleep(0.3)
    for _ in range(30):
        workers.predict({"inputs": X.tolist()}, PATH)
    while rows() < before + 30 * len(X):  # what another worker counts comes a blink later
        time.sleep(0.05)
    assert rows() == before + 30 * len(X)
    assert b"dsnc_requests_in_flight" in workers.get("/metrics")


def test_a_killed_worker_is_replaced(workers, X):
    os.kill(workers.workers[0], signal.SIGSTOP)
    time.sleep(1)  # it is asked twice a second whether it lives, and dies before it answers
    os.kill(workers.workers[0], signal.SIGKILL)
    end = time.monotonic() + 60
    while len(workers.workers) < 3:
        assert time.monotonic() < end
        time.sleep(0.05)
    answers = [workers.predict({"inputs": X.tolist()}, PATH)["labels"] for _ in range(20)]
    assert all(answer == answers[0] for answer in answers)
    workers.get("/metrics")


def test_what_has_begun_is_finished_before_the_end(workers, X):
    answers = []
    rows = X.tolist() * 2000

    def ask():
        answers.append(workers.predict({"inputs": rows, "probabilities": True}, PATH))

    thread = threading.Thread(target=ask)
    thread.start()
    while b"dsnc_requests_in_flight 2.0" not in workers.get("/metrics") and thread.is_alive():
        pass
    assert workers.stop() == 0
    thread.join()
    assert len(answers[0]["labels"]) == len(rows)
    assert workers.log[-1]["event"] == "stopped"
    with pytest.raises(ConnectionRefusedError):
        workers.socket()
