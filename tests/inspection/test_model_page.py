"""The page is whole, small, and takes no orders from labels."""

import re
import sys

import pytest

import dsnc
from dsnc import inspection as look
from dsnc.errors import MissingExtraError, OutputError
from dsnc.inspection.page import model_page

EVIL = "<script>alert('x')</script>\" & \udcff"


@pytest.fixture(scope="module")
def model():
    data = dsnc.data.make_dense_codes(n_rows=300, n_classes=10, n_features=6)
    labels = [f"{EVIL} {label}" for label in data.labels.tolist()]
    settings = {"n_bits": 8, "max_epochs": 1, "device": "cpu"}
    return dsnc.DSNCClassifier(**settings).fit(data.X, labels)


def test_a_page_escapes_everything_and_links_nowhere(model, tmp_path):
    label = model.classes_[0]
    path = model_page(
        tmp_path / "new" / "page.html",
        look.model_facts(model),
        title=EVIL,
        bits=[look.bit_facts(model, bit, names={0: EVIL}) for bit in range(8)],
        pairs=look.closest_pairs(model, 3),
        label=label,
        neighbors=look.nearest_classes(model, label, 3),
    )
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"https?://|src=|href=", page)
    assert 'name="viewport"' in page
    assert len(page) < 100_000


def test_trials_are_shown(model, tmp_path):
    trial = {"decoder": "linear", "settings": {"size": 3}, "accuracy": 0.5, "nanoseconds": 1500.0}
    facts = look.model_facts(model)
    facts.trials.append(trial)
    page = model_page(tmp_path / "p.html", facts, title="m").read_text(encoding="utf-8")
    assert "50.00 %" in page
    assert "size=3" in page
    assert "What the bits separate" not in page


def test_what_is_in_the_way_is_named(model, tmp_path, monkeypatch):
    with pytest.raises(OutputError, match="cannot be written"):
        model_page(tmp_path, look.model_facts(model), title="m")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"dsnc\[report\]"):
        model_page(tmp_path / "p.html", look.model_facts(model), title="m")
