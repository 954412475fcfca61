"""Messages of the library speak of Python's parameters; the shell prints them as its options."""

import ast
import inspect
import re

import pytest
import typer

import dsnc
from dsnc.cli import app
from dsnc.cli.commands import in_options, options_by_parameter
from dsnc.features import TextFeatures

GROUP = typer.main.get_command(app)
OPTIONS = options_by_parameter(GROUP)
NAMED = re.compile(r"(?<![\w.-])([a-z]\w*)=(?!=)")
NOT_FOR_THE_SHELL = {  # rooms that no command reaches with what a user gave
    "baselines", "codes", "cluster", "encoders", "gradients", "metrics", "paper", "pictures",
}  # fmt: skip
ONLY_PYTHON = {  # parameters that no command passes on
    "train",
    "callbacks", "codes", "image_shape", "known", "label", "memory", "multilabel", "n", "n_classes",
    "n_rows", "name", "path", "rows", "state", "text", "token_file", "vectors",
    "branching", "class_skew", "feature_noise", "cache", "estimator",
}  # fmt: skip


def parameters_of(*kinds):
    return {name for kind in kinds for name in inspect.signature(kind).parameters}


def messages(path):
    """Yield the texts in errors and warnings of a module."""
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("Error", ".at", "warn")):
            yield from (
                part.value
                for part in ast.walk(call)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )


def test_every_parameter_that_a_message_names_has_an_option_or_a_setting(repository):
    settings = parameters_of(dsnc.DSNCClassifier, dsnc.DSNCMultiLabelClassifier, TextFeatures)
    known = set(OPTIONS) | settings | ONLY_PYTHON
    source = repository / "src" / "dsnc"
    strange = {
        (name, str(path.relative_to(source)))
        for path in source.rglob("*.py")
        if path.relative_to(source).parts[0] not in NOT_FOR_THE_SHELL
        for message in messages(path)
        for name in NAMED.findall(message)
        if name not in known
    }
    assert strange == set()


def test_messages_of_the_library_name_no_option(repository):
    source = repository / "src" / "dsnc"
    found = {
        (option, str(path.relative_to(source)))
        for path in source.rglob("*.py")
        if path.relative_to(source).parts[0] not in ("cli", "cluster", "serve")
        for message in messages(path)
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", message)
    }
    assert found == set()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("name it with reader=", "name it with --reader"),
        ("name another with encoding=.", "name another with --encoding."),
        ("reader='svm' is not known.", "--reader 'svm' is not known."),
        ("n_bits=1000 with 3 classes", "--bits 1000 with 3 classes"),
        ("beta=-1.5; or gamma=2.", "--beta -1.5; or --gamma 2."),
        ("replace it with overwrite=True.", "replace it with --force."),
        ("with header=False, or header=True:", "with --no-header, or --header:"),
        ("k=99 must be from 1 to 12", "--top-k 99 must be from 1 to 12"),
        ("schedule='round' is not known", "schedule='round' is not known"),
        ("run.toml: [train] data=3 is not text", "run.toml: [train] data=3 is not text"),
        ("line 3: 'reader=x, k=2' is no number", "line 3: 'reader=x, k=2' is no number"),
        ("the model's n_bits=8 and 'k=2'", "the model's --bits 8 and 'k=2'"),
    ],
)
def test_parameters_become_options(said, expected):
    assert in_options(said, GROUP) == expected


@pytest.mark.parametrize(
    ("asked", "said", "expected"),
    [
        ("inspect", "label='a' is no class", "--class 'a' is no class"),
        ("predict", "label='a' is no class", "label='a' is no class"),
        ("predict", "n_jobs=0; or n_bits=3", "--jobs 0; or n_bits=3"),
        ("train", "n_jobs=0; or n_bits=3", "--jobs 0; or --bits 3"),
        ("tune", "random_state=-1 is not a seed", "--seed -1 is not a seed"),
        ("serve", "replace it with overwrite=True", "replace it with overwrite=True"),
    ],
)
def test_a_command_has_options_of_its_own(asked, said, expected):
    assert in_options(said, GROUP.commands[asked]) == expected


FILES = {
    "latin.csv": "label,text\nä,öl\nb,c d\n".encode("latin-1"),
    "binary": b"PK\x03\x04\xff\x00" * 9,
    "bare.csv": b"a b c,d e f,x\nb b c,e e f,y\n",
    "three.csv": b"Code,Kind,Title\na1,k1,a title\na2,k2,other\n",
    "gaps.csv": b"label,a,b\nx,1,2\ny,,3\n",
    "zero.svm": b"1 0:1\n2 1:1\n",
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "command",
    [
        ["train", "FILE", "-o", "m"],
        ["train", "FILE", "-o", "m", "--label-column", "Nothing"],
        ["data", "show", "FILE"],
        ["evaluate", "MODEL", "FILE", "--text-column", "9"],
        ["predict", "MODEL", "FILE", "--missing", "never", "--top-k", "99"],
        ["classes", "add", "MODEL", "FILE", "--text-column", "None"],
        ["tune", "FILE", "--set", "max_epochs=0"],
    ],
    ids=" ".join,
)
def test_what_is_said_of_bad_input_can_be_typed(run, files, tmp_path, command, name):
    (tmp_path / name).write_bytes(FILES[name])
    words = [{"FILE": name, "MODEL": str(files / "texts")}.get(word, word) for word in command]
    asked = GROUP.commands[command[0]]
    asked = getattr(asked, "commands", {}).get(command[1], asked)
    own = options_by_parameter(asked).values()
    said = run(*words, code=None).stderr
    typed = "|".join(map(re.escape, command))  # may be said again
    assert not NAMED.search(re.sub(rf"{typed}|NAME=VALUE|'[^']*'", "", said)), said
    assert "--no-option" not in said
    for option in re.findall(r"(?<![\w-])--[a-z][\w-]+", said):
        assert any(option in names for names in own), said
