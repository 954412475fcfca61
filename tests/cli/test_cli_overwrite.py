"""No command replaces a file or a model that it was not told to replace."""

import pytest

COMMANDS = {  # what to run, and what it writes
    "predict lines": (["predict", "texts", "rows.txt", "-o", "out"], "out"),
    "predict a table": (["predict", "texts", "test.tsv", "-o", "out"], "out"),
    "predict over its input": (["predict", "texts", "test.tsv", "-o", "test.tsv"], "test.tsv"),
    "encode": (["encode", "texts", "rows.txt", "-o", "out"], "out"),
    "encode arrays": (["encode", "texts", "rows.txt", "-o", "out.npy"], "out.npy"),
    "explain": (["explain", "texts", "nurse", "--html", "out"], "out"),
    "inspect": (["inspect", "texts", "--html", "out"], "out"),
    "evaluate": (["evaluate", "texts", "test.tsv", "--predictions", "out.csv"], "out.csv"),
    "per class": (["evaluate", "texts", "test.tsv", "--per-class", "out.csv"], "out.csv"),
    "discover": (["classes", "discover", "texts", "rows.txt", "-o", "out.csv"], "out.csv"),
    "show": (["data", "show", "glyphs", "--picture", "out.png"], "out.png"),
    "tune": (["tune", "test.tsv", "-o", "out"], "out"),
    "report": (["report", "runs", "-o", "out"], "out"),
}
MODELS = [
    ["train", "test.tsv", "-o", "model"],
    ["classes", "add", "texts", "test.tsv", "-o", "model"],
    ["classes", "describe", "texts", "described.csv", "-o", "model"],
    ["classes", "remove", "texts", "night nurse", "-o", "model"],
]


@pytest.fixture
def folder(files, tmp_path):
    (tmp_path / "texts").symlink_to(files / "texts")
    (tmp_path / "test.tsv").write_bytes((files / "test.tsv").read_bytes())
    (tmp_path / "rows.txt").write_text("night nurse\nbus driver\n")
    (tmp_path / "described.csv").write_text("label,text\nambulance,truck driver\n")
    (tmp_path / "runs").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_is_replaced_only_by_force(run, folder, name):
    arguments, written = COMMANDS[name]
    file = folder / written
    before = file.read_bytes() if file.exists() else b"mine"
    file.write_bytes(before)
    said = run(*arguments, code=1).stderr
    assert f"{written} exists; choose another name, or replace it with --force" in said
    assert file.read_bytes() == before
    if arguments[0] in ("predict", "encode", "explain", "evaluate"):
        run(*arguments, "--force")
        assert file.read_bytes() != before


@pytest.mark.parametrize("arguments", MODELS, ids=lambda arguments: arguments[1])
def test_a_model_is_replaced_only_by_force(run, folder, arguments):
    (folder / "model").mkdir()
    (folder / "model" / "model.json").write_text("mine")
    said = run(*arguments, code=1).stderr
    assert "model exists; choose another folder, or replace it with --force" in said
    assert (folder / "model" / "model.json").read_text() == "mine"
    if arguments[0] == "classes":
        run(*arguments, "--force")
        assert (folder / "model" / "model.json").read_text() != "mine"
