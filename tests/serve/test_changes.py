"""From the journal to the folder, wherever the service was killed in between."""

import json
import resource
import shutil

import pytest

import dsnc
from dsnc.serve import changes as module
from dsnc.serve.changes import ADD, REMOVE, Changes
from dsnc.serve.models import Models
from dsnc.serve.refusals import Refused
from dsnc.serve.served import Served, version_of
from dsnc.serve.settings import ServeSettings
from serving import copied

pytestmark = pytest.mark.filterwarnings("ignore:The model remembers nothing")
FILES = ("changes", "current", "lock")


def opened(path, notes):
    """Do what a service does when it starts."""
    settings = ServeSettings(models={"jobs": path}, tokens=("0123456789abcdef",))
    models = Models(settings, lambda event, **facts: notes.append((event, facts)))
    return models.changes["jobs"], models["jobs"]


@pytest.fixture
def path(tmp_path):
    return copied("golden_text", tmp_path / "jobs")


@pytest.fixture
def notes():
    return []


@pytest.fixture
def changed(path, notes):
    """A model with two changes that its folder does not have."""
    changes, served = opened(path, notes)
    for name in ("pilot", "keeper"):
        served, _ = changes.change(served, ADD, body(name), 100)
    return changes, served


def body(*names):
    return json.dumps({"inputs": names, "labels": names})


def labels(path):
    return dsnc.load(path).classes_.tolist()


def test_a_model_that_is_kept_takes_the_place_of_the_folder(changed, path, notes):
    changes, served = changed
    assert version_of(path) != served.version
    _, again = opened(path, notes)
    assert again.version == served.version == version_of(path)
    assert again.identity == served.identity  # the same files: nobody needs to read them again
    assert [facts["changes"] for event, facts in notes if event == "folded"] == [2]
    assert sorted(file.name for file in changes.journal.folder.iterdir()) == sorted(FILES)


def test_what_is_lost_is_made_again_from_the_journal(changed, path, notes):
    changes, served = changed
    shutil.rmtree(changes.journal.folder / served.version)
    _, again = opened(path, notes)
    assert again.version == served.version  # bit by bit
    assert labels(path)[-2:] == ["pilot", "keeper"]


def test_a_damaged_model_is_made_again(changed, path, notes):
    changes, served = changed
    with (changes.journal.model(served.version) / "model.safetensors").open("r+b") as file:
        file.seek(-5, 2)
        file.write(b"\1\2\3\4\5")
    assert opened(path, notes)[1].version == served.version


def test_killed_after_the_folder_got_the_changes(changed, path, notes):
    changes, served = changed
    lines = (changes.journal.folder / "changes").read_bytes()
    changes.fold(at_once=True)
    (changes.journal.folder / "changes").write_bytes(lines)  # it was not cleared any more
    assert changes.knows()
    served, _ = changes.change(served, REMOVE, json.dumps({"labels": ["pilot"]}), 100)
    shutil.rmtree(changes.journal.folder / served.version)
    _, again = opened(path, notes)
    assert again.version == served.version and labels(path)[-1] == "keeper"


def test_killed_before_others_were_told(changed, path):
    changes, served = changed
    first = changes.journal.read().changes[0].before
    changes.journal.current = first
    shutil.rmtree(changes.journal.folder / served.version)  # not even the model is there
    served, told = changes.change(served, ADD, body("glazier"), 100)
    assert told == {"added": ["glazier"], "rows": 1}
    assert changes.journal.current == served.version
    assert served.model.classes_.tolist()[-3:] == ["pilot", "keeper", "glazier"]


def test_changes_of_another_folder_are_kept_and_not_made(changed, path, notes):
    changes, _ = changed
    lines = (changes.journal.folder / "changes").read_bytes()
    copied("golden/format1_changed", path)
    with pytest.raises(Refused, match="being replaced"):
        changes.change(changed[1], ADD, body("x"), 100)
    changes.fold(at_once=True)
    assert changes.journal.n_bytes == len(lines)  # nobody has read the other one yet
    _, again = opened(path, notes)
    ((event, facts),) = [note for note in notes if note[0] == "journal set aside"]
    assert facts["changes"] == 2 and facts["level"] == "error"
    assert facts["version"] == again.version == version_of(path)
    with open(facts["kept"], "rb") as kept:
        assert kept.read() == lines


def test_classes_from_descriptions(changed, path, notes):
    changes, served = changed
    said = {"descriptions": [["driver of a tram", "tram"], "cook"], "labels": ["tram", "chef"]}
    served, told = changes.change(served, ADD, json.dumps(said), 100)
    assert told == {"added": ["tram", "chef"], "described": 2}
    shutil.rmtree(changes.journal.folder / served.version)
    assert opened(path, notes)[1].version == served.version  # made again, bit by bit


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"descriptions": "x"}, "descriptions must be a list"),
        ({"descriptions": ["x"] * 101}, "descriptions must be a list of at most 100"),
        (
            {"descriptions": ["x", "y"]},
            "labels has 1 entries for 2 descriptions; give one for each",
        ),
        ({"descriptions": [7]}, "the description of 'a' is 7; give a text"),
        ({"descriptions": ["x"], "inputs": []}, "'inputs' is not known. Valid: descriptions, lab"),
        ({"attributes": [[1, 2]]}, "attributes: only 0 classes with rows have attributes"),
    ],
)
def test_wrong_descriptions(changed, said, message):
    changes, served = changed
    with pytest.raises(Refused, match=message):
        changes.change(served, ADD, json.dumps({**said, "labels": ["a"]}), 100)
    assert changes.newest(served) is served


def test_a_label_may_have_any_name(changed):
    changes, served = changed
    _, told = changes.change(served, ADD, body("descriptions"), 100)
    assert told == {"added": ["descriptions"], "rows": 1}


def test_a_card_that_was_edited_is_kept(changed, path):
    (path / "README.md").write_text("mine")
    changed[0].fold(at_once=True)
    assert (path / "README.md").read_text() == "mine"


def test_a_folder_that_cannot_be_replaced_waits(changed, path, notes):
    changes, served = changed
    (path / "notes.txt").write_text("x")
    changes.fold(at_once=True)
    event, facts = notes[-1]
    assert event == "not folded" and "notes.txt" in facts["error"]
    assert changes.newest(served) is served
    changes._folds_after = 0.0
    (path / "notes.txt").unlink()
    changes.fold()  # not yet: somebody has just changed something
    assert version_of(path) != served.version
    changes.fold(at_once=True)
    assert version_of(path) == served.version


def test_a_large_journal_does_not_wait(changed, path, monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 10)
    changes, served = changed
    changes.change(served, ADD, body("glazier"), 100)
    assert version_of(path) == served.version and len(changes.journal.read().changes) == 1


def test_a_model_that_cannot_be_written_changes_nothing(changed, notes, monkeypatch):
    changes, served = changed
    before = changes.journal.n_bytes
    monkeypatch.setenv("TMPDIR", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", "/dev/null")
    with pytest.raises(Refused, match="nothing was changed") as refused:
        changes.change(served, ADD, body("glazier"), 100)
    assert refused.value.status == 503 and notes[-1][0] == "not changed"
    monkeypatch.undo()
    assert changes.journal.n_bytes == before and changes.journal.current == served.version
    dirs = [file.name for file in changes.journal.folder.iterdir() if file.is_dir()]
    assert dirs == [served.version]
    assert changes.change(served, ADD, body("glazier"), 100)[1]["added"] == ["glazier"]


def test_a_journal_that_finds_no_room_changes_nothing(changed, notes):
    changes, served = changed
    served, _ = changes.change(served, ADD, body("long " * 10_000), 100)
    size, limits = changes.journal.n_bytes, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))  # room for a model
    try:
        with pytest.raises(Refused, match="nothing was changed"):
            changes.change(served, ADD, body("glazier"), 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "File too large" in notes[-1][1]["error"]
    assert changes.journal.n_bytes == size and len(changes.journal.read().changes) == 3
    assert changes.journal.current == changes.journal.coming == served.version
    assert changes.change(served, ADD, body("glazier"), 100)[1]["added"] == ["glazier"]


def test_a_folder_that_the_service_may_not_write_beside(path, tmp_path):
    (tmp_path / "jobs.journal").write_text("in the way")
    settings = ServeSettings(models={"jobs": path}, tokens=("0123456789abcdef",))
    models = Models(settings)
    why = models.why_fixed(models["jobs"])
    assert why == "The service cannot change the classes of jobs: File exists."
    (tmp_path / "jobs.journal").unlink()
    (path / "notes.txt").write_text("x")
    models = Models(settings)
    assert "holds 'notes.txt', which is not part of a model" in models.why_fixed(models["jobs"])


def test_a_folder_that_cannot_be_replaced_is_known_at_the_start(path, monkeypatch):
    settings = ServeSettings(models={"jobs": path}, tokens=("0123456789abcdef",))
    monkeypatch.setattr("os.path.ismount", lambda folder: folder == path)
    models = Models(settings)
    assert "mount the folder above it" in models.why_fixed(models["jobs"])
    assert not path.with_name("jobs.journal").exists()


def test_acknowledged_changes_that_cannot_be_folded_stop_the_start(changed, path):
    (path / "notes.txt").write_text("x")
    settings = ServeSettings(models={"jobs": path})
    with pytest.raises(dsnc.errors.InputError, match="acknowledged cannot be written.*notes.txt"):
        Models(settings)
    (path / "notes.txt").unlink()
    assert Models(settings)["jobs"].version == changed[1].version  # also where nobody has a token


def test_another_process_may_fold_while_this_one_reads(changed, path):
    changes, served = changed
    base = Served.read("jobs", path)
    other = Changes("jobs", path, lambda *_, **__: None)
    other.open()
    assert changes.newest(base).version == served.version
