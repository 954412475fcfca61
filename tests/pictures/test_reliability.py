import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from dsnc.errors import InputError, MissingExtraError, OutputError
from dsnc.metrics import calibration_bins
from dsnc.pictures.reliability import reliability_figure, reliability_picture


def bins(seed=0, n_bins=15):
    rng = np.random.default_rng(seed)
    confidence = rng.random(500)
    return calibration_bins(rng.random(500) < confidence, confidence, n_bins)


CURVES = {"linear": bins(), "nearest": bins(1)}


def read(path):
    with Image.open(path) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB")).astype(int)


def test_png_is_written_and_nothing_else(tmp_path):
    path = tmp_path / "new" / "folder" / "reliability.png"
    assert reliability_picture(str(path), CURVES) == path
    assert list(path.parent.iterdir()) == [path]
    image = read(path)
    assert image.shape[0] > 600 and image.shape[1] > 600 and image.std() > 20
    for color in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):  # of the two curves, in the legend
        assert (np.abs(image - color).max(axis=2) < 8).sum() > 50


def test_svg_names_the_curves_and_their_error(tmp_path):
    path = reliability_picture(tmp_path / "reliability.SVG", CURVES, "Glyphs, 32 bits")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<?xml") and text.rstrip().endswith("</svg>")
    for words in (
        f"ECE {bins().error:.3f}   linear",
        "nearest",
        "Glyphs, 32 bits",
        "overconfident",
    ):
        assert words in text
    assert path.read_bytes() == reliability_picture(path, CURVES, "Glyphs, 32 bits").read_bytes()


@pytest.mark.parametrize("name", ["_x", "$x_", "a\nb", "中文", "a name that is much too long " * 9])
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_names_may_be_anything(name, ending, tmp_path):
    path = reliability_picture(tmp_path / f"r.{ending}", {name: bins()}, name)
    assert path.stat().st_size > 10_000


def test_many_curves_and_single_bins_are_fine(tmp_path):
    one = calibration_bins([1], [1.0])
    curves = {f"curve {i}": bins(i, n_bins=1 + i) for i in range(12)} | {"one": one}
    read(reliability_picture(tmp_path / "r.png", curves))


def test_lines_leave_out_what_chance_decides():
    confidence = np.concatenate([np.full(50, 0.95), np.full(40, 0.55), [0.1]])
    curve = calibration_bins(np.arange(91) % 2 == 0, confidence, 10)
    figure = reliability_figure({"curve": curve}, "")
    _, line, *_ = figure.axes[0].lines  # after the diagonal
    assert np.allclose(line.get_xdata(), [0.55, 0.95])
    assert len(figure.axes[0].collections[0].get_offsets()) == 3


def test_failure_leaves_the_old_picture_and_no_rest(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, file, **_):
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "r.png"
    path.write_text("old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OutputError, match="disk full.*choose another file"):
        reliability_picture(path, CURVES)
    assert list(tmp_path.iterdir()) == [path] and path.read_text() == "old"
    monkeypatch.undo()
    read(reliability_picture(path, CURVES))


def test_what_cannot_be_shown_says_why(tmp_path):
    with pytest.raises(InputError, match=r"path='.*r.pdf' does not end in .png or .svg"):
        reliability_picture(tmp_path / "r.pdf", CURVES)
    with pytest.raises(InputError, match="curves is empty"):
        reliability_picture(tmp_path / "r.png", {})
    nothing = bins()._replace(counts=np.zeros(15, dtype=np.int64))
    with pytest.raises(InputError, match=r"curves\['none'\] holds no answers"):
        reliability_picture(tmp_path / "r.png", {"none": nothing})
    assert not list(tmp_path.iterdir())


def test_user_settings_and_pyplot_are_left_alone(tmp_path):
    code = (
        "import sys, matplotlib\n"
        "matplotlib.rcParams['font.family'] = 'no such font'\n"
        "matplotlib.rcParams['text.usetex'] = True\n"
        # Asking for the back end would choose one, and load pyplot.
        "def settings():\n"
        "    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}\n"
        "before = settings()\n"
        "from dsnc.metrics import calibration_bins\n"
        "from dsnc.pictures.reliability import reliability_figure, reliability_picture\n"
        f"reliability_picture({str(tmp_path / 'r.png')!r}, {{'a': calibration_bins([1], [1.0])}})\n"
        "print('matplotlib.pyplot' in sys.modules, settings() == before)"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"] and not done.stderr


def test_import_does_not_load_matplotlib():
    code = "import sys, dsnc.pictures.reliability; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("module", ["matplotlib", "matplotlib.figure"])
def test_missing_extra_is_named_with_the_pip_line(module, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtraError, match=r"reliability_picture needs .*pip install 'dsnc\[report\]'"
    ):
        reliability_picture(tmp_path / "r.png", CURVES)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "file" / "r.png", tmp_path / "folder.png"):
        with pytest.raises(OutputError, match="cannot be written .*; choose another file"):
            reliability_picture(path, CURVES)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder.png"]
