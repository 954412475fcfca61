"""``dsnc inspect``: on a terminal, as JSON, and as a page."""

import base64
import gzip
import json
import re

import pytest


def test_parts_and_sizes(run, files):
    shown = run("inspect", files / "texts").stdout
    for line in ("kind", "encoder", "decoder", "takes almost no time", "model.safetensors"):
        assert line in shown
    record = json.loads(run("inspect", files / "vectors", "--json").stdout)
    assert (record["n_bits"], record["n_classes"], record["layers"]) == (16, 12, [[8, 16]])
    assert record["reason"] == "scoring all 12 classes takes almost no time"


def test_classes_and_bits(run, files):
    arguments = ["inspect", files / "texts", "--class", "night nurse", "--neighbors", 3]
    shown = run(*arguments, "--bit", 2, "--data", files / "train.tsv").stdout
    assert "Nearest to night nurse" in shown
    assert "pushed up by" in shown
    assert "feature" not in shown.partition("pushed up by")[2]
    record = json.loads(run(*arguments, "--bit", 2, "--json").stdout)
    assert len(record["neighbors"]) == 3
    assert record["bit"]["set_features"][0][0].startswith("feature ")
    assert "--data FILE" in run(*arguments, "--bit", 2).stderr


def test_a_page(run, files, tmp_path):
    result = run("inspect", files / "texts", "--html", "page.html", "--class", "night nurse")
    page = (tmp_path / "page.html").read_text()
    assert "page: page.html" in result.stderr
    assert "<title>texts</title>" in page
    facts = told(page)
    assert (facts["chosen"], facts["bits"], len(facts["bit_facts"])) == ("night nurse", 16, 16)
    assert facts["bit_facts"][0]["up"]


def test_a_model_without_codes_has_a_page_too(run, files, tmp_path):
    run("train", files / "train.svm", "-o", "m", "--method", "nearest_centroid")
    result = run("inspect", "m", "--html", "page.html")
    facts = told((tmp_path / "page.html").read_text())
    assert facts["no_codes"] == "A model of kind 'nearest_centroid' has no codes."
    assert facts["no_codes"] in result.stderr
    assert ["kind", "nearest_centroid"] in facts["about"]


def told(page):
    """Return the facts that a page holds."""
    block = re.search(r'id="data-facts">(.*?)<', page)
    return json.loads(gzip.decompress(base64.b64decode(block[1])))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--class", "nigth nurse"], "Did you mean 'night nurse'"),
        (["--bit", "16"], "bit 16 is not one of the codes' bits, 0 to 15"),
        (["--data", "no.tsv"], "error: --data no.tsv: does not exist. Expected a file, a folder"),
        (["--data", "nowhere"], "or a catalog name (aloi, "),
        (["--html", "."], "--html . is a folder; give the name of a file"),
    ],
)
def test_wrong_uses(run, files, arguments, message):
    assert message in run("inspect", files / "texts", *arguments, code=1).stderr


def test_names_of_numbers_are_refused(run, files):
    arguments = ["inspect", files / "vectors", "--data", files / "train.tsv"]
    assert "was not trained on texts" in run(*arguments, code=1).stderr
