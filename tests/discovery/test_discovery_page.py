"""Proposed classes as a page."""

import numpy as np
import pytest

from dsnc.discovery import Discovery, ProposedClass, discovery_page

pytest.importorskip("jinja2")


def test_a_page(tmp_path):
    classes = [
        ProposedClass(
            "new class <1>", np.arange(30), 0.875, 0.5, ["mig & tig"], [("cook", 0.25)], ["a <b>"]
        ),
        ProposedClass("new class 2", np.arange(30, 33), 0.5, 1.0, [], [], []),
    ]
    page = discovery_page(tmp_path / "p.html", Discovery(classes, 50, 20), title="Rows")
    text = page.read_text()
    assert "new class &lt;1&gt;" in text
    assert "a &lt;b&gt;" in text
    assert "mig &amp; tig" in text
    assert "2 proposed classes of 33 rows; 20 of 50 rows are novel" in text
    assert "19, 20 ..." in text
    assert "31, 32, 33<" in text
    assert "<script" not in text
