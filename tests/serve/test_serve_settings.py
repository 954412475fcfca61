"""What a service is told: checked before it starts."""

from pathlib import Path

import pytest

from dsnc.errors import InputError
from dsnc.serve.options import Options, from_address, options_of
from dsnc.serve.packing import wants_gzip
from dsnc.serve.settings import ServeSettings, named_models, read_tokens

MODELS = {"m": Path("m")}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"models": {}}, "models is empty"),
        ({"port": 70_000}, "port=70000 must be a whole number from 0 to 65535"),
        ({"workers": 0}, "workers=0 must be"),
        ({"max_body": 0}, "max_body=0 must be"),
        ({"max_rows": 1.5}, "max_rows=1.5 must be"),
        ({"max_seconds": 0}, "max_seconds=0 must be a number above 0"),
        ({"max_in_flight": -1}, "max_in_flight=-1 must be"),
    ],
)
def test_wrong_settings(wrong, message):
    with pytest.raises(InputError, match=message):
        ServeSettings(**{"models": MODELS} | wrong)


def test_tokens_are_not_shown_and_let_in(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# a comment\n\n  0123456789abcdef  \nfedcba9876543210\n")
    settings = ServeSettings(models=MODELS, tokens=read_tokens(file))
    assert settings.tokens == ("0123456789abcdef", "fedcba9876543210")
    assert "0123" not in repr(settings)
    assert settings.lets_in("Bearer 0123456789abcdef") and settings.lets_in(
        "bearer fedcba9876543210"
    )
    assert not settings.lets_in("Bearer # a comment") and not settings.lets_in("")
    assert ServeSettings(models=MODELS).lets_in("")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no token"),
        (b"short", "fewer than 16"),
        (b"\xff" * 20, "not UTF-8"),
        (None, "No such"),
    ],
)
def test_wrong_token_files_are_named_and_not_shown(tmp_path, content, message):
    file = tmp_path / "tokens"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read_tokens(file)
    assert str(file) in str(error.value) and "short" not in str(error.value)


def test_models_are_named_after_their_folders(tmp_path, monkeypatch):
    (tmp_path / "jobs").mkdir()
    monkeypatch.chdir(tmp_path / "jobs")
    assert named_models([".", "../x/"]) == {"jobs": tmp_path / "jobs", "x": tmp_path / "x"}
    with pytest.raises(InputError, match="are both called 'jobs'.*rename one"):
        named_models([".", "elsewhere/jobs"])


def test_options():
    assert options_of({}) == Options()
    address = from_address({"top_k": "5", "probabilities": "TRUE", "explain": "3"})
    assert options_of(address) == Options(5, True, 3)
    assert options_of(from_address({"explain": "false"})) == Options()
    assert options_of(from_address({"top_k": "1"})).top_k == 1  # and not True


@pytest.mark.parametrize(
    ("accepted", "wanted"),
    [("", False), ("gzip", True), ("br, GZIP;q=0.1", True), ("gzip;q=0", False), ("*", True)]
    + [("identity", False), ("gzip; q=0.000", False), ("x-gzip-like", False)],
)
def test_who_takes_gzip(accepted, wanted):
    assert wants_gzip(accepted) is wanted
