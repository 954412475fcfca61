"""The documents name commands and options that exist; the site lists all of them."""

import importlib
import re
import shlex

import pytest
import typer

from dsnc.cli import app
from dsnc.cli.table_options import TABLE_OPTIONS

GROUP = typer.main.get_command(app)
TABLES = {f"--{name.replace('_', '-')}" for name in TABLE_OPTIONS} | {"--no-header"}


def commands_of(text):
    """Yield what follows dsnc in blocks of commands, and at the prompts of consoles."""
    lines = "".join(re.findall(r"```bash\n(.*?)```", text, flags=re.DOTALL)).splitlines()
    for console in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL):
        lines += re.findall(r"^\$ (.*)$", console, flags=re.MULTILINE)
    for line in lines:
        for part in line.split(" | "):
            words = shlex.split(part, comments=True)
            if words and words[0] == "dsnc":
                yield words[1:]


def find(words):
    command = GROUP
    while words and hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    return command, words


def options_of(command):
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)}


def test_commands_and_options_exist(repository):
    pages = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    shown = [words for page in pages for words in commands_of(page.read_text(encoding="utf-8"))]
    assert len(shown) > 40
    for words in shown:
        command, rest = find(words)
        used = {word for word in rest if word.startswith("-") and word != "-"}
        assert used <= options_of(command) | {"--verbose", "--quiet"}, words


@pytest.fixture
def listed(repository, monkeypatch):
    """Return what the site lists of each command."""
    monkeypatch.syspath_prepend(repository / "docs")
    page = (repository / "docs" / "cli.md").read_text(encoding="utf-8")
    made = importlib.import_module("hooks").with_options(page)
    assert made != page
    return dict(re.findall(r"^### Options of `dsnc (.+)`\n((?:(?!###).*\n)*)", made, re.MULTILINE))


def leaves(command=GROUP, name=""):
    if not hasattr(command, "commands"):
        yield name.strip(), command
    for part, each in getattr(command, "commands", {}).items():
        yield from leaves(each, f"{name} {part}")


def test_every_option_is_documented(listed):
    commands = dict(leaves())
    assert listed.keys() == commands.keys() and len(commands) > 15
    for name, command in commands.items():
        long = {option for option in options_of(command) - {"--help"} if option.startswith("--")}
        assert {option for option in long if f"`{option}`" not in listed[name]} == set(), name
        assert (
            re.findall(r"^\| [^|]+ \|\s*\|$", listed[name].partition("---")[2], re.MULTILINE) == []
        )


def test_options_of_tables_are_the_same_everywhere():
    data = GROUP.commands["data"].commands["show"]
    readers = [
        GROUP.commands[n] for n in ("train", "evaluate", "predict", "encode", "explain", "tune")
    ]
    for command in (*readers, data):
        assert options_of(command) >= TABLES, command.name
