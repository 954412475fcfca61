"""Settings are chosen by validation rows, by the same rule for everybody."""

import json
from pathlib import Path

import pytest

from peers.command import compare, entries, parse
from peers.contestants import CONTESTANTS
from peers.contestants.output_code import OutputCode
from peers.data import read
from peers.measure import measure

BITS = ({"n_bits": 1}, {"n_bits": 12}, {"n_bits": 24})  # of which one cannot tell three classes


@pytest.fixture
def tried(three_classes_folder, tmp_path, monkeypatch):
    """Compare on three classes in this process; return the row, and the settings of all turns."""
    monkeypatch.setattr(OutputCode, "choices", BITS)
    monkeypatch.setattr("peers.command.run", in_this_process)
    monkeypatch.setattr("peers.measure.SINGLE", 2)

    def compared(*words):
        record = ["--results", str(tmp_path), "--record", "a/b", "--only", "output-code"]
        arguments = parse([*record, *words])
        (row,), _ = compare(three_classes_folder, entries(arguments), arguments)
        turns = (tmp_path / "a" / "b_turns.jsonl").read_text().splitlines()
        return row, [json.loads(turn)["setting"] for turn in turns]

    return compared


def in_this_process(place, job, folder, limit):
    if job.settings["n_bits"] > limit:
        return {"note": f"over {limit:.0f} s"}
    kind, settings = CONTESTANTS[job.contestant]
    contestant = kind(settings | job.settings, job.threads, folder)
    return measure(contestant, read(Path(job.data), kind.reads))


def test_validation_rows_choose(tried):
    row, turns = tried("--repeats", "2")
    assert (row["setting"], row["validation %"], row["turns"]) == ("n_bits=12", 100, 2)
    assert turns == ["n_bits=1", "n_bits=12", "n_bits=24", "n_bits=12"]  # of equal ones the first
    assert row["top-5 %"] is None and row["ECE"] is None  # it names the best class, no more


def test_tries_end_with_their_time(tried):
    row, turns = tried("--repeats", "1", "--tune", "0")
    assert turns == ["n_bits=1"] == [row["setting"]] and row["validation %"] < 70


def test_variations_are_tried_on_top_of_the_best(tried, monkeypatch):
    monkeypatch.setattr(OutputCode, "variations", ({"n_bits": 16, "C": 10.0},))
    row, turns = tried("--repeats", "1")
    assert turns == ["n_bits=1", "n_bits=12", "n_bits=24", "n_bits=16 C=10.0"]
    assert row["tried"] == 4 and row["remark"] == "n_bits=12"


def test_who_has_won_settings_before_does_not_search(tried, tmp_path, monkeypatch):
    before = {"contestant": "output-code", "setting": "n_bits=16 C=0.5", "turns": 1}
    (tmp_path / "three.json").write_text(json.dumps({"rows": [before]}))
    monkeypatch.setattr(OutputCode, "variations", ({"C": 0.5}, {"C": 2.0}))
    row, turns = tried("--repeats", "1", "--settings-from", str(tmp_path))
    assert turns == ["n_bits=16 C=0.5", "n_bits=16 C=2.0"] and row["tried"] == len(BITS) + 1


def test_who_has_but_one_setting_is_marked(tried, monkeypatch):
    monkeypatch.setattr(OutputCode, "choices", BITS[1:2])
    row, _ = tried("--repeats", "1")
    assert row["remark"] == "n_bits=12 (one setting)"


def test_a_setting_that_is_asked_for_is_not_replaced(tried):
    row, turns = tried("--repeats", "1", "--set", "output-code", "n_bits=2", "--tune", "0")
    assert row["contestant"] == "output-code n_bits=2" and turns == ["n_bits=2"]


def test_who_fails_in_a_try_keeps_the_best_before(tried):
    row, turns = tried("--repeats", "1", "--limit", "20")
    assert row["setting"] == "n_bits=12" and row["note"] == "" and len(turns) == 3
    row, _ = tried("--repeats", "1", "--limit", "0")
    assert row["note"] == "over 0 s" and row["turns"] == 0
