"""Classes are listed, found, added and removed over HTTP, by two workers as if they were one."""

import json
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import numpy as np
import pytest

import dsnc
from dsnc.inspection import class_codes
from serving import GOLDEN, Service

TOKEN = "a-token-of-those-who-change"
OPEN = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}


def copied(golden, folder):
    folder.mkdir()
    for file in ("model.json", "model.safetensors"):
        shutil.copyfile(GOLDEN / golden / file, folder / file)
    return folder


@pytest.fixture(scope="module")
def changing(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changing")
    (folder / "tokens").write_text(TOKEN)
    jobs = copied("golden_text", folder / "jobs")
    options = ["--token-file", folder / "tokens", "--workers", "2"]
    service = Service(folder, jobs, copied("golden/format1_sets", folder / "tags"), *options)
    service.folder = folder
    yield service
    assert service.stop() == 0
    assert "Traceback" not in service.path.read_text()


def ask(service, method, path, body=None, code=200, model="jobs"):
    body = None if body is None else json.dumps(body).encode()
    status, headers, answer = service.ask(method, f"/models/{model}{path}", body, OPEN)
    found = json.loads(answer)
    assert status == code, found
    if code == 200:
        assert headers["x-model-version"] == found["version"]
    return found


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
    path = f"/models/texts/classes/nearest?code={answer['code']}&top_k=1"
    (own,) = json.loads(service.get(path))["classes"]
    assert (own["label"], own["distance"], own["code"]) == ("nurse", 0, answer["code"])


@pytest.mark.parametrize(
    ("path", "status", "message"),
    [
        ("?limit=x", 400, "limit='x' must be a whole number, 0 or more"),
        ("?offset=-1", 400, "offset='-1' must be"),
        ("?limit=999999", 400, "must be 100,000 at most"),
        ("?querry=a", 400, "Did you mean 'query'?"),
        ("/nearest", 400, "either a label or a code"),
        ("/nearest?label=nurse&code=00", 400, "either a label or a code"),
        ("/nearest?label=nurs", 404, "Did you mean 'nurse'?"),
        ("/nearest?code=xyz", 400, "must be 2 hexadecimal digits, of 8 bits"),
        ("/nearest?label=nurse&top_k=0", 400, "top_k='0' must be a whole number, 1 or more"),
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
        with pytest.warns(UserWarning, match="remembers nothing"):
            expected.add_classes(rows, [name] * 2)
        answer = ask(changing, "POST", "/classes", {"inputs": rows, "labels": [name] * 2})
        assert (answer["added"], answer["rows"]) == ([name], 2)
        assert answer["classes"] == len(expected.classes_)
        for _ in range(8):  # whichever worker is asked
            found = ask(changing, "POST", "/predict", {"inputs": rows, "top_k": 2})
            assert found["version"] == answer["version"]
            assert found["labels"] == expected.predict_top_k(rows, k=2)[0].tolist()
            health = json.loads(changing.get("/health"))
            assert health["models"]["jobs"] == answer["version"]
    answer = ask(changing, "DELETE", "/classes", {"labels": ["bee keeper"]})
    assert answer["removed"] == ["bee keeper"] and answer["classes"] == 5
    expected.remove_classes(["bee keeper"])
    found = ask(changing, "GET", "/classes")
    assert [one["label"] for one in found["classes"]] == expected.classes_.tolist()
    near = ask(changing, "GET", f"/classes/nearest?label={quote('drone pilot')}")
    assert len(near["classes"]) == 4
    again = ask(changing, "POST", "/classes", {"inputs": ["nurse"], "labels": ["nurse"]})
    assert again["added"] == []  # it has learned another row


def test_many_change_at_a_time(changing):
    names = [f"job {number}" for number in range(8)]

    def add(name):
        return ask(changing, "POST", "/classes", {"inputs": [name], "labels": [name]})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(add, names))
    assert len({answer["version"] for answer in answers}) == 8
    sizes = sorted(answer["classes"] for answer in answers)
    assert sizes == list(range(sizes[0], sizes[0] + 8))
    found = ask(changing, "GET", "/classes?query=job")
    assert {one["label"] for one in found["classes"]} == set(names)
    ask(changing, "DELETE", "/classes", {"labels": names})


def test_the_folder_gets_the_changes_later(changing):
    before = (changing.folder / "jobs" / "model.json").read_bytes()
    answer = ask(changing, "POST", "/classes", {"inputs": ["cooper"], "labels": ["cooper"]})
    assert (changing.folder / "jobs" / "model.json").read_bytes() == before  # as long as it is busy
    changing.wait_for("folded", version=answer["version"], seconds=30)
    assert "cooper" in dsnc.load(changing.folder / "jobs").classes_
    lines = [line for line in changing.log if line["event"] == "reloaded"]
    time.sleep(1.5)  # they look at the folder, and know what they see
    assert [line for line in changing.log if line["event"] == "reloaded"] == lines
    assert json.loads(changing.get("/health"))["models"]["jobs"] == answer["version"]


@pytest.mark.parametrize(
    ("method", "body", "message"),
    [
        ("POST", {"inputs": ["a"]}, "labels=None must be a list of labels"),
        ("POST", {"labels": ["a"]}, "The body must be an object such as"),
        ("POST", {"inputs": ["a"], "labels": ["a", "b"]}, "labels has 2 for 1 inputs"),
        ("POST", {"inputs": ["a"], "labels": [None]}, "labels[0]=None must be a text or a number"),
        ("POST", {"inputs": ["a"], "labels": [7]}, "labels has 7, a int, and the classes are like"),
        ("POST", {"inputs": [7], "labels": ["a"]}, "inputs[0] holds int in place of a row"),
        ("POST", {"inputs": ["a"], "labels": ["a"], "x": 1}, "'x' is not known"),
        ("DELETE", {"labels": ["nobody"]}, "'nobody', which is none of the"),
        ("DELETE", {"labels": []}, "labels=[] must be a list"),
        ("DELETE", {"labels": ["cook", "cook"]}, "names a class twice"),
        ("DELETE", [], "labels=None must be a list"),
        ("DELETE", {"labels": ["nurse"], "inputs": []}, "'inputs' is not known. Valid: labels."),
    ],
)
def test_wrong_changes_change_nothing(changing, method, body, message):
    before = ask(changing, "GET", "/classes")
    assert message in ask(changing, method, "/classes", body, 400)["error"]
    assert ask(changing, "GET", "/classes") == before


def test_classes_of_other_models_are_fixed(changing):
    answer = ask(changing, "POST", "/classes", {}, 403, model="tags")
    assert answer["error"] == "tags is of kind 'dsnc_sets', whose classes are fixed."
    models = json.loads(changing.get("/models", **OPEN))["models"]
    assert {one["name"]: one["changeable"] for one in models} == {"jobs": True, "tags": False}
