"""Classes are listed, found, added and removed over HTTP, by two workers as if they were one."""

import json
import os
import runpy
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest

import dsnc
from dsnc.files import whole_folder
from dsnc.inspection import class_codes
from serving import GOLDEN, OPEN, TOKEN, Adding, Changing, copied


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changing")
    jobs = copied("golden_text", folder / "jobs")
    tags = copied("golden/format1_sets", folder / "tags")
    service = Changing(folder, jobs, tags, copied("golden_baselines/mlp", folder / "units"))
    yield service
    assert service.stop() == 0
    assert "Traceback" not in service.path.read_text()


def test_classes_are_listed(service, vectors, texts):
    codes = class_codes(texts)
    answer = json.loads(service.get("/models/texts/classes"))
    assert (answer["total"], answer["offset"], answer["bits"]) == (3, 0, codes.n_bits)
    assert [one["label"] for one in answer["classes"]] == texts.classes_.tolist()
    assert [one["number"] for one in answer["classes"]] == [0, 1, 2]
    for one, bits in zip(answer["classes"], codes.to_bits(), strict=True):
        assert one["code"] == np.packbits(bits).tobytes().hex()
    some = json.loads(service.get("/models/texts/classes?offset=1&limit=1"))
    assert some["classes"] == answer["classes"][1:2] and some["total"] == 3
    found = json.loads(service.get("/models/texts/classes?query=NURS"))
    assert [one["label"] for one in found["classes"]] == ["nurse"] and found["total"] == 1
    assert json.loads(service.get("/models/texts/classes?query=zzz"))["classes"] == []
    assert json.loads(service.get("/models/vectors/classes"))["total"] == len(vectors.classes_)


def test_the_nearest_classes(service, texts):
    codes, labels = class_codes(texts), texts.classes_.tolist()
    distances = codes.distance(codes)[2]
    expected = sorted((int(distances[number]), number) for number in (0, 1))
    answer = json.loads(service.get("/models/texts/classes/nearest?label=nurse&top_k=5"))
    found = [(one["distance"], one["number"]) for one in answer["classes"]]
    assert found == expected and answer["classes"][0]["label"] == labels[expected[0][1]]
    assert answer["code"] == np.packbits(codes.to_bits()[labels.index("nurse")]).tobytes().hex()


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("?limit=x", 400, "limit='x': Expected int, got str"),
        ("?offset=-1", 400, "offset='-1': Expected int >= 0"),
        ("?limit=999999", 400, "must be at most 100,000"),
        ("?querry=a", 400, "Did you mean 'query'?"),
        ("/nearest", 400, "label is missing"),
        ("/nearest?label=nurse&code=00", 400, "'code' is not known. Valid: label, top_k."),
        ("/nearest?label=nurs", 404, "Did you mean 'nurse'?"),
        ("/nearest?label=nurse&top_k=0", 400, "top_k='0': Expected int >= 1"),
    ],
)
def test_wrong_questions_are_explained(service, path, status, message):
    found, _, answer = service.ask("GET", f"/models/texts/classes{path}")
    assert (found, message in json.loads(answer)["error"]) == (status, True), answer


def test_without_a_token_file_nothing_changes(service):
    for method in ("POST", "DELETE"):
        status, _, answer = service.ask(method, "/models/texts/classes", b"{}")
        assert status == 403 and "start the service with --token-file" in answer.decode()
    assert {one["changeable"] for one in json.loads(service.get("/models"))["models"]} == {False}


def test_a_token_is_needed(changing):
    body = json.dumps({"inputs": ["a"], "labels": ["b"]}).encode()
    for method in ("GET", "POST", "DELETE"):
        assert changing.ask(method, "/models/jobs/classes", body)[0] == 401


def test_added_classes_are_predicted_by_all_workers_at_once(changing):
    expected = dsnc.load(GOLDEN / "golden_text")
    for name in ("drone pilot", "bee keeper", "glass blower"):
        rows = [name, f"a {name}"]
        expected.add_classes(rows, [name] * 2)
        answer = changing.of("POST", "/classes", {"inputs": rows, "labels": [name] * 2})
        assert (answer["added"], answer["rows"]) == ([name], 2)
        assert answer["classes"] == len(expected.classes_)
        for _ in range(8):  # whichever worker is asked
            found = changing.of("POST", "/predict", {"inputs": rows, "top_k": 2})
            assert found["version"] == answer["version"]
            assert found["labels"] == expected.predict_top_k(rows, k=2)[0].tolist()
            health = json.loads(changing.get("/health", **OPEN))
            assert health["models"]["jobs"] == answer["version"]
    answer = changing.of("DELETE", "/classes", {"labels": ["bee keeper"]})
    assert answer["removed"] == ["bee keeper"] and answer["classes"] == 5
    expected.remove_classes(["bee keeper"])
    assert changing.labels() == expected.classes_.tolist()
    near = changing.of("GET", f"/classes/nearest?label={quote('drone pilot')}")
    assert len(near["classes"]) == 4
    assert changing.add("nurse")["added"] == []  # it has learned another row


def test_the_client_of_the_examples_adds_one(changing, repository, monkeypatch, capsys):
    client = runpy.run_path(str(repository / "examples" / "serve" / "add_class.py"))
    url = f"http://127.0.0.1:{changing.port}/models/jobs"
    monkeypatch.setenv("DSNC_TOKEN", TOKEN)
    client["main"](url, "weaver", "weaver", "who weaves")
    assert "weaver" in changing.labels() and " classes\n" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="Expected array of length >= 1"):
        client["main"](url, "weaver")
    changing.of("DELETE", "/classes", {"labels": ["weaver"]})


def test_many_change_at_a_time(changing):
    names = [f"job {number}" for number in range(8)]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(changing.add, names))
    assert [answer["added"] for answer in answers] == [[name] for name in names]
    assert len({answer["version"] for answer in answers}) < 8  # those that waited went together
    assert max(answer["classes"] for answer in answers) == len(changing.labels())
    assert set(changing.labels("job")) == set(names)
    changing.of("DELETE", "/classes", {"labels": names})


def test_the_folder_has_what_was_answered(changing):
    answer = changing.add("cooper")
    assert "cooper" in dsnc.load(changing.folder / "jobs").classes_
    time.sleep(1.5)  # they look at the folder, and know what they see
    lines = [line["event"] for line in changing.log if line.get("version") == answer["version"]]
    assert lines.count("changed") == 1 and lines.count("reloaded") <= 1
    assert json.loads(changing.get("/health", **OPEN))["models"]["jobs"] == answer["version"]


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("POST", {"inputs": ["a"]}, "labels is missing."),
        ("POST", {"labels": ["a"]}, "Give labels, and one of inputs, descriptions, attributes"),
        ("POST", {"inputs": ["a"], "labels": ["a", "b"]}, "labels has 2 entries for 1 inputs"),
        (
            "POST",
            {"inputs": ["a"], "labels": [None]},
            "labels[0]: Expected int | float | str | array, got null",
        ),
        (
            "POST",
            b'{"inputs": ["a"], "labels": [1e999]}',
            "labels[0]: Number out of range",
        ),
        ("POST", {"inputs": ["a"], "labels": [["b", "c"]]}, "rows of this model have one label"),
        ("POST", {"inputs": ["a"], "labels": [7]}, "labels has 7 of type int, but classes such as"),
        ("POST", {"inputs": [7], "labels": ["a"]}, "inputs[0] holds a number instead of a row"),
        ("POST", {"inputs": ["a"], "labels": ["a"], "x": 1}, "'x' is not known"),
        ("DELETE", {"labels": ["nobody"]}, "'nobody', which is not one of the"),
        ("DELETE", {"labels": []}, "labels=[]: Expected array of length >= 1"),
        ("DELETE", {"labels": ["cook", "cook"]}, "lists a class twice"),
        ("DELETE", [], 'must be an object such as {"labels": [...]}'),
        ("DELETE", {"labels": ["nurse"], "inputs": []}, "'inputs' is not known. Valid: labels."),
    ],
)
def test_wrong_changes_change_nothing(changing, method, body, message):
    before = changing.of("GET", "/classes")
    assert message in changing.of(method, "/classes", body, 400)["error"]
    assert changing.of("GET", "/classes") == before


def test_classes_of_models_without_codes_are_fixed(changing):
    answer = changing.of("POST", "/classes", {}, 403, model="units")
    assert answer["error"] == "units is of kind 'mlp', whose classes are fixed."
    models = json.loads(changing.get("/models", **OPEN))["models"]
    changeable = {one["name"]: one["changeable"] for one in models}
    assert changeable == {"jobs": True, "tags": True, "units": False}


def test_new_labels_of_label_sets(changing):
    known = dsnc.load(changing.folder / "tags")
    rows = np.eye(known.n_features_in_)[:3].tolist()
    old, new = known.classes_[0].item(), f"{known.classes_[0]} and more"
    said = changing.of(
        "POST", "/classes", {"inputs": rows, "labels": [[old, new], new, []]}, model="tags"
    )
    assert (said["added"], said["rows"]) == ([new], 3)
    there = changing.of("GET", "/classes", model="tags")
    assert new in [one["label"] for one in there["classes"]]
    changing.of("DELETE", "/classes", {"labels": [new]}, model="tags")


def test_a_worker_is_killed_while_classes_are_added(changing):
    before = changing.labels()
    with Adding(changing, "brave") as adding:
        adding.wait(3)
        os.kill(changing.workers[0], signal.SIGKILL)
        while len(changing.workers) < 3:
            time.sleep(0.02)
        adding.wait(len(adding.done) + 3)
    assert adding.odd == []
    names = changing.labels()
    assert names[: len(before)] == before and set(adding.done) <= set(names)
    answers = [changing.of("POST", "/predict", {"inputs": names}) for _ in range(6)]
    assert all(answer == answers[0] for answer in answers)


def test_a_folder_is_replaced_while_classes_are_added(changing):
    before = changing.labels()
    with Adding(changing, "late") as adding:
        adding.wait(3)
        with whole_folder(changing.folder / "jobs", replace=True) as aside:  # as `save` does it
            copied("golden_text", aside)
        adding.wait(len(adding.done) + 5)  # the new folder is changed
    assert adding.odd == []
    found = changing.labels()
    assert found[:3] == before[:3] and adding.done[-1] in found
    assert not set(found) & set(before[3:])  # they were of the folder that is gone
    assert set(found[3:]) < set(adding.done)
