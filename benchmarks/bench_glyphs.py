"""How fast the embedded data set is drawn: in blocks, picture by picture, and read from the cache.

The naive contestant is what one writes first: for each picture, open a canvas, draw the character
with Pillow, rotate and scale it, add noise. Its distortions are fewer, so it does less work.
"""

import os
import tempfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from dsnc.data.glyph_shapes import STYLES, font_paths, glyph_classes
from dsnc.data.glyphs import SIZE, load_glyphs
from harness import best_of, report

N_CLASSES, N_PER_CLASS = 1000, 20


def naive() -> np.ndarray:
    """Draw the pictures one by one."""
    rng = np.random.default_rng(0)
    fonts = [ImageFont.truetype(path, 16) for path in font_paths()]
    rows = []
    for group in glyph_classes()[:N_CLASSES]:
        for _ in range(N_PER_CLASS):
            picture = Image.new("L", (SIZE, SIZE))
            font = fonts[rng.integers(len(STYLES))]
            middle = SIZE / 2 + rng.uniform(-0.5, 0.5, size=2)
            ImageDraw.Draw(picture).text(tuple(middle), group[0], 255, font, anchor="mm")
            zoom, angle, slant = np.exp(rng.uniform(-0.08, 0.08)), *rng.uniform(-0.1, 0.1, size=2)
            turn = zoom * np.array(
                [[np.cos(angle), np.sin(angle) + slant], [-np.sin(angle), np.cos(angle)]]
            )
            offset = (SIZE - 1) / 2 * (1 - turn.sum(axis=1))
            matrix = (*turn[0], offset[0], *turn[1], offset[1])
            picture = picture.transform(
                (SIZE, SIZE), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR
            )
            noisy = np.asarray(picture, dtype=np.float32) / 255
            noisy = noisy + rng.uniform(-0.1, 0.1, size=noisy.shape)
            rows.append(np.clip(noisy, 0, 1).ravel())
    return np.array(rows, dtype=np.float32)


def main() -> None:
    """Measure and report."""
    glyph_classes()  # found once in a process, and needed by both that draw
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DSNC_HOME"] = folder
        load_glyphs(N_CLASSES, N_PER_CLASS)
        seconds = best_of(
            {
                "load_glyphs, drawn": lambda: load_glyphs(N_CLASSES, N_PER_CLASS, cache=False),
                "picture by picture": naive,
                "load_glyphs, cached": lambda: load_glyphs(N_CLASSES, N_PER_CLASS),
            },
            repeat=3,
        )
    pictures = N_CLASSES * N_PER_CLASS
    report(
        "glyphs",
        [
            {
                "how": how,
                "pictures": pictures,
                "seconds": round(taken, 4),
                "pictures_per_second": round(pictures / taken),
                "speedup": round(seconds["picture by picture"] / taken, 2),
            }
            for how, taken in seconds.items()
        ],
    )


if __name__ == "__main__":
    main()
