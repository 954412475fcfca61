"""Settings of a run: what beats what, what is refused, and a file that can be read again."""

import pytest

from dsnc.cli.config import (
    Config,
    config_text,
    read_config,
    seconds_of,
    set_options,
    set_parameters,
)
from dsnc.errors import InputError


def test_what_is_written_can_be_read(tmp_path):
    model = {"gradient": {"name": "relaxed", "temperature": 0.5}, "hidden": [32, 16], "beta": 1e-7}
    text = {"words": [], "characters": [2, 4], "lowercase": False}
    config = Config({"data": 'quote " and \\ and ü 🐝'}, {"text_column": ["a", "b"]}, model, text)
    (tmp_path / "run.toml").write_text(config_text(config), encoding="utf-8")
    back = read_config(tmp_path / "run.toml")
    assert back == config
    settings = back.make_model().text
    assert (settings["words"], settings["characters"]) == (None, (2, 4))


def test_options_beat_the_file_and_the_file_beats_defaults(tmp_path):
    (tmp_path / "run.toml").write_text("[model]\nn_bits = 24\nmax_epochs = 7\n[text]\nwords=[1,1]")
    config = read_config(tmp_path / "run.toml")
    set_options(config, {"n_bits": 40, "learning_rate": ".5", "time_limit": "2m"})
    set_parameters(config, ["text.characters=[]", "scaling=none"])
    model = config.make_model()
    assert (model.n_bits, model.max_epochs, model.learning_rate) == (40, 7, 0.5)
    assert (model.time_limit, model.scaling, model.batch_size) == (120, "none", "auto")
    assert model.text == {"words": (1, 1), "characters": None}
    of_mlp = Config({"method": "mlp"})
    set_options(of_mlp, {"n_bits": 40})
    assert of_mlp.make_model().n_units == 40


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
    assert message in run("train", "--config", "run.toml", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config", "no.toml"], "no.toml: cannot be read"),
        (["--set", "n_bits"], "has no value"),
        (["--set", "n_bits="], "has no value"),
        (["--set", "n_bit=3"], "Did you mean 'n_bits'"),
        (["--set", "text.word=3"], "Did you mean 'words'"),
        (["--method", "one_vs_rest", "--bits", "3"], "--bits does not apply to method"),
        (["--learning-rate", "fast"], "--learning-rate 'fast' must be a number above 0"),
        (["--batch-size", "1.5"], "--batch-size 1.5 must be a whole number"),
        (["--time-limit", "soon"], "'soon' is not a time"),
    ],
)
def test_options_that_mean_nothing_are_refused(run, arguments, message):
    assert message in run("train", "a.svm", "-o", "m", *arguments, code=1).stderr


@pytest.mark.parametrize(
    ("text", "seconds"), [("600", 600), ("90s", 90), ("10m", 600), ("1.5h", 5400), (" 2 min", 120)]
)
def test_times(text, seconds):
    assert seconds_of(text) == seconds
    with pytest.raises(InputError, match="is not a time"):
        seconds_of(f"-{text}")
