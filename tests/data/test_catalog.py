import bz2
import dataclasses
import inspect
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from dsnc.data import catalog, glyphs
from dsnc.data.catalog import DATASETS, Entry, RemoteFile, fetch, load_catalog
from dsnc.data.dataset import Dataset
from dsnc.data.folder import write_folder
from dsnc.errors import DataFileError, DownloadError, DsncWarning, InputError

ALOI = b"0 1:0.5 3:1\n1 2:0.25\n2 1:1 2:1 3:1\n0 3:0.75\n"
TRAIN, VALIDATION, TEST = b"7 0:1 4:2\n9 1:3\n11 2:1\n", b"9 1:1 4:1\n", b"7 0:2\n11 2:2 3:1\n"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DSNC_HOME", str(tmp_path))
    return tmp_path / "datasets"


def zipped(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def parts(folder):
    files = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
    return {f"{folder}/{part}.txt": content for part, content in files.items()}


DRAWS = {
    **parts("1k_class/draw_2"),
    **parts("1k_class/draw_1"),
    "1k_class/draw_2/test.txt": b"7 0:9\n",
}


def serve(server, monkeypatch, name, content, **figures):
    """Let the entry's one file come from the local server, with the figures of a tiny one."""
    [file] = DATASETS[name].files
    url = server.add(f"/{file.name}", content)
    figures = {"rows": None, "features": None, "classes": None, **figures}
    entry = dataclasses.replace(DATASETS[name], files=(RemoteFile(url, file.name),), **figures)
    monkeypatch.setitem(DATASETS, name, entry)
    return entry


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# The entries themselves


@pytest.mark.parametrize("name", DATASETS)
def test_an_entry_says_what_one_must_know(name, cache):
    entry = DATASETS[name]
    assert isinstance(entry, Entry) and entry.name == name
    assert entry.title and entry.licence and entry.homepage.startswith("http")
    assert entry.citation or entry.builtin
    assert entry.folder == cache / name
    assert "{" not in entry.instructions()
    assert str(entry.folder) in entry.instructions() or entry.builtin
    assert not entry.is_here() or entry.builtin
    for file in entry.files:
        assert file.url.endswith("/" + file.name)
        assert str(entry.folder / file.name) in entry.instructions()
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.rows = 1


def test_the_figures_are_the_papers():
    assert {name: (e.rows, e.classes) for name, e in DATASETS.items()} == {
        "glyphs": (60_000, 1000),
        "aloi": (108_000, 1000),
        "dmoz-1k": (41_846, 1000),
        "dmoz-12k": (155_775, 12_275),
        "lshtc1": (None, 12_294),
        "imagenet-resnet152": (None, 1000),
    }


@pytest.mark.parametrize("function", [fetch, load_catalog])
def test_an_unknown_name_is_told_its_neighbour(function):
    with pytest.raises(InputError, match="name='dmoz12k' is not known. Did you mean 'dmoz-12k'"):
        function("dmoz12k")


def test_importing_it_is_light():
    code = "import sys, dsnc.data.catalog; print([m for m in ('requests', 'rich', 'torch',"
    code += " 'matplotlib', 'PIL', 'sklearn') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# glyphs


def test_glyphs_are_drawn_on_the_spot(cache, monkeypatch):
    asked = []

    def draw(*options, cache):  # the real pictures are another file's tests, and take seconds
        asked.append(options)
        return Dataset.from_labels(np.zeros((6, glyphs.SIZE**2)), list("aabbcc"))

    monkeypatch.setattr(catalog, "load_glyphs", draw)
    assert fetch("glyphs") == cache / "glyphs"
    dataset = load_catalog("glyphs", n_classes=3, n_per_class=2)
    assert (dataset.name, len(dataset), asked) == ("glyphs", 6, [(3, 2, 0)])
    with pytest.warns(DsncWarning, match="6 rows instead of 60,000, 3 classes instead of 1,000"):
        load_catalog("glyphs")


def test_the_figures_of_glyphs_are_its_defaults():
    of = {p.name: p.default for p in inspect.signature(glyphs.load_glyphs).parameters.values()}
    entry = DATASETS["glyphs"]
    options = inspect.signature(entry.load).parameters.values()
    assert {option.name: option.default for option in list(options)[1:]} == of
    assert entry.rows == of["n_classes"] * of["n_per_class"]
    assert (entry.classes, entry.features) == (of["n_classes"], glyphs.SIZE**2)


def test_an_option_that_no_loader_knows_is_named():
    with pytest.raises(InputError, match="'glyphs'.*n_clases"):
        load_catalog("glyphs", n_clases=3)


def test_a_loaders_own_fault_is_not_hidden(monkeypatch):
    def load(folder):
        raise TypeError("a bug")

    monkeypatch.setitem(DATASETS, "bug", Entry("bug", "", load))
    with pytest.raises(TypeError, match="a bug"):
        load_catalog("bug")


# aloi: one compressed file


def test_aloi_is_fetched_once_and_read(server, monkeypatch, cache):
    figures = {"rows": 4, "features": 3, "classes": 3}
    serve(server, monkeypatch, "aloi", bz2.compress(ALOI), **figures)
    for _ in range(2):
        dataset = load_catalog("aloi", progress=False)
        assert dataset.name == "aloi"
        assert dataset.labels.tolist() == [0, 1, 2, 0]
        expected = [[0.5, 0, 1], [0, 0.25, 0], [1, 1, 1], [0, 0, 0.75]]
        np.testing.assert_array_equal(dataset.X.toarray(), expected)
    assert len(server.requests) == 1
    assert (cache / "aloi" / "aloi.scale.bz2").is_file()


def test_aloi_by_hand_needs_no_network(cache, monkeypatch):
    small = dataclasses.replace(DATASETS["aloi"], rows=4, features=3, classes=3)
    monkeypatch.setitem(DATASETS, "aloi", small)
    put(cache / "aloi" / "aloi.scale", ALOI)
    assert len(load_catalog("aloi")) == 4
    # The recipe for OpenML, without OpenML.
    write_folder(Dataset.from_labels(np.eye(4)[:, :3], list("abca")), cache / "aloi" / "openml")
    assert load_catalog("aloi").classes.tolist() == ["a", "b", "c"]


def test_another_number_of_rows_is_an_error_where_the_figures_are_exact(cache):
    put(cache / "aloi" / "aloi.scale", ALOI)
    with pytest.raises(DataFileError, match="4 rows instead of 108,000, 3 features instead of 128"):
        load_catalog("aloi")
    assert len(load_catalog("aloi", n_features=5)) == 4  # who sets options knows better


def test_offline_says_where_to_put_the_file_and_then_goes_on(server, monkeypatch, cache):
    entry = serve(server, monkeypatch, "aloi", b"")
    gone = dataclasses.replace(entry, files=(RemoteFile("http://127.0.0.1:1/f", "aloi.scale.bz2"),))
    monkeypatch.setitem(DATASETS, "aloi", gone)
    with pytest.raises(DownloadError, match="cannot be fetched") as caught:
        load_catalog("aloi")
    path = cache / "aloi" / "aloi.scale.bz2"
    assert f"put the file at {path} by hand, then run the same command again" in str(caught.value)
    path.write_bytes(bz2.compress(ALOI))
    assert len(load_catalog("aloi")) == 4


def test_a_source_that_has_moved_says_where_to_put_the_file(server, monkeypatch, cache):
    serve(server, monkeypatch, "dmoz-12k", b"")
    server.pages.clear()
    with pytest.raises(DownloadError, match="404") as caught:
        fetch("dmoz-12k")
    assert str(cache / "dmoz-12k" / "DMOZ12K.zip") in str(caught.value)


# dmoz: archives


def test_dmoz_12k_is_unpacked_with_its_split(server, monkeypatch, cache):
    content = zipped(parts("12k_class"))
    serve(server, monkeypatch, "dmoz-12k", content, rows=6, features=5, classes=3)
    dataset = load_catalog("dmoz-12k")
    assert {k: len(v) for k, v in dataset.splits.items()} == {
        "train": 3,
        "validation": 1,
        "test": 2,
    }
    train, validation, test = dataset.predefined_split()
    assert train.labels.tolist() == [7, 9, 11]
    assert validation.labels.tolist() == [9]
    assert test.labels.tolist() == [7, 11]
    np.testing.assert_array_equal(validation.X.toarray(), [[0, 1, 0, 0, 1]])
    visible = [p.name for p in (cache / "dmoz-12k").iterdir() if not p.name.startswith(".")]
    assert sorted(visible) == ["DMOZ12K", "DMOZ12K.zip"]
    load_catalog("dmoz-12k")
    assert len(server.requests) == 1


def test_dmoz_1k_takes_the_first_draw_or_the_one_asked_for(server, monkeypatch):
    serve(server, monkeypatch, "dmoz-1k", zipped(DRAWS), rows=6, rows_spread=1, classes=3)
    assert len(load_catalog("dmoz-1k")) == 6
    assert len(load_catalog("dmoz-1k", draw="draw_1")) == 6
    assert len(load_catalog("dmoz-1k", draw="draw_2")) == 5  # within the spread
    with pytest.raises(InputError, match="draw='draw_3' is not known.*draw_1, draw_2"):
        load_catalog("dmoz-1k", draw="draw_3")


def test_a_draw_may_be_a_number(cache):
    put(cache / "dmoz-1k" / "1k_class" / "0" / "train.txt", TRAIN)
    with pytest.warns(DsncWarning):
        assert len(load_catalog("dmoz-1k", draw=0)) == 3


def test_other_figures_than_the_papers_are_a_warning(cache):
    put(cache / "dmoz-12k" / "12k_class" / "train.txt", TRAIN)
    with pytest.warns(DsncWarning, match="3 rows instead of 155,775, 3 classes instead of 12,275"):
        dataset = load_catalog("dmoz-12k")
    assert len(dataset) == 3


def test_two_sets_of_parts_are_ambiguous(cache):
    put(cache / "lshtc1" / "Task1" / "train.txt", TRAIN)
    put(cache / "lshtc1" / "Task2" / "train.txt", TRAIN)
    with pytest.raises(DataFileError, match="several files train.txt.*Task1.*Task2"):
        load_catalog("lshtc1")


def test_an_archive_of_something_else_is_refused(server, monkeypatch):
    serve(server, monkeypatch, "dmoz-12k", zipped({"readme.txt": b"moved"}))
    for _ in range(2):
        with pytest.raises(DataFileError, match="hold no train.txt"):
            fetch("dmoz-12k")


def test_a_page_instead_of_an_archive_is_recognized(server, monkeypatch, cache):
    serve(server, monkeypatch, "dmoz-12k", b"<html>please log in</html>")
    with pytest.raises(DataFileError, match="not a readable zip archive.*delete this one"):
        fetch("dmoz-12k")
    assert not (cache / "dmoz-12k" / "DMOZ12K").exists()


# By hand only


def test_lshtc1_says_what_to_do_and_reads_what_was_done(cache):
    with pytest.raises(DownloadError, match="Register at http://lshtc.*same command") as caught:
        load_catalog("lshtc1")
    assert str(cache / "lshtc1") in str(caught.value)
    for name, content in parts("lshtc1").items():
        put(cache / name, content)
    with pytest.warns(DsncWarning, match="3 classes instead of 12,294"):
        dataset = load_catalog("lshtc1")
    assert (dataset.name, len(dataset)) == ("lshtc1", 6)


def test_imagenet_features_are_made_by_the_example(cache):
    with pytest.raises(DownloadError, match="examples/imagenet_features.py IMAGES") as caught:
        load_catalog("imagenet-resnet152")
    folder = cache / "imagenet-resnet152"
    assert str(folder) in str(caught.value)
    X = np.zeros((1000, 2048), dtype=np.float16)
    write_folder(Dataset.from_labels(X, range(1000)), folder)
    dataset = load_catalog("imagenet-resnet152")
    assert isinstance(dataset.X, np.memmap)
    assert (dataset.name, dataset.width) == ("imagenet-resnet152", 2048)


def test_what_a_killed_unpacking_left_is_not_taken_for_data(cache):
    put(cache / "dmoz-12k" / ".DMOZ12K-x1" / "12k_class" / "train.txt", b"7 0:")
    assert not DATASETS["dmoz-12k"].is_here()


def test_the_cache_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSNC_HOME", "here")
    assert DATASETS["aloi"].folder == Path(tmp_path, "here", "datasets", "aloi")
