import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from dsnc.data.dataset import Dataset
from dsnc.errors import InputError, MissingExtraError, OutputError
from dsnc.pictures import contact_sheet


def pictures(n_classes=5, n_per_class=4, shape=(6, 8), labels=None, **rest):
    rng = np.random.default_rng(0)
    X = rng.random((n_classes * n_per_class, shape[0] * shape[1]), dtype=np.float32)
    y = np.repeat(np.arange(n_classes), n_per_class)
    classes = np.array(labels if labels is not None else [f"c{i}" for i in range(n_classes)])
    return Dataset(X, y, classes, image_shape=shape, **rest)


def read(path):
    with Image.open(path) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("L"))


def test_sheet_is_written_and_nothing_else(tmp_path):
    path = tmp_path / "new" / "folder" / "sheet.png"
    assert contact_sheet(pictures(), str(path)) == path
    assert list(path.parent.iterdir()) == [path]
    image = read(path)
    assert image.shape[0] > 300 and image.shape[1] > 300 and image.std() > 20


def test_old_sheet_is_replaced(tmp_path):
    path = tmp_path / "sheet.png"
    path.write_text("old")
    contact_sheet(pictures(), path)
    read(path)


def test_failure_leaves_the_old_sheet_and_no_rest(tmp_path, monkeypatch):
    from matplotlib.figure import Figure

    def fail(self, file, **_):
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "sheet.png"
    path.write_text("old")
    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        contact_sheet(pictures(), path)
    assert list(tmp_path.iterdir()) == [path] and path.read_text() == "old"


def test_same_seed_same_choice(tmp_path):
    data = pictures(40, 12)
    one, two, other = (
        read(contact_sheet(data, tmp_path / f"{name}.png", rows=2, samples=3, random_state=seed))
        for name, seed in (("one", 1), ("two", 1), ("other", 2))
    )
    assert np.array_equal(one, two) and not np.array_equal(one, other)


def test_pictures_appear_as_they_are(tmp_path):
    # One class, one picture: left half ink, right half paper, at the only place it can be.
    X = np.tile(np.repeat([1.0, 0.0], 10), 20)[None]
    data = Dataset(X, np.array([0]), np.array(["x"]), image_shape=(20, 20))
    image = read(contact_sheet(data, tmp_path / "s.png", rows=1, columns=1, samples=1))
    dark, white = image < 5, image == 255
    assert dark.sum() > 1000 and abs(dark.sum() / white.sum() - 1) < 0.1
    assert np.nonzero(dark)[1].mean() < np.nonzero(white)[1].mean()


@pytest.mark.parametrize(
    "labels",
    [
        ["$x_", "a\nb", "中文", "é→∞", "a very long label that no strip can hold"],
        [0, 1, 2, 3, 4],
        ["\\", "%", "#", "&", ""],
    ],
)
def test_labels_may_be_anything(labels, tmp_path):
    read(contact_sheet(pictures(labels=labels, name="$100 名"), tmp_path / "sheet.png"))


@pytest.mark.parametrize("kind", ["csr", "bytes", "memmap"])
def test_rows_may_be_of_any_kind(kind, tmp_path):
    dense = pictures()
    X = {"csr": sp.csr_array(dense.X), "bytes": (255 * dense.X).astype(np.uint8)}.get(kind)
    if X is None:
        np.save(tmp_path / "X.npy", dense.X)
        X = np.load(tmp_path / "X.npy", mmap_mode="r")
    data = Dataset(X, dense.y, dense.classes, image_shape=(6, 8))
    sheet, plain = contact_sheet(data, tmp_path / "a.png"), contact_sheet(dense, tmp_path / "b.png")
    assert np.abs(read(sheet).astype(int) - read(plain)).max() <= 2


def test_classes_without_rows_and_short_classes_are_fine(tmp_path):
    data = Dataset(np.eye(4), np.array([0, 0, 0, 7]), np.arange(9), image_shape=(2, 2))
    read(contact_sheet(data, tmp_path / "sheet.png"))


def test_what_cannot_be_shown_says_why(tmp_path):
    path = tmp_path / "sheet.png"
    flat = Dataset(np.eye(3), np.arange(3), np.arange(3), name="flat")
    with pytest.raises(InputError, match="'flat' has no image_shape"):
        contact_sheet(flat, path)
    sets = Dataset(np.eye(4), None, np.arange(4), Y=sp.csr_array(np.eye(4)), image_shape=(2, 2))
    with pytest.raises(InputError, match="multi-label"):
        contact_sheet(sets, path)
    with pytest.raises(InputError, match="no rows"):
        contact_sheet(pictures().take(slice(0, 0)), path)
    for parameter in ("rows", "columns", "samples"):
        with pytest.raises(InputError, match=f"{parameter}=0"):
            contact_sheet(pictures(), path, **{parameter: 0})
    assert not path.exists()


def test_user_settings_and_pyplot_are_left_alone(tmp_path):
    code = (
        "import sys, numpy as np, matplotlib\n"
        "matplotlib.rcParams['font.family'] = 'no such font'\n"
        # Asking for the back end would choose one, and load pyplot.
        "def settings():\n"
        "    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}\n"
        "before = settings()\n"
        "from dsnc.data.dataset import Dataset\n"
        "from dsnc.pictures import contact_sheet\n"
        "data = Dataset(np.eye(4), np.arange(4), np.arange(4), image_shape=(2, 2))\n"
        f"contact_sheet(data, {str(tmp_path / 's.png')!r})\n"
        "print('matplotlib.pyplot' in sys.modules, settings() == before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"] and not done.stderr


def test_import_does_not_load_matplotlib():
    code = "import sys, dsnc.pictures, dsnc.paper.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_missing_extra_is_named_with_the_pip_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        MissingExtraError, match=r"contact_sheet needs .*pip install 'dsnc\[report\]'"
    ):
        contact_sheet(pictures(), tmp_path / "sheet.png")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "sheet.png", tmp_path / "folder"):
        with pytest.raises(OutputError, match="cannot be written .*; choose another file"):
            contact_sheet(pictures(), path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
