"""What an installation from a wheel can do, tried by the Python of a clean environment.

``make wheel`` runs it where nothing but the package and what it needs is installed: no torch, no
clone. It trains, saves, loads and predicts, and tells what the package weighs.
"""

import importlib.metadata
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STARTS = 5


def tried(folder: Path) -> None:
    """Train on strings and predict from the shell, as a first user would."""
    import dsnc

    roles = {"nurse": "ward patient care", "driver": "truck road wheel", "cook": "kitchen pan oven"}
    texts = [text for text in roles.values() for _ in range(30)]
    labels = [role for role in roles for _ in range(30)]
    clf = dsnc.DSNCClassifier(n_bits=16, max_epochs=3).fit(texts, labels)
    clf.save(folder / "model")
    assert dsnc.load(folder / "model").predict(["a truck"]) == ["driver"]
    asked = [Path(sys.executable).with_name("dsnc"), "predict", folder / "model", "-"]
    answer = subprocess.run(asked, input="a pan\n", capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "cook", answer.stdout


def least_seconds(code: str) -> float:
    """Return the least time of an interpreter that runs this."""
    times = []
    for _ in range(STARTS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Try it and print what was found."""
    assert importlib.util.find_spec("torch") is None, "torch is there: not a clean environment"
    files = importlib.metadata.files("dsnc") or []
    assert any(file.name == "py.typed" for file in files)
    with tempfile.TemporaryDirectory() as folder:
        tried(Path(folder))
    size = sum(file.size or 0 for file in files) / 1e6
    seconds = least_seconds("import dsnc") - least_seconds("pass")
    print(f"dsnc {importlib.metadata.version('dsnc')}: {size:.1f} MB installed, ", end="")
    print(f"import dsnc takes {1000 * seconds:.0f} ms, no torch needed")


if __name__ == "__main__":
    main()
