"""The card of a model: it belongs to the folder, people may edit it, and no edit is lost."""

import errno
import os

import pytest

from dsnc.errors import ModelWriteError, OutputExistsError
from dsnc.persistence import adopt_model, card_facts, read_model, sealed, write_model

HEADER = {"kind": "x"}
CARD = sealed("# A model\n\nIt -> works.", {"date": "2030-01-01", "data": {"train": "a-->b.tsv"}})


@pytest.fixture
def model(tmp_path):
    write_model(tmp_path / "model", HEADER, {}, card=CARD)
    return tmp_path / "model"


def names(folder):
    return sorted(os.listdir(folder))


def edit(model, text):
    card = model / "README.md"
    card.write_text(card.read_text().replace("works", text))
    return card.read_text()


def test_what_the_last_line_says(model):
    assert CARD.splitlines()[-1].count("-->") == 1
    facts = {"date": "2030-01-01", "data": {"train": "a-->b.tsv"}}
    assert card_facts(model) == {**facts, "edited": False}
    edit(model, "breaks")
    assert card_facts(model) == {**facts, "edited": True}
    assert read_model(model) == (HEADER, {})
    (model / "README.md").unlink()
    assert card_facts(model) is None
    assert read_model(model) == (HEADER, {})


def test_ends_of_lines_are_no_edit(model):
    (model / "README.md").write_bytes(CARD.replace("\n", "\r\n").encode())
    assert not card_facts(model)["edited"]


def test_a_card_as_it_was_written_is_replaced(model):
    write_model(model, HEADER, {}, card=CARD.replace("works", "x"), overwrite=True)
    assert names(model) == ["README.md", "model.json", "model.safetensors"]
    assert "-> x" in (model / "README.md").read_text()


def test_no_edit_is_ever_lost(model):
    edited = edit(model, "is mine")
    for card in (CARD, None):
        write_model(model, HEADER, {}, card=card, overwrite=True)
        assert (model / "README.md").read_text() == edited
    assert names(model) == ["README.md", "model.json", "model.safetensors"]


def test_a_kept_card_does_not_change_the_model_that_was_adopted(model, tmp_path):
    write_model(tmp_path / "source", HEADER, {}, card=CARD)
    edited = edit(model, "is mine")
    adopt_model(tmp_path / "source", model)
    assert (model / "README.md").read_text() == edited
    assert (tmp_path / "source" / "README.md").read_text() == CARD


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"mine\n",
        b"\xff\xfe",
        b"mine\n<!-- dsnc: {} -->",
        b"mine\n<!-- dsnc: {nonsense} -->",
        b'mine\n<!-- dsnc: {"sha256": 3} -->\n',
        b"<!-- dsnc: " + b'{"a":' * 20_000 + b"}" * 20_000 + b" -->",
        CARD.encode() + b"and one line more\n",
        b"x" * (1 << 21) + CARD.encode(),
    ],
    ids=range(9),
)
def test_any_other_card_is_a_persons(model, content):
    (model / "README.md").write_bytes(content)
    assert card_facts(model)["edited"]
    write_model(model, HEADER, {}, card=CARD, overwrite=True)
    assert (model / "README.md").read_bytes() == content


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
    assert card_facts(model) is None


def test_a_full_disk_leaves_the_edited_card_where_it_was(model, monkeypatch):
    edited = edit(model, "is mine")

    def fail(*arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("dsnc.persistence.card.sync", fail)
        with pytest.raises(ModelWriteError, match="No space left"):
            write_model(model, {"kind": "new"}, {}, card=CARD, overwrite=True)
    assert (model / "README.md").read_text() == edited
    assert read_model(model)[0] == HEADER
    assert names(model.parent) == ["model"]


def test_half_a_surrogate_pair_becomes_an_escape(model):
    """A label may have one, from a file's name."""
    card = sealed("label \ud800", {"date": "today"})
    assert "label \\ud800" in card
    write_model(model, {"kind": "x"}, {}, card=card, overwrite=True)
    assert card_facts(model) == {"date": "today", "edited": False}
