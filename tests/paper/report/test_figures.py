import base64
import io
import math
import re

import numpy as np
import pytest
from PIL import Image

from dsnc.errors import InputError
from dsnc.paper.experiments.cost_curve import Curve, Point
from dsnc.paper.report import write_figure
from dsnc.paper.report.figures import (
    Line,
    accuracy_figure,
    balance_figure,
    cost_figure,
    distance_figure,
    heat_map,
    learning_figure,
    picture,
    sheet,
)
from dsnc.pictures.drawing import inline_svg, look, new_figure
from report_records import write_one, write_runs

CURVE = Curve(
    "toy",
    "default",
    [
        Point("dsnc/linear", 12, 0.5, 100, 1.0),
        Point("dsnc/linear", 24, 0.7, 200, 2.0),
        Point("mlp", 24, 0.8, 4000, math.nan),
        Point("ecoc", 24, 0.3, 24, 0.01),
    ],
)


def svg(make, *arguments):
    with look("test"):
        return inline_svg(make(*arguments), "f", "a <figure>")


def read(address):
    data = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_lines_have_names_and_ticks_at_their_sizes():
    lines = [
        Line("dsnc/linear", "DSNC linear", [12, 24, 60], [10, 20, 30], [1, 1, 0]),
        Line("unheard-of", "else", [12], [50], [0]),
    ]
    text = svg(accuracy_figure, lines)
    for words in (">DSNC linear<", ">else<", ">12<", ">24<", ">60<", "var(--blue)"):
        assert words in text
    assert "<svg" in svg(accuracy_figure, lines[1:])  # a single point


@pytest.mark.parametrize("cost", ["operations", "microseconds"])
def test_cost_names_series_and_has_plain_numbers_at_the_axis(cost):
    text = svg(cost_figure, CURVE, cost)
    assert ">DSNC linear<" in text and ">ECOC<" in text
    assert (">MLP<" in text) == (cost == "operations")  # NaN is no place
    assert (">1,000<" in text) == (cost == "operations") and "10^" not in text
    assert "<svg" in svg(cost_figure, Curve("t", "r", CURVE.points[:1]), cost)


def test_learning_balance_and_distances():
    runs = {"dsnc": ("DSNC", [([1, 2], [3.0, 2.0]), ([1], [2.5])]), "mlp": ("MLP", [([1], [9.0])])}
    text = svg(learning_figure, "8 bits", "loss", runs)
    assert text.count(">DSNC<") == 1 and ">MLP<" in text
    shares = {"dsnc": ("DSNC", np.array([0.2, 0.8])), "dsnc_reg": ("Reg", np.full(60, 0.5))}
    assert ">Reg<" in svg(balance_figure, "t", shares)
    counts, none = np.array([5, 3, 0]), np.zeros(3, dtype=int)
    assert "same class, mean 0.4" in svg(distance_figure, "t", counts, none, 99.0)


def test_an_inlined_figure_reaches_nothing_of_its_page():
    text = svg(cost_figure, CURVE, "operations")
    assert text.startswith('<svg viewBox="0 0 ') and 'aria-label="a &lt;figure&gt;"' in text
    assert not re.search("<style|<metadata|xmlns|http|<!--", text)
    named = set(re.findall(r' id="([^"]*)"', text))
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    assert named == used and named and all(name.startswith("f-") for name in named)


def test_words_are_no_mathematics():
    def make():
        figure, axes = new_figure(3, 2)
        axes.set_title("$x_ & <b>")
        return figure

    assert "$x_ &amp; &lt;b&gt;" in svg(make)


def test_small_pictures():
    pixels = np.array([[0, 255], [128, 0]], dtype=np.uint8)
    assert read(picture(pixels))[..., 0].tolist() == [[255, 0], [127, 255]]
    several = np.full((5, 2, 3), 255, dtype=np.uint8)
    image = read(sheet(several, 2))
    assert image.shape == (3 * 3 - 1, 2 * 4 - 1, 3)
    assert (image[..., 0] == 0).sum() == 5 * 6
    heat = read(heat_map(np.array([[0.0, 0.1], [0.5, 9.0]]), 0.5))
    assert heat[0, 0, 0] > heat[0, 1, 0] > heat[1, 0, 0] == heat[1, 1, 0]


@pytest.mark.parametrize("kind", ["accuracy", "cost", "measured-cost"])
def test_figures_as_files(kind, tmp_path):
    write_runs(tmp_path / "runs", ("dsnc", "mlp"), (8, 24), (0,))
    path = write_figure(kind, tmp_path / "runs", tmp_path / "docs" / "f.svg")
    first = path.read_bytes()
    assert first.startswith(b"<?xml") and b"<text" not in first  # letters as shapes
    assert write_figure(kind, tmp_path / "runs", path).read_bytes() == first
    with Image.open(write_figure(kind, tmp_path / "runs", tmp_path / "f.png")) as image:
        assert image.width > 900


def test_a_file_needs_one_answer(tmp_path):
    write_one(tmp_path, "mlp", recipe="default")
    write_one(tmp_path, "mlp", recipe="paper")
    with pytest.raises(InputError, match="matches 2 .*data='toy', recipe='paper'"):
        write_figure("accuracy", tmp_path, tmp_path / "f.svg")
    with pytest.raises(InputError, match="matches none"):
        write_figure("accuracy", tmp_path, tmp_path / "f.svg", data="other")
    with pytest.raises(InputError, match="kind='costs' is not known. Did you mean 'cost'"):
        write_figure("costs", tmp_path, tmp_path / "f.svg")
    with pytest.raises(InputError, match="does not end in .png or .svg"):
        write_figure("cost", tmp_path, tmp_path / "f.pdf")
    with pytest.raises(InputError, match="no microseconds.*dsnc reproduce cost"):
        write_figure("measured-cost", tmp_path, tmp_path / "f.svg", recipe="paper")
