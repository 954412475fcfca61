"""What a service is told: checked before it starts."""

import tempfile
from pathlib import Path

import pytest

from dsnc.errors import InputError
from dsnc.serve.limits import Refused
from dsnc.serve.options import Options, from_address
from dsnc.serve.packing import wants_gzip
from dsnc.serve.run import serve
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
        ({"max_answers": 0}, "max_answers=0 must be"),
        ({"drain": -1}, "drain=-1 must be"),
        ({"tokens": {"t" * 20: "all"}}, "tokens='all' is not known"),
        ({"max_seconds": 0}, "max_seconds=0 must be a number above 0"),
        ({"max_in_flight": -1}, "max_in_flight=-1 must be"),
    ],
)
def test_wrong_settings(wrong, message):
    with pytest.raises(InputError, match=message):
        ServeSettings(**{"models": MODELS} | wrong)


def test_tokens_are_not_shown_and_let_in(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# a comment\n\n  0123456789abcdef  \nfedcba9876543210 predict\n")
    settings = ServeSettings(models=MODELS, tokens=read_tokens(file))
    assert settings.tokens == {"0123456789abcdef": "change", "fedcba9876543210": "predict"}
    assert "0123" not in repr(settings)
    assert settings.role_of("Bearer 0123456789abcdef") == "change"
    assert settings.role_of("bearer fedcba9876543210") == "predict"
    assert settings.role_of("Bearer # a comment") is settings.role_of("") is None
    assert settings.role_of("Basic 0123456789abcdef") is None
    assert ServeSettings(models=MODELS).role_of("") == "predict"


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
    found = from_address({"top_k": "5", "probabilities": "TRUE", "explain": "3"}, Options)
    assert found == Options(top_k=5, probabilities=True, explain=3)
    assert from_address({"explain": "false"}, Options) == Options()
    assert from_address({"probabilities": "1"}, Options) == Options(probabilities=True)
    assert from_address({"top_k": "1"}, Options).top_k == 1  # and not True


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"top_k": "1.0"}, "top_k='1.0': Expected int"),
        ({"top_k": "1e3"}, "top_k='1e3': Expected int"),
        ({"top_k": "9" * 40}, "top_k='9{40}': Expected int"),
        ({"top_k": ""}, "top_k='': Expected int"),
        ({"explain": "2.0"}, "explain='2.0': Expected int"),
        ({"probabilities": "maybe"}, "probabilities='maybe': Expected bool"),
        ({"probabilities": "2"}, "probabilities='2': Expected bool"),
        ({"reject_below": "nan"}, "reject_below='nan': Expected float"),
    ],
)
def test_wrong_options_of_an_address(query, message):
    with pytest.raises(Refused, match=message):
        from_address(query, Options)


@pytest.mark.parametrize(
    ("accepted", "wanted"),
    [("", False), ("gzip", True), ("br, GZIP;q=0.1", True), ("gzip;q=0", False), ("*", True)]
    + [("identity", False), ("gzip; q=0.000", False), ("x-gzip-like", False)],
)
def test_who_takes_gzip(accepted, wanted):
    assert wants_gzip(accepted) is wanted


def test_a_service_without_a_folder_for_temporary_files_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    monkeypatch.setenv("TMPDIR", "/missing")
    with pytest.raises(InputError, match="TMPDIR='/missing': no folder for temporary files"):
        serve(ServeSettings(models=MODELS))
