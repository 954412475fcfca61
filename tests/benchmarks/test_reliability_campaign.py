"""The campaign itself: mutants are the same again, and whatever a trial does is known of it."""

import ctypes
import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from dsnc.codes import HammingIndex
from dsnc.errors import DataFileError, ModelFileError
from reliability import built, data, kills, models
from reliability.command import PARTS, counted, parse
from reliability.guard import Guard
from reliability.mutants import mutate_array, mutate_bytes, mutate_json
from reliability.trials import (
    FAILED,
    REFUSED,
    WORKS,
    Limits,
    Memory,
    Verdict,
    WrongError,
    dice_of,
    one_trial,
    refusal,
    run_trials,
)

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]
GOLDEN = Path(__file__).parents[1] / "data" / "golden"


@pytest.fixture(scope="module")
def bases():
    found = []
    for folder in sorted(GOLDEN.iterdir()):
        header, arrays = (
            (folder / name).read_bytes() for name in ("model.json", "model.safetensors")
        )
        rows = np.array(json.loads((folder / "expected.json").read_text())["X"], np.float32)
        found.append(models.Base(folder.name, header, arrays, json.loads(header), rows))
    return found


def test_mutants_are_the_same_again_and_differ_from_each_other(bases):
    sources = data.sources()
    array = np.arange(12, dtype=np.int32).reshape(3, 4)
    seen = set()
    for number in range(40):
        twice = []
        for _ in range(2):
            dice = dice_of(7, number)
            twice.append(
                (
                    mutate_bytes(dice, b"3 1:0.5 7:1\n" * 4, [b"other"], [b"nan"]),
                    json.dumps(mutate_json(dice, {"a": [1, {"b": "c"}], "d": 0.5})),
                    mutate_array(dice, array).tobytes(),
                    models.mutant_of(dice, bases[number % len(bases)], bases),
                    sorted(data.mutant_of(dice, sources[number % len(sources)], sources).items()),
                )
            )
        assert repr(_without_zip_times(twice[0])) == repr(_without_zip_times(twice[1]))
        seen.add(twice[0][0])
    assert len(seen) > 20
    assert array.tolist() == np.arange(12).reshape(3, 4).tolist()


def _without_zip_times(parts):
    """An archive says when it was made."""
    return [*parts[:4], [item for item in parts[4] if not item[0].endswith((".npz", ".gz"))]]


def wild(dice):
    number = dice.randrange(6)
    if number == 0:
        ctypes.string_at(0)
    if number == 1:
        time.sleep(60)
    if number == 2:
        np.ones(1 << 28)
    if number == 3:
        raise KeyError("house")
    if number == 4:
        os._exit(7)
    return Verdict(WORKS, "fine")


def test_whatever_a_trial_does_is_known_by_its_number():
    expected = {0: "crash: SIGSEGV", 1: "hang", 2: "MemoryError", 3: "KeyError", 4: "exit 7", 5: ""}
    some = range(100, 107)
    drawn = ([dice_of(seed, number).randrange(6) for number in some] for seed in range(10_000))
    seed, kinds = next((seed, k) for seed, k in enumerate(drawn) if set(k) == set(expected))
    outcomes = list(run_trials(wild, seed, some, Limits(1.0, 300)))
    assert [outcome.number for outcome in outcomes] == list(some)
    for outcome, kind in zip(outcomes, kinds, strict=True):
        assert outcome.what == (WORKS if kind == 5 else FAILED)
        assert expected[kind] in outcome.detail
    assert counted(outcomes)["failed"] == sum(kind != 5 for kind in kinds)


def test_an_error_that_memory_has_caused_is_no_refusal():
    try:
        raise DataFileError("too large") from MemoryError()
    except DataFileError as error:
        assert refusal(error, (DataFileError,)) is None
    assert refusal(DataFileError("a.csv"), (DataFileError,)) == "a.csv"
    assert refusal(ModelFileError("a"), (DataFileError,)) is None


def test_mutants_of_models_and_data_are_refused_or_work(bases, tmp_path):
    for trial in (models.trial(bases, tmp_path), data.trial(data.sources(), tmp_path)):
        outcomes = [one_trial(trial, 3, number) for number in range(30)]
        assert {outcome.what for outcome in outcomes} == {WORKS, REFUSED}, outcomes


def test_a_reader_that_lets_anything_through_is_caught(bases, tmp_path, monkeypatch):
    def careless(path, **options):
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "of a library")

    monkeypatch.setattr(data, "load_dataset", careless)
    outcome = one_trial(data.trial(data.sources(), tmp_path), 0, 0)
    assert outcome.what == FAILED and outcome.detail.startswith("UnicodeDecodeError")


class Slow:
    """Trains for a while, and saves what the run was like."""

    def __init__(self, word):
        self.word = word

    def fit(self, folder):
        folder.mkdir(exist_ok=True)
        for epoch in range(5):
            (folder / "checkpoint.safetensors").write_text(str(epoch))
            time.sleep(0.3)  # longer than a busy machine needs to begin
        return self

    def save(self, folder, overwrite):
        folder.mkdir(exist_ok=True)
        for name in ("model.json", "model.safetensors"):
            (folder / name).write_text(self.word)


@pytest.mark.parametrize(("word", "trouble"), [("same", ""), ("another", "other bytes")])
def test_a_killed_training_is_compared_with_a_whole_one(tmp_path, word, trouble):
    run = kills.Run("slow", Slow(word).fit)
    expected = (b"same", b"same")
    found = kills.one_training(run, random.Random(0), 3, 0.8, expected, tmp_path / "run")
    assert found.kills == 3 and found.resumed >= 1 and found.trouble == trouble


def test_the_command_line():
    assert parse([]).parts == list(PARTS)
    assert parse(["data", "models", "--n", "3"]).parts == ["data", "models"]
    with pytest.raises(SystemExit):
        parse(["nothing"])


def read_beyond(dice):
    array = np.zeros(dice.randrange(1, 9000), np.uint8)
    ctypes.string_at(array.ctypes.data + dice.choice((-1, len(array))), 1)
    return Verdict(WORKS, "not seen")


def count_crashes(at_end):
    """Read beyond arrays between guard pages; write what was seen of it, and what is as ever."""
    Guard(at_end=at_end).install()
    grown = np.arange(3)
    grown.resize(5000, refcheck=False)
    fine = np.sort(np.random.default_rng(0).normal(size=(50, 90)) @ np.ones((90, 2)))
    outcomes = list(run_trials(read_beyond, 0, range(8), Limits(5, 500)))
    crashed = sum("SIGSEGV" in outcome.detail for outcome in outcomes)
    sides = [dice_of(0, number) for number in range(8)]
    beyond = [dice.choice((-1, n)) for dice in sides for n in [dice.randrange(1, 9000)]]
    expected = sum((place > 0) == at_end for place in beyond)
    sys.stdout.write(json.dumps([crashed, expected, int(grown.sum()), bool(fine.any())]))


@pytest.mark.parametrize("at_end", [True, False])
def test_a_step_beyond_an_array_between_guard_pages_is_seen(at_end):
    """In a process of its own: from there on, all of numpy's memory is guarded."""
    code = f"from test_reliability_campaign import count_crashes; count_crashes({at_end})"
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
        timeout=120,
    )
    crashed, expected, total, is_fine = json.loads(ended.stdout)
    assert crashed == expected > 0 and total == 3 and is_fine


def test_built_folders_are_the_same_again_and_answer(bases, tmp_path):
    header = bases[0].parsed
    (tmp_path / "a").mkdir()
    arrays = []
    for _ in range(2):
        built.Folder(dice_of(0, 5)).write(tmp_path / "a", header)
        arrays.append((tmp_path / "a" / "model.safetensors").read_bytes())
    assert arrays[0] == arrays[1]
    trial = built.trial(header, tmp_path)
    outcomes = [one_trial(trial, 0, number) for number in range(25)]
    assert {outcome.what for outcome in outcomes} <= {WORKS, REFUSED}, outcomes
    assert sum(outcome.what == WORKS for outcome in outcomes) > 15
    details = " ".join(outcome.detail for outcome in outcomes)
    assert "5000 codes" in details and "shortlist" in details


def test_the_multi_index_is_reached(bases, tmp_path, monkeypatch):
    made = []
    prepare = HammingIndex.prepare

    def watched(self):
        prepare(self)
        made.append(self.native.tables() is not None)

    monkeypatch.setattr(HammingIndex, "prepare", watched)
    trial = built.trial(bases[0].parsed, tmp_path)
    for number in range(40):
        one_trial(trial, 0, number)
    assert made and all(made)


def test_mutants_have_values_in_the_middle():
    values = [mutate_json(dice_of(0, number), {"a": 100_000_000}) for number in range(900)]
    objects = [value for value in values if isinstance(value, dict)]
    found = {x for value in objects for x in value.values() if isinstance(x, int)}
    assert sum(1000 < x < 2**30 and x != 100_000_000 for x in found) > 5
    sizes = np.full(4, 100_000_000, np.int64)
    arrays = [mutate_array(dice_of(1, number), sizes) for number in range(400)]
    assert sum(((1000 < a) & (a < 10**7)).any() for a in arrays if a.dtype == np.int64) > 5


def test_a_folder_that_takes_much_more_than_its_size_is_caught(tmp_path):
    """In a process of its own, where no other test gives memory back meanwhile."""
    (tmp_path / "model.json").write_text("{}")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        said = pool.submit(_said_of_160_megabytes, tmp_path).result()
    assert re.search(r"takes 1[56]\d MB, more than 100", said)


def _said_of_160_megabytes(folder):
    memory = Memory(folder)
    memory.check()
    block = np.ones(20_000_000)
    try:
        memory.check()
    except WrongError as error:
        return str(error)
    return f"nothing, of {len(block)} numbers"
