"""Changes reach the folder whole or not at all, whoever is killed or in the way meanwhile."""

import asyncio
import json
import resource
import subprocess
import sys
import threading
import time

import pytest

import dsnc
from dsnc import files
from dsnc.files import whole_folder
from dsnc.model import read_fitted
from dsnc.serve import served
from dsnc.serve.changes import ADD, REMOVE, Changes
from dsnc.serve.limits import Limits, Refused
from dsnc.serve.log import Log
from dsnc.serve.models import Models
from dsnc.serve.served import Served, version_of
from dsnc.serve.settings import ServeSettings
from serving import GOLDEN, copied

pytestmark = pytest.mark.filterwarnings("ignore:The model remembers nothing")
LIMITS = Limits(max_rows=100)
TOKENS = {"0123456789abcdef": "change"}
HOLD = """
import sys, time
from pathlib import Path
from dsnc.serve.changes import Changes
with Changes("jobs", Path(sys.argv[1])).locked(1):
    print("held", flush=True)
    time.sleep(60)
"""


def opened(path):
    """Do what a worker does when it starts."""
    return Models(ServeSettings(models={"jobs": path}, tokens=TOKENS), Log())


@pytest.fixture
def path(tmp_path):
    return copied("golden_text", tmp_path / "jobs")


@pytest.fixture
def changes(path):
    return opened(path).changes["jobs"]


def body(*names):
    return json.dumps({"inputs": names, "labels": names}).encode()


def add(changes, *names):
    return changes.change([(ADD, body(*names))], LIMITS)


def labels(path):
    return dsnc.load(path).classes_.tolist()


def test_what_is_told_is_in_the_folder(changes, path):
    new, (told,) = add(changes, "pilot")
    assert told == {"added": ["pilot"], "rows": 1}
    assert version_of(path) == new.version == changes.current
    assert labels(path)[-1] == "pilot" == new.model.classes_[-1]
    assert opened(path)["jobs"].version == new.version


def test_changes_are_made_together_and_each_is_told_its_own(changes, path):
    wishes = [
        (ADD, body("pilot")),
        (REMOVE, b'{"labels": ["nobody"]}'),
        (ADD, body("pilot", "cook")),
    ]
    wishes.append((REMOVE, b'{"labels": ["driver"]}'))
    new, (first, wrong, second, last) = changes.change(wishes, LIMITS)
    assert (first["added"], second["added"], last) == (["pilot"], [], {"removed": ["driver"]})
    assert wrong.status == 400 and "nobody" in wrong.message
    assert labels(path) == new.model.classes_.tolist() == ["cook", "nurse", "pilot"]
    alone = dsnc.load(copied("golden_text", path.with_name("alone")))
    alone.add_classes(["pilot"], ["pilot"])
    alone.add_classes(["pilot", "cook"], ["pilot", "cook"])
    alone.remove_classes(["driver"])
    texts = ["pilot", "a cook", "nurse"]
    assert (new.model.predict_proba(texts) == alone.predict_proba(texts)).all()


@pytest.mark.parametrize("tokens", [TOKENS, {}])
def test_what_changes_run_is_loaded_before_the_first_one_comes(path, tokens, monkeypatch):
    loaded = []
    monkeypatch.setattr(Changes, "prepare", lambda changes: loaded.append(changes))
    models = Models(ServeSettings(models={"jobs": path}, tokens=tokens), Log())
    asyncio.run(models.prepare())
    assert bool(loaded) == bool(tokens)  # without tokens, classes stay as they are


def test_what_is_refused_writes_nothing(changes, path):
    before = (path / "model.json").stat()
    new, (told,) = changes.change([(REMOVE, b'{"labels": ["nobody"]}')], LIMITS)
    assert new is None and told.status == 400
    assert (path / "model.json").stat().st_ino == before.st_ino


def test_classes_from_descriptions(changes, path):
    said = {"descriptions": [["driver of a tram", "tram"], "cook"], "labels": ["tram", "chef"]}
    _, (told,) = changes.change([(ADD, json.dumps(said).encode())], LIMITS)
    assert told == {"added": ["tram", "chef"], "described": 2}
    assert set(labels(path)[-2:]) == {"tram", "chef"}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"descriptions": "x"}, 'descriptions="x": Expected array'),
        ({"descriptions": ["x"] * 101}, "more than 100 rows"),
        (
            {"descriptions": ["x", "y"]},
            "labels has 1 entries for 2 descriptions; give one for each",
        ),
        ({"descriptions": [7]}, "descriptions[0]: Expected str"),
        ({"descriptions": ["x"], "inputs": []}, "one of inputs, descriptions, attributes"),
        ({"attributes": [[1, 2]]}, "attributes: only 0 classes with rows have attributes"),
    ],
)
def test_wrong_descriptions(changes, said, message):
    _, (told,) = changes.change([(ADD, json.dumps({**said, "labels": ["a"]}).encode())], LIMITS)
    assert message in told.message


def test_a_label_may_have_any_name(changes):
    assert add(changes, "descriptions")[1] == [{"added": ["descriptions"], "rows": 1}]


def test_a_card_that_was_edited_is_kept(changes, path):
    (path / "README.md").write_text("mine")
    add(changes, "pilot")
    assert (path / "README.md").read_text() == "mine"


def test_a_folder_that_somebody_else_has_replaced_is_the_one_that_changes(changes, path):
    add(changes, "pilot")
    with whole_folder(path, replace=True) as aside:
        copied("golden_text", aside)
    add(changes, "keeper")
    assert labels(path) == ["cook", "driver", "nurse", "keeper"]


def test_a_folder_that_is_away_for_a_moment_is_not_changed(path):
    models, aside = opened(path), path.with_name("aside")
    path.rename(aside)
    asyncio.run(models.prepare())  # a worker starts nevertheless
    with pytest.raises(Refused, match="being replaced"):
        add(models.changes["jobs"], "pilot")
    aside.rename(path)
    add(models.changes["jobs"], "pilot")
    assert labels(path)[-1] == "pilot"


def test_a_folder_that_is_being_replaced_is_not_written(changes, path, monkeypatch):
    estimator = changes.prepare()[1]
    learn = estimator.add_classes

    def slowly(*arguments):
        with whole_folder(path, replace=True) as aside:  # while the classes are being learned
            copied("golden/format1_changed", aside)
        return learn(*arguments)

    monkeypatch.setattr(estimator, "add_classes", slowly)
    with pytest.raises(Refused, match="being replaced"):
        add(changes, "pilot")
    assert "pilot" not in labels(path)


def test_a_folder_that_is_replaced_at_the_last_moment_is_not_written(changes, path, monkeypatch):
    put = files._put

    def late(aside, target, *, replace):
        monkeypatch.setattr(files, "_put", put)
        with whole_folder(path, replace=True) as theirs:  # the change is on the disk, aside
            copied("golden/format1_changed", theirs)
        put(aside, target, replace=replace)

    monkeypatch.setattr(files, "_put", late)
    with pytest.raises(Refused, match="being replaced"):
        add(changes, "pilot")
    assert labels(path) == labels(GOLDEN / "golden" / "format1_changed")
    assert [file.name for file in path.parent.iterdir() if file.is_dir()] == ["jobs"]


def test_a_folder_that_is_replaced_before_it_is_read_back(changes, path, monkeypatch):
    read = Served.read

    def late(name, folder, written):
        monkeypatch.setattr(Served, "read", read)
        with whole_folder(path, replace=True) as theirs:  # the change is in the folder for a moment
            copied("golden_text", theirs)
        return read(name, folder, written)

    monkeypatch.setattr(Served, "read", late)
    new, _ = add(changes, "pilot")
    assert labels(path) == new.model.classes_.tolist() == ["cook", "driver", "nurse"]
    add(changes, "keeper")  # to what is there now, and not to what is gone
    assert labels(path) == ["cook", "driver", "nurse", "keeper"]


@pytest.mark.parametrize("is_touched", [False, True])
def test_what_was_just_written_is_read_back_without_its_checksum(
    changes, path, monkeypatch, is_touched
):
    copy, verified = served.copy_plain, []

    def copy_late(source, target):
        copy(source, target)
        if is_touched and source.name == "model.json":  # the arrays might be those of another
            (path / "model.safetensors").touch()

    def read(folder, *, verify):
        verified.append(verify)
        return read_fitted(folder, verify=verify)

    monkeypatch.setattr(served, "copy_plain", copy_late)
    monkeypatch.setattr(served, "read_fitted", read)
    assert add(changes, "pilot")[0].model.classes_[-1] == "pilot"
    Served.read("jobs", path)
    assert verified == [is_touched, True]


def test_a_folder_that_is_replaced_while_it_is_loaded_is_not_changed(path, monkeypatch):
    models, load = opened(path), dsnc.load

    def late(folder):
        monkeypatch.setattr(dsnc, "load", load)
        with whole_folder(path, replace=True) as theirs:  # its version is known by now
            copied("golden/format1_changed", theirs)
        return load(folder)

    monkeypatch.setattr(dsnc, "load", late)
    with pytest.raises(Refused, match="being replaced"):
        add(models.changes["jobs"], "pilot")
    with whole_folder(path, replace=True) as ours:
        copied("golden_text", ours)
    add(models.changes["jobs"], "pilot")
    assert labels(path) == ["cook", "driver", "nurse", "pilot"]


def test_a_disk_without_room_changes_nothing(path):
    models, notes = opened(path), []
    models.log.note = lambda event, **facts: notes.append((event, facts))
    before, limits = models["jobs"].version, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(Refused, match="nothing was changed") as refused:
            asyncio.run(models.change("jobs", (ADD, body("pilot"))))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert refused.value.status == 503
    ((event, facts),) = notes
    assert event == "not changed" and "File too large" in facts["error"]
    assert version_of(path) == before == models["jobs"].version
    assert sorted(file.name for file in path.parent.iterdir()) == [".jobs.serve", "jobs"]
    served, told = asyncio.run(models.change("jobs", (ADD, body("pilot"))))
    assert told["added"] == ["pilot"] and served.version == version_of(path)


def test_a_change_that_cannot_be_read_back_is_not_said_to_be_lost(path, monkeypatch):
    models = opened(path)
    with monkeypatch.context() as full:  # no room for its copy, in the folder for temporary files
        full.setattr("tempfile.tempdir", str(path / "nowhere"))
        with pytest.raises(Refused, match="is written") as refused:
            asyncio.run(models.change("jobs", (ADD, body("pilot"))))
    assert refused.value.status == 503
    assert labels(path)[-1] == "pilot" and models["jobs"].n_classes == 3
    asyncio.run(models._look("jobs"))
    assert models["jobs"].model.classes_[-1] == "pilot" and not models.is_behind(models["jobs"])


def test_changes_that_wait_are_written_once(path):
    models = opened(path)

    async def change_all():
        names = [f"job {number}" for number in range(6)]
        wishes = [models.change("jobs", (ADD, body(name))) for name in names]
        return await asyncio.gather(*wishes)

    answers = asyncio.run(change_all())
    assert [told["added"] for _, told in answers] == [[f"job {number}"] for number in range(6)]
    assert len({served.version for served, _ in answers}) == 1


def test_who_comes_when_too_many_wait_is_sent_away(path):
    models = opened(path)

    async def change_all():
        wishes = [models.change("jobs", (ADD, body(f"job {number}"))) for number in range(9)]
        return await asyncio.gather(*wishes, return_exceptions=True)

    *_, last = asyncio.run(change_all())
    assert isinstance(last, Refused) and last.status == 503


def test_another_worker_follows(path):
    models, other = opened(path), opened(path)
    new, _ = add(models.changes["jobs"], "pilot")
    assert other.is_behind(other["jobs"])
    assert asyncio.run(other.newest("jobs")).version == new.version
    assert other["jobs"].model.classes_[-1] == "pilot"
    add(other.changes["jobs"], "keeper")
    assert labels(path)[-2:] == ["pilot", "keeper"]


def test_a_writer_that_is_killed_before_it_tells_has_changed_the_folder(path):
    models, other = opened(path), opened(path)
    changes, first = models.changes["jobs"], models["jobs"].version
    new, _ = add(changes, "pilot")
    changes.current = first  # it was not told any more
    asyncio.run(other._look("jobs"))
    assert other["jobs"].version == new.version == changes.current


def test_a_change_that_is_not_told_yet_is_read_and_waits(path):
    models, other = opened(path), opened(path)
    changes, first = models.changes["jobs"], models["jobs"].version
    new, _ = add(changes, "pilot")
    changes.current = first
    with changes.locked(0):
        with pytest.raises(Refused):
            asyncio.run(other._look("jobs"))
        assert other["jobs"].version == first
    asyncio.run(other._look("jobs"))
    assert other["jobs"].version == new.version


def test_a_change_that_is_made_while_another_model_is_adopted_stays(path, monkeypatch):
    models, made = opened(path), threading.Event()
    changes = models.changes["jobs"]
    adopt = changes.adopt

    def slowly(new, seconds):
        return adopt(new, seconds) and made.wait(20)

    async def look_and_change():
        looking = asyncio.create_task(models._look("jobs"))
        while changes.current == before:
            await asyncio.sleep(0.01)
        await models.change("jobs", (ADD, body("pilot")))
        made.set()
        await looking

    monkeypatch.setattr(changes, "adopt", slowly)
    dsnc.load(path).add_classes(["weaver"], ["weaver"]).save(path, overwrite=True)
    before = changes.current
    asyncio.run(look_and_change())
    assert not models.is_behind(models["jobs"])
    assert models["jobs"].model.classes_[-2:].tolist() == ["weaver", "pilot"]


def test_one_writer_at_a_time_and_none_after_it_was_killed(changes, path):
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        start = time.monotonic()
        with pytest.raises(Refused, match="being changed"), changes.locked(0.1):
            pass
        assert time.monotonic() - start >= 0.1
        holder.kill()
        with changes.locked(10):
            pass


def test_a_folder_that_the_service_may_not_write_beside(path):
    path.with_name(".jobs.serve").mkdir()
    models = opened(path)
    why = models.why_fixed(models["jobs"])
    assert why == "The service cannot change the classes of jobs: Is a directory."
    path.with_name(".jobs.serve").rmdir()
    (path / "notes.txt").write_text("x")
    models = opened(path)
    assert "holds 'notes.txt', which is not part of a model" in models.why_fixed(models["jobs"])


def test_a_folder_that_cannot_be_replaced_is_known_at_the_start(path, monkeypatch):
    monkeypatch.setattr("os.path.ismount", lambda folder: folder == path)
    models = opened(path)
    assert "mount the folder above it" in models.why_fixed(models["jobs"])
    assert not path.with_name(".jobs.serve").exists()


def test_without_tokens_nothing_is_made_beside_the_folder(path):
    models = Models(ServeSettings(models={"jobs": path}), Log())
    assert models.changes == {} and [file.name for file in path.parent.iterdir()] == ["jobs"]
