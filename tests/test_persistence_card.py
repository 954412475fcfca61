"""The card of a model: it belongs to the folder, people may edit it, and no edit is lost."""

import errno
import os

import pytest

from dsnc.errors import ModelWriteError, OutputExistsError
from dsnc.persistence import read_model, write_model

HEADER = {"kind": "x"}


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", HEADER, {}, card="# A model\r\n\nIt works.\n")
    return tmp_path / "model"


def names(folder):
    return sorted(os.listdir(folder))


def test_a_card_as_it_was_written_is_replaced(model):
    card = model / "README.md"
    card.write_bytes(card.read_bytes().replace(b"\n", b"\r\n"))  # as version control may do
    write_model(model, HEADER, {}, card="# Another", overwrite=True)
    assert names(model) == ["README.md", "model.json", "model.safetensors"]
    assert card.read_text().startswith("# Another\n\n<!-- Written by dsnc;")
    write_model(model, HEADER, {}, overwrite=True)
    assert not card.exists()
    assert read_model(model) == (HEADER, {})


@pytest.mark.parametrize(
    "edit",
    [
        lambda content: content[: content.index(b"<!--")],
        lambda content: content.replace(b"It works", b"It works well"),
        lambda content: content + b"and one line more\n",
        lambda content: b"",
        lambda content: b"\xff\xfe",
        lambda content: content + b"x" * (1 << 21),
    ],
    ids=["without the line", "in the text", "more below it", "empty", "no text", "long"],
)
def test_a_card_that_was_edited_is_kept(model, edit):
    card = model / "README.md"
    mine = edit(card.read_bytes())
    card.write_bytes(mine)
    for text in ("# Another", None):
        write_model(model, HEADER, {}, card=text, overwrite=True)
        assert card.read_bytes() == mine
    assert names(model) == ["README.md", "model.json", "model.safetensors"]


@pytest.mark.parametrize("name", ["readme.md", "README.old.md", "README.rst", "notes.md"])
def test_other_files_are_foreign_as_ever(model, name):
    (model / name).touch()
    with pytest.raises(OutputExistsError, match="not part of a model"):
        write_model(model, HEADER, {}, overwrite=True)


def test_a_folder_that_is_called_so_is_foreign(model):
    (model / "README.md").unlink()
    (model / "README.md").mkdir()
    with pytest.raises(OutputExistsError, match=r"README\.md"):
        write_model(model, HEADER, {}, overwrite=True)


def test_a_full_disk_leaves_the_edited_card_where_it_was(model, monkeypatch):
    (model / "README.md").write_text("mine")

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dsnc.persistence.card.sync", fail)
        with pytest.raises(ModelWriteError, match="No space left"):
            write_model(model, {"kind": "new"}, {}, card="# Another", overwrite=True)
    assert (model / "README.md").read_text() == "mine"
    assert read_model(model)[0] == HEADER
    assert names(model.parent) == ["model"]


def test_half_a_surrogate_pair_becomes_an_escape(model):
    """A label may have one, from a file's name."""
    write_model(model, HEADER, {}, card="label \ud800", overwrite=True)
    assert "label \\ud800\n" in (model / "README.md").read_text()
