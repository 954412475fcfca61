"""Reading a 100 MB svmlight file: against scikit-learn's parser, in time and in memory."""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from dsnc.data import make_sparse_topics
from dsnc.data.svmlight import read_svmlight
from harness import best_of, peak_megabytes, report

MEGABYTES = 100

OURS = """
import dsnc._native
from dsnc.data.svmlight import read_svmlight
before = now()
data = read_svmlight(sys.argv[1])
X, labels = data.X, data.y
"""
THEIRS = """
import numpy as np
from sklearn.datasets import load_svmlight_file
before = now()
X, labels = load_svmlight_file(sys.argv[1], dtype=np.float32)
"""
FIGURES = """
arrays = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + labels.nbytes) / 1e6
print(json.dumps({"arrays": arrays, "peak": peak() - before}))
"""


def write_file(path: Path) -> None:
    """Write text-like rows with tf-idf-like values until the file is large enough."""
    data = make_sparse_topics(130_000, 1_000, 100_000, words_per_row=90)
    values = np.random.default_rng(0).random(data.X.nnz)
    with path.open("w", encoding="ascii") as file:
        for row, label in enumerate(data.y):
            span = slice(data.X.indptr[row], data.X.indptr[row + 1])
            pairs = zip(data.X.indices[span] + 1, values[span], strict=True)
            file.write(f"{label} {' '.join(f'{i}:{v:.6g}' for i, v in pairs)}\n")
            if row % 1000 == 0 and file.tell() > MEGABYTES * 1e6:
                break


def main() -> None:
    """Write the file, read it both ways, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.svm"
        write_file(path)
        megabytes = path.stat().st_size / 1e6
        seconds = best_of(
            {
                "dsnc": lambda: read_svmlight(path),
                "scikit-learn": lambda: load_svmlight_file(str(path), dtype=np.float32),
            },
            repeat=3,
        )
        memory = {
            "dsnc": peak_megabytes(OURS + FIGURES, str(path)),
            "scikit-learn": peak_megabytes(THEIRS + FIGURES, str(path)),
        }
    report(
        "svmlight",
        [
            {
                "reader": name,
                "file MB": megabytes,
                "s": seconds[name],
                "MB/s": megabytes / seconds[name],
                "speed-up": seconds["scikit-learn"] / seconds[name],
                "arrays MB": memory[name]["arrays"],
                "peak / arrays": memory[name]["peak"] / memory[name]["arrays"],
            }
            for name in seconds
        ],
    )


if __name__ == "__main__":
    main()
