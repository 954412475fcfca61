"""Explanations for people: lines, and a page that takes no orders from texts and labels."""

import json
import re
import sys

import numpy as np
import pytest

from dsnc.errors import MissingExtraError, OutputError
from dsnc.explanation import explain, explanation_page, words
from dsnc.explanation.result import Bit, Candidate, Explanation, Term
from made_predictors import LABELS, make, rows

EVIL = "<script>alert('x')</script>\" & \udcff"


@pytest.fixture
def evil():
    candidates = Candidate(EVIL, 2.0, 1.0, 2.5, 0.7, True), Candidate("b", 1.0, 0.0, 1.0, 0.2, True)
    terms = Term(EVIL, "feature", 1.0, 0.75, 3), Term("bias of the bits", "other", -0.25)
    bits = Bit(0, True, 0.55, 0.5), Bit(1, False, 0.99, -0.25)
    marks = tuple(np.linspace(-1, 1, len(EVIL)).tolist())
    return Explanation(EVIL, "b", 0.7, 1.5, "10", bits, candidates, terms, EVIL, marks)


def test_a_page_escapes_everything_and_links_only_within(evil, tmp_path):
    predictor, rng = make("shortlist of one", "mlp")
    others = explain(predictor, rows(rng), LABELS)
    path = explanation_page(tmp_path / "new" / "page.html", [evil, *others], title=EVIL)
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;" in page
    assert not re.search(r'https?://|src=|href="[^#]', page)
    assert page.count("<section") == 7
    assert 'class="for shade4"' in page
    assert 'class="against shade4"' in page
    assert "bit 0: 55.0 % sure, adds +0.500" in page


def test_what_is_in_the_way_is_named(evil, tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="cannot be written"):
        explanation_page(tmp_path, [evil])
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"dsnc\[report\]"):
        explanation_page(tmp_path / "p.html", [evil])


def test_lines(evil):
    lines = str(evil).splitlines()
    assert lines[0].endswith("70.0 %, then b, 20.0 %: ahead by 1.5")
    assert lines[1] == "decided by code and features"
    assert lines[2] == "code 10; least sure: bit 0 (55.0 %)"
    assert lines[-1] == "+1.500       +0.750        +0.750  total"
    assert evil.second_stage


def test_what_is_not_shown_is_summed_up():
    predictor, rng = make("soft", "linear", "no")
    found = explain(predictor, rows(rng), LABELS)[0]
    columns, cells = words.term_table(found, 1)
    assert columns == ["adds", "term"]
    assert "other features" in cells[2][1]
    shown = sum(float(row[0]) for row in cells[:-1])
    assert shown == pytest.approx(float(cells[-1][0]), abs=0.01)
    assert float(cells[-1][0]) == pytest.approx(found.lead, abs=0.001)


def test_a_runner_up_that_is_no_candidate_is_said_to_be_none():
    said = set()
    for seed in range(6):
        predictor, rng = make("shortlist of one", seed=seed)
        for found in explain(predictor, rows(rng), LABELS):
            line = words.headline(found)
            assert "the only candidate" in line
            said.add("behind" if found.lead >= 0 else "ahead")
            assert f"would be {'behind' if found.lead >= 0 else 'ahead'} by" in line
    assert said == {"behind", "ahead"}


def test_json_holds_everything(evil):
    plain = json.loads(json.dumps(evil.as_dict()))
    assert plain["terms"][0]["value"] == 1.75
    assert plain["candidates"][1]["margin"] == 0.0
    assert plain["bits"][0] == {"number": 0, "is_set": True, "sureness": 0.55, "part": 0.5}
    assert plain["second_stage"] is True
