"""The page is one file, takes no orders from labels, and holds what the model is."""

import base64
import gzip
import hashlib
import json
import re

import numpy as np
import pytest

import dsnc
from dsnc import inspection as look
from dsnc.codes import PackedCodes
from dsnc.errors import OutputError
from dsnc.inspection.page import bundled, model_page, static_files

EVIL = "</script><script>alert('x')</script>\" & \udcff"


@pytest.fixture(scope="module")
def model():
    data = dsnc.data.make_dense_codes(n_rows=300, n_classes=10, n_features=6)
    labels = [f"{EVIL} {label}" for label in data.labels.tolist()]
    settings = {"n_bits": 8, "max_epochs": 1, "device": "cpu"}
    return dsnc.DSNCClassifier(**settings).fit(data.X, labels)


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = model_page(
        tmp_path_factory.mktemp("page") / "new" / "page.html",
        look.Atlas(model, EVIL, "v1"),
        look.model_facts(model),
        bits=[look.bit_facts(model, bit, names={0: EVIL}) for bit in range(8)],
        pairs=look.closest_pairs(model, 3),
        label=model.classes_[3],
    )
    return path.read_text(encoding="utf-8")


def held(page, name):
    """Return what a page holds under a name."""
    block = re.search(rf'<script type="application/octet-stream" id="data-{name}">(.*?)<', page)
    return gzip.decompress(base64.b64decode(block[1]))


def test_a_page_escapes_everything_and_links_nowhere(page):
    assert "alert('x')" not in re.sub(r"<title>.*?</title>", "", page)
    assert page.count("<script") == 5  # four blocks of data, and one script
    assert not re.search(r'(src|href)="(?!data:|#|openapi\.json")', page)
    assert 'name="viewport"' in page
    assert len(page) < 100_000


def test_its_policy_allows_its_own_script_and_style_and_nothing_else(page):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for tag in ('script type="module"', "style"):
        text = re.search(rf"<{tag}>(.*?)</{tag.split()[0]}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_it_holds_labels_codes_and_places(page, model):
    assert json.loads(held(page, "labels")) == model.classes_.tolist()
    words = np.frombuffer(held(page, "codes"), dtype="<u4").astype(np.uint64)
    assert PackedCodes(words[:, None], 8) == look.class_codes(model)
    assert np.frombuffer(held(page, "map"), dtype="<u2").shape == (20,)
    facts = json.loads(held(page, "facts"))
    assert (facts["model"], facts["version"], facts["classes"], facts["bits"]) == (
        EVIL,
        "v1",
        10,
        8,
    )
    assert facts["chosen"] == model.classes_[3]
    assert {"share", "set", "unset", "up", "down"} == set(facts["bit_facts"][7])
    assert {"first", "second", "distance", "likeness"} == set(facts["pairs"][0])


def test_trials_are_told(model, tmp_path):
    trial = {"decoder": "linear", "settings": {"size": 3}, "accuracy": 0.5, "nanoseconds": 1500.0}
    facts = look.model_facts(model)
    facts.trials.append(trial)
    page = model_page(tmp_path / "p.html", look.Atlas(model, "m", "v"), facts).read_text("utf-8")
    assert json.loads(held(page, "facts"))["trials"] == [["linear", "50.00 %", "1.50 µs", "size=3"]]


def test_what_is_in_the_way_is_named(model, tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        model_page(tmp_path, look.Atlas(model, "m", "v"), look.model_facts(model))


def test_all_modules_are_in_the_script_once():
    script = bundled("main.js")
    modules = [name for name in static_files() if name.endswith(".js")]
    for name in modules:
        first = static_files()[name].decode().partition("\n")[0]  # says what the module is for
        assert script.count(first) == 1
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:class|function|const|let) (\w+)", script, re.MULTILINE)
    assert len(set(names)) == len(names)
