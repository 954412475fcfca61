import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from dsnc.errors import InputError, OutputError
from dsnc.paper.experiments import Plan, run_all
from dsnc.paper.experiments.record import Record, find_records, write_record
from dsnc.paper.experiments.runner import Worker

FAST = {"max_epochs": 1}


@pytest.fixture
def definitions(tiny):
    def make(**fields):
        plan = Plan(
            **{"bits": (6,), "seeds": (0,), "recipes": ("default",), "settings": FAST, **fields}
        )
        return list(plan.definitions(*plan.sources(tiny)))

    return make


def test_what_exists_is_not_run_again(definitions, tmp_path):
    wanted = definitions(methods=("nearest_centroid",))
    (record,) = run_all(wanted, tmp_path)
    stamp = (record.folder / "record.json").stat().st_mtime_ns
    (again,) = run_all(wanted, tmp_path)
    assert (again.folder / "record.json").stat().st_mtime_ns == stamp
    assert again.outcomes == record.outcomes


def test_what_does_not_change_a_run_is_as_it_is_asked_for_now(definitions, tmp_path):
    (definition,) = definitions(methods=("nearest_centroid",))
    write_record(Record(definition, {"own": {"accuracy": 0.5}}), {"y": np.zeros(1)}, tmp_path)
    beside = replace(definition, source=replace(definition.source, beside="ALOI"))
    (record,) = run_all([beside], tmp_path)
    assert record.definition == beside and record.outcomes["own"]["accuracy"] == 0.5


def test_a_failure_is_recorded_and_the_others_go_on(definitions, tmp_path):
    good = definitions(methods=("nearest_centroid",))
    bad = definitions(methods=("mlp",), settings={**FAST, "learning_rate": -1.0})
    failed, fine = run_all([*bad, *good], tmp_path)
    assert "learning_rate=-1.0 must be" in failed.error and not fine.error
    # It is tried again, and another failure takes its place.
    assert len(run_all(bad, tmp_path)) == 1 and len(list(find_records(tmp_path))) == 2


@pytest.fixture
def failing(monkeypatch):
    """Workers that fail at once, without a process."""

    def run(self, definition):
        self._keep(definition, "ValueError: [/no] markup")
        return "ValueError: [/no] markup"

    monkeypatch.setattr(Worker, "run", run)


def test_a_failure_does_not_replace_what_was_complete(definitions, tmp_path, failing):
    (definition,) = definitions(methods=("nearest_centroid",))
    write_record(Record(definition, {"own": {"accuracy": 0.5}}), {"y": np.zeros(1)}, tmp_path)
    (again,) = run_all([replace(definition, keep_decoders=True)], tmp_path, progress=True)
    assert "markup" in again.error
    (record,) = find_records(tmp_path)
    assert not record.error and record.outcomes["own"]["accuracy"] == 0.5


def test_a_record_without_its_arrays_is_run_again(definitions, tmp_path, failing):
    (definition,) = definitions(methods=("nearest_centroid",))
    write_record(Record(definition, {"own": {"accuracy": 0.5}}), {}, tmp_path)
    assert run_all([definition], tmp_path)[0].error


def test_a_folder_that_cannot_be_written_ends_everything(definitions, tmp_path, failing):
    (tmp_path / "tiny").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="cannot be written"):
        run_all(definitions(methods=("nearest_centroid",)), tmp_path, n_jobs=2)


def test_a_process_that_dies_is_replaced(definitions, tmp_path, monkeypatch):
    good = definitions(methods=("nearest_centroid",))
    deadly = definitions(methods=("ecoc",))
    # The child inherits the variable; its start-up file kills it when torch's threads are set.
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        textwrap.dedent(
            """
            import dsnc.paper.experiments.trial as trial
            import os, signal
            run = trial.run
            def deadly(definition, runs):
                if definition.method == "ecoc":
                    os.kill(os.getpid(), signal.SIGKILL)
                return run(definition, runs)
            trial.run = deadly
            """
        )
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    died, fine = run_all([*deadly, *good], tmp_path / "runs")
    assert "the process died (signal SIGKILL)" in died.error and not fine.error


def test_an_interrupt_keeps_what_is_finished(tiny, tmp_path):
    code = textwrap.dedent(
        f"""
        import signal
        from dsnc.paper.experiments import Plan, run_all
        if __name__ == "__main__":
            # Hear Ctrl-C even where the tests run in the background.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            plan = Plan(bits=(6,), seeds=tuple(range(200)), recipes=("default",),
                        methods=("mlp",), settings={{"max_epochs": 2}})
            run_all(plan.definitions(*plan.sources({tiny!r})), {str(tmp_path)!r})
        """
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not list(find_records(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    records = list(find_records(tmp_path))
    assert 0 < len(records) < 200 and not any(record.error for record in records)
    assert process.returncode != 0


def test_a_run_that_is_killed_goes_on_from_its_last_epoch(tiny, tmp_path):
    code = textwrap.dedent(
        f"""
        from dsnc.paper.experiments import Plan, run_all
        plan = Plan(bits=(6,), seeds=(0,), recipes=("default",),
                    methods=("nearest_centroid", "mlp"), settings={{"max_epochs": 60}})
        if __name__ == "__main__":
            run_all(plan.definitions(*plan.sources({tiny!r})), {str(tmp_path)!r})
        """
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    process = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 300
    kept = []
    while not kept and time.monotonic() < deadline:
        time.sleep(0.01)
        kept = list(tmp_path.glob("tiny/.epochs-mlp-*/checkpoint.pt"))
    process.kill()
    process.communicate(timeout=60)  # until its worker has ended, too
    before = torch.load(kept[0], weights_only=True)["history"]["epochs"]
    (finished,) = find_records(tmp_path)
    stamp = (finished.folder / "record.json").stat().st_mtime_ns

    names = {"__name__": "again"}
    exec(code, names)
    plan = names["plan"]
    again, resumed = run_all(plan.definitions(*plan.sources(tiny)), tmp_path)
    assert (again.folder / "record.json").stat().st_mtime_ns == stamp
    # Times included: these epochs were not trained again.
    assert resumed.history["epochs"][: len(before)] == before and 0 < len(before) < 60
    assert resumed.seconds["fit"] >= resumed.history["epochs"][-1]["seconds"]
    assert not list(tmp_path.glob("tiny/.epochs-*"))


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_jobs_are_a_number(jobs, tmp_path):
    with pytest.raises(InputError, match="n_jobs=.* must be a whole number"):
        run_all([], tmp_path, n_jobs=jobs)


def test_nothing_to_do(tmp_path):
    assert run_all([], tmp_path, n_jobs=os.cpu_count() or 1) == []
