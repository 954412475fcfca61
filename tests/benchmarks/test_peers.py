"""Contestants in processes of their own, side by side."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from harness import settings_of
from peers.command import Entry, compare, entries, left_out, main, parse, row_of, show_set
from peers.contestants import CONTESTANTS
from peers.contestants.dsnc_classifier import DSNC
from peers.contestants.linear_svc import SVC
from peers.contestants.napkinxc_tree import NapkinXC
from peers.data import read, read_about
from peers.environments import NoEnvironmentError, Place, place_for, python_for
from peers.measure import measure
from peers.turn import Job, run


def test_a_failure_says_why(three_classes_folder, tmp_path, capsys):
    figures = run(
        Place(sys.executable),
        Job("linear-svc", {"C": -1}, 1, str(three_classes_folder)),
        tmp_path,
        60,
    )
    assert figures["note"].startswith("failed: ") and "'C'" in figures["note"]
    assert "InvalidParameterError" in capsys.readouterr().out


def test_who_takes_too_long_is_ended(three_classes_folder, tmp_path):
    figures = run(
        Place(sys.executable), Job("linear-svc", {}, 1, str(three_classes_folder)), tmp_path, 0.01
    )
    assert figures == {"note": "over 0 s"}


def test_dsnc_takes_any_setting_and_answers_with_numbers(three_classes_folder, tmp_path):
    contestant, data = (
        DSNC({"n_bits": 8, "max_epochs": 2}, 1, tmp_path),
        read(three_classes_folder, "rows"),
    )
    contestant.fit(data)
    assert contestant.model.n_bits == 8 and contestant.model.n_jobs == 1
    for k in (1, 3):
        assert contestant.numbers(contestant.predict(data.test.X, k)).shape == (60, k)
    assert (contestant.save() / "model.json").is_file()


def test_a_comparison_has_all_figures(three_classes_folder, tmp_path, capsys):
    words = ["--repeats", "1", "--tune", "0", "--results", str(tmp_path), "--dsnc", "n_bits=8"]
    arguments = parse([*words, "--only", "linear-svc", "dsnc-texts"])
    (svc, texts), answers = compare(three_classes_folder, entries(arguments), arguments)
    assert svc["top-1 %"] == svc["top-5 %"] == 100 and svc["classes"] == 3
    assert svc["version"].startswith("scikit-learn ") and svc["setting"] == "C=1.0"
    assert answers.keys() == {"linear-svc"} and answers["linear-svc"].shape == (60, 4)
    for key in ("train s", "train CPU s", "warm-up s", "µs/row", "µs single", "MB"):
        assert svc[key] > 0
    assert texts["note"] == "left out: no texts" and texts["train s"] is None
    (turn,) = map(json.loads, (tmp_path / "peers_turns.jsonl").read_text().splitlines())
    assert turn["train s"] == svc["train s"]
    show_set([svc, texts])
    shown = capsys.readouterr().out
    assert "three, linear-svc C=1.0: 100.00 %" in shown and "3 classes, 60 rows" in shown
    assert "three, dsnc-texts n_bits=8: left out: no texts" in shown


def test_of_turns_the_least_times_count_and_the_mean_accuracy(three_classes_folder):
    turns = [{"top-1 %": 50, "train s": 4, "MB": 1}, {"top-1 %": 60, "train s": 3, "MB": 1}]
    late = {"note": "over 9 s"}
    row = row_of(
        Entry("dsnc", {}), read_about(three_classes_folder), [*turns, late], "over 9 s", parse([])
    )
    assert (row["top-1 %"], row["train s"], row["turns"], row["note"]) == (55, 3, 2, "over 9 s")


def test_several_settings_of_dsnc_are_several_contestants():
    words = ["--only", "dsnc", "linear-svc", "--set", "linear-svc", "C=0.5"]
    two = ["--dsnc", "n_bits=64", "--dsnc", "n_bits=32", "trainer=fast"]
    labels = [entry.label for entry in entries(parse(words + two))]
    assert labels == ["dsnc n_bits=64", "dsnc n_bits=32 trainer=fast", "linear-svc C=0.5"]
    with pytest.raises(SystemExit, match="svm: it is none of dsnc,"):
        entries(parse(["--set", "svm", "C=1"]))


def test_settings_are_json_or_strings():
    pairs = ["a=1", "b=fast", "c=[1, 2]", "d=None", "e=x=y"]
    assert settings_of(pairs) == {"a": 1, "b": "fast", "c": [1, 2], "d": None, "e": "x=y"}
    with pytest.raises(SystemExit, match="'a' is no setting; write NAME=VALUE"):
        settings_of(["a"])


def test_who_takes_hours_is_left_out_unless_asked_for():
    about = {"classes": 12_275, "own texts": True, "dense": False}
    for name in ("linear-svc", "fasttext"):
        assert left_out(Entry(name, {}), about, False) == "left out: over 5,000 classes (--large)"
        assert not left_out(Entry(name, {}), about, True)
    for entry in (Entry("fasttext-hs", {}), Entry("fasttext", {"loss": "hs"})):
        assert not left_out(entry, about, False)
    dense = about | {"own texts": False, "dense": True}
    assert left_out(Entry("fasttext-hs", {}), dense, False) == "left out: dense rows have no words"


def test_tools_of_a_folder_take_the_place_of_environments(tmp_path):
    assert place_for(SVC, tmp_path, tmp_path) == Place(sys.executable)
    with pytest.raises(NoEnvironmentError, match="There is no folder .*napkinxc-0.7.2"):
        place_for(NapkinXC, tmp_path, tmp_path)
    (tmp_path / "napkinxc-0.7.2").mkdir()
    place = place_for(NapkinXC, tmp_path, tmp_path)
    assert place == Place(sys.executable, str(tmp_path / "napkinxc-0.7.2"))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system pins nothing")
def test_several_at_once_have_cores_of_their_own(three_classes_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 6, 9, 11})
    with pytest.raises(SystemExit, match="takes 6 cores, and this process has 5; use --jobs 2"):
        parse(["--jobs", "3", "--threads", "2"])
    given = []

    def run_nothing(place, job, folder, limit):
        given.append(job.cores)
        return {"note": "over 0 s"}

    monkeypatch.setattr("peers.command.run", run_nothing)
    words = ["--jobs", "2", "--threads", "2", "--results", str(tmp_path)]
    arguments = parse([*words, "--only", "linear-svc", "sgd", "mlp", "--repeats", "1"])
    rows, answers = compare(three_classes_folder, entries(arguments), arguments)
    assert set(given) <= {(3, 5), (6, 9)} and len(given) == 3 and not answers
    assert [row["note"] for row in rows] == ["over 0 s"] * 3


def run_here(place, job, folder, limit):
    kind, settings = CONTESTANTS[job.contestant]
    contestant = kind(settings | job.settings, job.threads, folder)
    return measure(contestant, read(Path(job.data), kind.reads))


def test_records_of_several_runs_are_put_together(three_classes_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("peers.command.run", run_here)
    folder = str(three_classes_folder)
    monkeypatch.setattr("peers.command.prepare", lambda *_: three_classes_folder)
    common = ["peers", folder, "--results", str(tmp_path)]
    few = ["--repeats", "1", "--tune", "0", "--record"]
    monkeypatch.setattr("sys.argv", [*common, *few, "a/DATA", "--only", "linear-svc"])
    main()
    monkeypatch.setattr("sys.argv", [*common, *few, "b", "--only", "sgd", "nearest-neighbors"])
    main()
    monkeypatch.setattr("sys.argv", [*common, "--merge", "a/DATA", "b", "--record", "c"])
    main()
    (record,) = map(json.loads, (tmp_path / "c.jsonl").read_text().splitlines())
    names = [row["contestant"] for row in record["rows"]]
    assert names == ["linear-svc", "sgd", "nearest-neighbors"]
    assert record["rows"][2]["remark"] == "n_neighbors=1 metric=euclidean"
    assert record["rows"][1]["p best top-1 %"] == 1
    with np.load(tmp_path / "c_answers.npz") as answers:
        assert set(answers) == {f"three/{name}" for name in names}


def test_short_answers_are_filled_up(tmp_path):
    for kind, answers in ((NapkinXC, [[2, 1], [0]]), (SVC, np.array([[2, 1], [0, -1]]))):
        assert kind({}, 1, tmp_path).numbers(answers).tolist() == [[2, 1], [0, -1]]
    assert SVC({}, 1, tmp_path).numbers(np.array([2, 0])).tolist() == [[2], [0]]
    FastText = CONTESTANTS["fasttext"][0]
    labels = [("__label__2", "__label__1"), ()]
    assert FastText({}, 1, tmp_path).numbers(labels).tolist() == [[2, 1], [-1, -1]]


def test_environments_are_kept_and_made_again_when_they_change(tmp_path, monkeypatch):
    assert place_for(SVC, tmp_path, None) == Place(sys.executable)
    commands = []

    version = f"{sys.version_info.major}.{sys.version_info.minor}"

    def pip(command, **_):
        commands.append(command)
        (tmp_path / f"napkinxc-0.7.2-python{version}").mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, code, "no compiler\n")

    monkeypatch.setattr(subprocess, "run", pip)
    code = 1
    with pytest.raises(NoEnvironmentError, match=r"no compiler\n.*wheel"):
        python_for(NapkinXC, tmp_path)
    code = 0
    python = python_for(NapkinXC, tmp_path)
    assert python == python_for(NapkinXC, tmp_path) and len(commands) == 3
    monkeypatch.setattr(NapkinXC, "requirements", ("napkinxc==0.7.2", "numpy<2"))
    python_for(NapkinXC, tmp_path)
    assert commands[-1][0] == python and "numpy<2" in commands[-1]
