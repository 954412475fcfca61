import pickle
import time

import pytest

from dsnc import errors
from dsnc.errors import (
    DataFileError,
    DsncError,
    MissingExtraError,
    did_you_mean,
    require,
    shorten,
    unknown_name,
)

FAMILY = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, DsncError) and kind is not DsncError
]


@pytest.mark.parametrize("kind", FAMILY)
def test_every_error_is_also_a_built_in_kind(kind):
    assert issubclass(kind, ValueError | OSError | ImportError)


def test_the_message_of_a_bad_file_has_all_parts():
    error = DataFileError.at("rows.svm", "is bad", line=7, text="x" * 100, expected="a number")
    assert str(error) == (
        f"rows.svm, line 7: is bad: {'x' * 60!r}... (100 characters). Expected a number"
    )
    assert (error.path.name, error.line) == ("rows.svm", 7)


def test_a_bad_file_survives_a_process_border():
    error = pickle.loads(pickle.dumps(DataFileError.at("rows.svm", "is bad", line=7)))
    assert (str(error), error.line) == ("rows.svm, line 7: is bad", 7)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("short", "'short'"), (b"\xff", "b'\\xff'"), (b"a" * 70, f"b'{'a' * 60}'... (70 bytes)")],
)
def test_offending_text_is_quoted_and_cut(text, shown):
    assert shorten(text) == shown


def test_an_unknown_name_comes_with_the_nearest():
    message = str(unknown_name("decoder", "tabel", ["table", "linear"]))
    assert message == "decoder='tabel' is not known. Did you mean 'table'? Valid: linear, table."
    assert "Did you mean" not in str(unknown_name("decoder", "zzz", ["table"]))


def test_a_missing_extra_is_named_with_the_pip_line():
    assert require("json", extra="report", caller="load_x").__name__ == "json"
    with pytest.raises(
        MissingExtraError, match=r"load_x needs 'nowhere'.*pip install 'dsnc\[report\]'"
    ):
        require("nowhere.at.all", extra="report", caller="load_x")


def test_a_name_of_any_length_is_compared_in_no_time():
    start = time.perf_counter()
    assert did_you_mean("linaer" * 10**6, ["linear"]) == ""
    assert time.perf_counter() - start < 0.2
