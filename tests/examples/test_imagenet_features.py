import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from dsnc.data.folder import read_folder

Image = pytest.importorskip("PIL.Image")

SCRIPT = Path(__file__).parents[2] / "examples" / "imagenet_features.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("imagenet_features", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class MeanColor(torch.nn.Module):
    """Three features; batch normalization tells training from evaluation."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3, eps=0)

    def forward(self, images):
        return self.norm(images.mean(dim=(2, 3)))


def transform(image):
    return torch.tensor(np.array(image), dtype=torch.float32).permute(2, 0, 1)


def draw(path, color, mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (4, 5), color).save(path)


@pytest.fixture
def images(tmp_path):
    folder = tmp_path / "images"
    draw(folder / "dog" / "b.png", (4, 5, 6))
    draw(folder / "dog" / "a.PNG", (1, 2, 3))
    draw(folder / "cat" / "deep" / "c.png", 7, mode="L")  # gray
    (folder / "cat" / "notes.txt").write_text("not an image")
    (folder / "readme.txt").write_text("not a class")
    return folder


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("batch_size", [1, 2, 10])
def test_the_folder_loads(script, images, tmp_path, dtype, batch_size):
    out = tmp_path / "new" / "features"
    script.extract(images, out, MeanColor(), transform, batch_size, "cpu", dtype=dtype)
    dataset = read_folder(out)
    assert isinstance(dataset.X, np.memmap) and dataset.X.dtype == dtype
    assert dataset.classes.tolist() == ["cat", "dog"]
    assert dataset.labels.tolist() == ["cat", "dog", "dog"]
    np.testing.assert_array_equal(dataset.X, [[7, 7, 7], [1, 2, 3], [4, 5, 6]])
    assert dataset.splits is None
    assert os.listdir(tmp_path / "new") == ["features"]
    assert sorted(os.listdir(out)) == ["X.npy", "classes.json", "y.npy"]


def test_train_and_val_folders_become_the_split(script, tmp_path):
    for path in ("train/dog/1.png", "train/cat/2.png", "val/dog/3.png"):
        draw(tmp_path / "images" / path, (9, 9, 9))
    script.extract(tmp_path / "images", tmp_path / "out", MeanColor(), transform)
    train, validation, test = read_folder(tmp_path / "out").predefined_split()
    assert train.labels.tolist() == ["cat", "dog"]
    assert validation.labels.tolist() == ["dog"]
    assert len(test) == 0


def test_nothing_is_left_when_an_image_is_broken(script, images, tmp_path):
    (images / "dog" / "bad.png").write_bytes(b"no image")
    with pytest.raises(RuntimeError, match="bad.png cannot be read.*remove it"):
        script.extract(images, tmp_path / "out", MeanColor(), transform)
    assert os.listdir(tmp_path) == ["images"]


def test_what_exists_is_not_overwritten(script, images, tmp_path):
    (tmp_path / "out").mkdir()
    script.extract(images, tmp_path / "out", MeanColor(), transform)  # an empty folder may be used
    with pytest.raises(SystemExit, match="exists already"):
        script.extract(images, tmp_path / "out", MeanColor(), transform)


def test_a_folder_without_images_is_refused(script, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit, match="holds no images"):
        script.extract(tmp_path / "empty", tmp_path / "out", MeanColor(), transform)
    with pytest.raises(SystemExit, match="not a folder"):
        script.extract(tmp_path / "none", tmp_path / "out", MeanColor(), transform)
    assert os.listdir(tmp_path) == ["empty"]


def test_a_model_that_keeps_its_map_is_refused(script, images, tmp_path):
    with pytest.raises(ValueError, match=r"expected \(batch, features\)"):
        script.extract(images, tmp_path / "out", torch.nn.Identity(), transform)
    assert os.listdir(tmp_path) == ["images"]


def test_the_command_line(script, images, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "load_resnet152", lambda: (MeanColor(), transform))
    out = tmp_path / "out"
    script.main([str(images), str(out), "--dtype", "float32", "--workers", "0", "--device", "cpu"])
    assert len(read_folder(out)) == 3
    assert str(out) in capsys.readouterr().out


def test_without_torchvision_it_says_the_pip_line(script, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(SystemExit, match="pip install torchvision"):
        script.load_resnet152()


def test_help_is_there(script, capsys):
    with pytest.raises(SystemExit, match="^0$"):
        script.main(["--help"])
    assert "--batch-size" in capsys.readouterr().out
