"""The campaign itself: mutants are the same again, and whatever a trial does is known of it."""

import ctypes
import json
import os
import random
import time
from pathlib import Path

import numpy as np
import pytest

from dsnc.errors import DataFileError, ModelFileError
from reliability import data, kills, models
from reliability.command import PARTS, counted, parse
from reliability.mutants import mutate_array, mutate_bytes, mutate_json
from reliability.trials import (
    FAILED,
    REFUSED,
    WORKS,
    Limits,
    Verdict,
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
            time.sleep(0.02)
        return self

    def save(self, folder, overwrite):
        folder.mkdir(exist_ok=True)
        for name in ("model.json", "model.safetensors"):
            (folder / name).write_text(self.word)


@pytest.mark.parametrize(("word", "trouble"), [("same", ""), ("another", "other bytes")])
def test_a_killed_training_is_compared_with_a_whole_one(tmp_path, word, trouble):
    run = kills.Run("slow", Slow(word).fit)
    expected = (b"same", b"same")
    found = kills.one_training(run, random.Random(0), 3, 0.05, expected, tmp_path / "run")
    assert found.kills == 3 and found.resumed >= 1 and found.trouble == trouble


def test_the_command_line():
    assert parse([]).parts == list(PARTS)
    assert parse(["data", "models", "--n", "3"]).parts == ["data", "models"]
    with pytest.raises(SystemExit):
        parse(["nothing"])
