"""The page is whole, small, and takes no orders from labels."""

import re

import numpy as np

from dsnc.labels import object_array
from dsnc.metrics import calibration_bins, class_scores, confused_pairs
from dsnc.pictures.evaluation import evaluation_page

EVIL = "<script>alert('x')</script>\" & \udcff"


def page_of(tmp_path, y, predicted, title="m"):
    confidence = np.linspace(0, 1, len(y))
    path = evaluation_page(
        tmp_path / "new" / "page.html",
        title=title,
        figures=[("accuracy", "50.00 %")],
        bins=calibration_bins(y == predicted, confidence),
        scores=class_scores(y, predicted),
        pairs=confused_pairs(y, predicted),
    )
    return path.read_text(encoding="utf-8")


def test_a_page_escapes_everything_and_links_nowhere(tmp_path):
    y = object_array([f"{EVIL} {number % 5}" for number in range(20)])
    page = page_of(tmp_path, y, np.roll(y, 1), title=EVIL)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert not re.search(r"https?://|src=|href=\"[^#]", page)
    assert "Reliability diagram" in page
    assert "of 5 classes" not in page
    assert len(page) < 100_000


def test_many_classes_are_cut_with_a_note_the_worst_first(tmp_path):
    y = np.repeat(np.arange(1000), 2)
    predicted = y.copy()
    predicted[:1200:2] += 1  # classes 0 to 599 have one right row of two
    page = page_of(tmp_path, y, predicted)
    assert "These are 200 of 1,000 classes" in page
    assert "These are the 50 most frequent of 600" in page
    table = page.partition('id="classes"')[2].partition("</table>")[0]
    scores = [float(cell) for cell in re.findall(r"<td>([0-9.]+)</td>", table)][2::5]
    assert len(scores) == 200 and scores == sorted(scores) and scores[0] < 1
    assert len(page) < 100_000


def test_no_mistake_is_a_page_too(tmp_path):
    y = np.arange(5)
    assert "No pair was confused." in page_of(tmp_path, y, y)
