"""Turn a folder of images into a data set of ResNet-152 features.

The images are those of ImageNet or any others, one folder for each class::

    images/n01440764/*.JPEG                    or    images/train/n01440764/*.JPEG
    images/n01443537/*.JPEG                          images/val/n01440764/*.JPEG

With ``train`` and ``val`` (or ``validation``) and ``test`` folders on top, these become the
predefined split. What comes out is a folder of plain arrays that ``dsnc`` reads::

    pip install torchvision
    python examples/imagenet_features.py images ~/.cache/dsnc/datasets/imagenet-resnet152

The features are what the last layer of the network sees: 2,048 numbers for each image. They
are written to disk as they come, so that the memory does not grow with the number of images. The
folder appears only when it is complete.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

SPLITS = {"train": 0, "val": 1, "validation": 1, "test": 2}
ENDINGS = {".jpeg", ".jpg", ".png", ".webp", ".bmp"}

Transform = Callable[[Any], torch.Tensor]


def load_resnet152() -> tuple[torch.nn.Module, Transform]:
    """Return ResNet-152 without its last layer, and the transform that its images need."""
    try:
        from torchvision.models import ResNet152_Weights, resnet152
    except ImportError as error:
        raise SystemExit(
            "This example needs torchvision, which is not installed. Install it with: "
            "pip install torchvision"
        ) from error
    weights = ResNet152_Weights.IMAGENET1K_V1
    model = resnet152(weights=weights)
    model.fc = torch.nn.Identity()
    return model, weights.transforms()


def list_images(images: Path) -> tuple[list[Path], list[str], list[int] | None]:
    """Return the images in a fixed order, the class of each, and its split if there are splits."""
    if not images.is_dir():
        raise SystemExit(f"{images} is not a folder.")
    tops = sorted(p for p in images.iterdir() if p.is_dir() and not p.name.startswith("."))
    has_splits = bool(tops) and all(top.name in SPLITS for top in tops)
    folders = (
        [p for top in tops for p in sorted(top.iterdir()) if p.is_dir()] if has_splits else tops
    )
    paths = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in ENDINGS and path.is_file()
    ]
    if not paths:
        endings = ", ".join(sorted(ENDINGS))
        raise SystemExit(f"{images} holds no images ({endings}) in folders, one for each class.")
    depth = len(images.parts)
    labels = [path.parts[depth + has_splits] for path in paths]
    splits = [SPLITS[path.parts[depth]] for path in paths] if has_splits else None
    return paths, labels, splits


class Images(torch.utils.data.Dataset[torch.Tensor]):
    """The images, read and transformed when they are asked for."""

    def __init__(self, paths: Sequence[Path], transform: Transform) -> None:
        self.paths, self.transform = paths, transform

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.paths)

    def __getitem__(self, i: int) -> torch.Tensor:
        """Return one image as the network wants it."""
        from PIL import Image

        try:
            with Image.open(self.paths[i]) as image:
                return self.transform(image.convert("RGB"))  # a few of ImageNet are gray or CMYK
        except OSError as error:
            raise RuntimeError(
                f"{self.paths[i]} cannot be read: {error}. Mend or remove it."
            ) from error


def extract(
    images: Path,
    out: Path,
    model: torch.nn.Module,
    transform: Transform,
    batch_size: int = 64,
    device: str = "cpu",
    *,
    dtype: str = "float16",
    n_workers: int = 0,
    progress: bool = True,
) -> Path:
    """Write the features of all images as a folder of arrays, whole or not at all.

    Parameters
    ----------
    images : Path
        A folder of class folders, or of ``train``, ``val``, ``test`` folders of these.
    out : Path
        The folder to make: ``X.npy``, ``y.npy``, ``classes.json`` and perhaps ``split.npy``.
    model : torch.nn.Module
        Maps a batch of transformed images to (batch, features).
    transform : callable
        Maps a PIL image to a tensor.
    batch_size, device, n_workers : int, str, int
        How to compute: images at once, where, and how many processes read them.
    dtype : {"float16", "float32"}
        Of ``X.npy``; half precision halves the disk space.
    progress : bool
        Whether to draw a bar on stderr.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SystemExit(f"{out} exists already; remove it or name another folder.")
    paths, labels, splits = list_images(images)
    classes, y = np.unique(labels, return_inverse=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        loader = torch.utils.data.DataLoader(
            Images(paths, transform), batch_size=batch_size, num_workers=n_workers
        )
        _write_features(
            aside / "X.npy", len(paths), loader, model.to(device).eval(), dtype, progress
        )
        np.save(aside / "y.npy", y.astype(np.int32))
        if splits is not None:
            np.save(aside / "split.npy", np.array(splits, dtype=np.int8))
        (aside / "classes.json").write_text(json.dumps(classes.tolist()), encoding="utf-8")
        aside.chmod(0o755)
        aside.rename(out)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return out


@torch.inference_mode()
def _write_features(
    path: Path,
    n_images: int,
    loader: Any,
    model: torch.nn.Module,
    dtype: str,
    progress: bool,
) -> None:
    from rich.console import Console
    from rich.progress import Progress

    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    X, done = None, 0
    console = Console(stderr=True)
    with Progress(console=console, disable=not (progress and sys.stderr.isatty())) as bar:
        task = bar.add_task("images", total=n_images)
        for batch in loader:
            features = model(batch.to(device)).float().cpu().numpy()
            if features.ndim != 2:
                raise ValueError(
                    f"model returned shape {features.shape}; expected (batch, features)."
                )
            if X is None:  # only now is the number of features known
                shape = (n_images, features.shape[1])
                X = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
            X[done : done + len(features)] = features
            done += len(features)
            bar.update(task, completed=done)
    if X is not None:
        X.flush()


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("images", type=Path, help="folder of class folders of images")
    parser.add_argument("out", type=Path, help="folder to make")
    parser.add_argument("--batch-size", type=int, default=64, help="images at once (default: 64)")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", choices=["float16", "float32"], default="float16")
    parser.add_argument("--workers", type=int, default=4, help="processes that read (default: 4)")
    chosen = parser.parse_args(arguments)
    model, transform = load_resnet152()
    out = extract(
        chosen.images.expanduser(),
        chosen.out.expanduser(),
        model,
        transform,
        chosen.batch_size,
        chosen.device,
        dtype=chosen.dtype,
        n_workers=chosen.workers,
    )
    print(f"Wrote {out}.")


if __name__ == "__main__":
    main()
