"""Settings of a run: what beats what, what is refused, and a file that says it all."""

import pytest

from dsnc.cli.config import Config, print_config, read_config, seconds_of
from dsnc.cli.methods import METHODS, help_of, kind_of
from dsnc.errors import InputError


@pytest.mark.parametrize("method", METHODS)
def test_what_is_printed_can_be_read(tmp_path, method):
    text = print_config(Config(train={"method": method, "data": "a b.tsv"}))
    (tmp_path / "run.toml").write_text(text, encoding="utf-8")
    config = read_config(tmp_path / "run.toml")
    assert print_config(config) == text
    assert kind_of(method)(**config.estimator_parameters()).get_params() == {
        **kind_of(method)().get_params(),
        **config.estimator_parameters(),
    }


def test_values_of_all_kinds_come_back(tmp_path):
    model = {"gradient": {"name": "relaxed", "temperature": 0.5}, "hidden": [32, 16], "beta": 1e-7}
    text = {"words": [], "characters": [2, 4], "lowercase": False}
    config = Config({"data": 'quote " and \\ and ü'}, {"text_column": ["a", "b"]}, model, text)
    (tmp_path / "run.toml").write_text(print_config(config), encoding="utf-8")
    back = read_config(tmp_path / "run.toml")
    assert back.train["data"] == config.train["data"]
    assert back.table == config.table
    assert back.model.items() >= model.items()
    assert back.text.items() >= text.items()
    assert back.text_settings()["words"] is None
    assert back.text_settings()["characters"] == (2, 4)


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_is_explained(method):
    described = help_of(kind_of(method))
    left = {"callbacks", "checkpoint", "verbose", "text"}
    assert [name for name, text in described.items() if not text and name not in left] == []


def test_options_beat_the_file_and_the_file_beats_defaults(run, tmp_path):
    (tmp_path / "run.toml").write_text("[model]\nn_bits = 24\nmax_epochs = 7\n[text]\nwords=[1,1]")
    arguments = ["--config", "run.toml", "--bits", "40", "--set", "text.characters=[]"]
    text = run("train", *arguments, "--print-config").stdout
    for line in ("n_bits = 40", "max_epochs = 7", "words = [1, 1]", "characters = []"):
        assert f"\n{line}\n" in text
    assert '\ndecoder = "auto"\n' in text
    (tmp_path / "again.toml").write_text(text)
    assert run("train", "--config", "again.toml", "--print-config").stdout == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nn_bit = 3", "n_bit' is not known. Did you mean 'n_bits'"),
        ("[modle]\nn_bits = 3", "run.toml: table='modle' is not known. Did you mean 'model'"),
        ("[train]\ndate = 'a'", "Did you mean 'data'"),
        ("[text]\nword = [1, 1]", "Did you mean 'words'"),
        ("[train]\nmethod = 'dnsc'", "Did you mean 'dsnc'"),
        ("[train]\ndata = 3", "data = 3 is not text"),
        ("model = 3", "write a table [model]"),
        ("[model", "is not TOML"),
        ("\udcff", "is not TOML"),
    ],
)
def test_a_file_that_means_nothing_is_refused(run, tmp_path, text, message):
    (tmp_path / "run.toml").write_bytes(text.encode(errors="surrogateescape"))
    assert message in run("train", "--config", "run.toml", "--print-config", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "no.toml"], "no.toml: cannot be read"),
        (["--set", "n_bits"], "has no value"),
        (["--set", "n_bit=3"], "Did you mean 'n_bits'"),
        (["--set", "text.word=3"], "Did you mean 'words'"),
        (
            ["--method", "one_vs_rest", "--bits", "3"],
            "--bits does not apply to method",
        ),
        (["--learning-rate", "fast"], "--learning-rate 'fast' is neither a number nor auto"),
        (["--batch-size", "1.5"], "neither a whole number nor auto"),
        (["--time-limit", "soon"], "'soon' is not a time"),
    ],
)
def test_options_that_mean_nothing_are_refused(run, arguments, message):
    assert message in run("train", *arguments, "--print-config", code=1).stderr


@pytest.mark.parametrize(
    ("text", "seconds"), [("600", 600), ("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 min", 120)]
)
def test_times(text, seconds):
    assert seconds_of(text) == seconds
    with pytest.raises(InputError, match="is not a time"):
        seconds_of(f"-{text}")
