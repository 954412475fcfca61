"""What ``--ray`` refuses before a cluster is looked for."""

import pytest

from dsnc.cli.cluster import address_of


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--ray", "auto"), "name it with -o FOLDER"),
        (("--ray", "auto", "-o", "out", "--json"), "--json is for lines"),
        (("--ray", "auto", "-o", "out", "--first-index", 1), "--first-index is for lines"),
        (("--workers", 2), "--workers 2 is for a cluster"),
        (("--ray", "nowhere", "-o", "out"), "--ray 'nowhere' is not an address"),
    ],
)
def test_predict(run, files, options, problem, tmp_path):
    assert problem in run("predict", files / "texts", files / "test.tsv", *options, code=1).stderr
    assert not (tmp_path / "out").exists()


def test_train(run, files):
    told = ("train", files / "train.tsv", "-o", "new", "--workers", 2)
    assert "--workers 2 is for a cluster" in run(*told, code=1).stderr
    told = ("train", files / "train.tsv", "-o", "new", "--validation", "x", "--ray", "auto")
    assert (
        "--validation does not work with --ray, which holds out a share"
        in run(*told, code=1).stderr
    )


def test_addresses_keep_their_slashes(tmp_path):
    assert address_of(tmp_path) == str(tmp_path)
    assert address_of(type(tmp_path)("s3://bucket/rows")) == "s3://bucket/rows"
