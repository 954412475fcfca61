"""Puts faults into the source, one at a time, and says which of them no test sees.

    python tests/mutants/run.py [--jobs N] [ID ...]

`faults.toml` lists faults that nobody notices at once: answers, ids or claims are wrong, and
nothing crashes. Each is put into a copy of the source in a temporary folder, and the tests that it
names are run against the copy. What survives shows that a test is missing. Exits 1 if any does.
"""

import argparse
import importlib.util
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dsnc"
_SECONDS = 900  # of the tests of a fault
_FAILED = 1  # exit code of pytest where a test fails
# An editable installation finds its own source, whatever PYTHONPATH says. Python runs this first.
_COPY_COMES_FIRST = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in type(each).__module__]
"""


def faults() -> list[dict[str, Any]]:
    """Return what `faults.toml` lists."""
    text = (Path(__file__).parent / "faults.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["fault"])


def text_with(fault: dict[str, Any], text: str) -> str:
    """Return the text of a file with a fault; its place must be found exactly once."""
    found = text.count(fault["old"])
    if found != 1:
        sys.exit(f"{fault['id']}: the text is found {found} times in {fault['file']}.")
    return text.replace(fault["old"], fault["new"])


def make_copy(folder: Path) -> Path:
    """Put the source and the native core into a folder, where Python looks before anywhere else."""
    native = importlib.util.find_spec("dsnc._native")
    if native is None or native.origin is None:
        sys.exit("dsnc._native is not built; run `make install` first.")
    shutil.copytree(SOURCE, folder / "dsnc")
    shutil.copy2(native.origin, folder / "dsnc")
    (folder / "sitecustomize.py").write_text(_COPY_COMES_FIRST, encoding="utf-8")
    return folder


def with_copy(copy: Path) -> dict[str, str]:
    """Return the environment in which Python takes the source from a copy."""
    return {**os.environ, "PYTHONPATH": str(copy)}


def passes(copy: Path, tests: list[str]) -> tuple[bool, str]:
    """Run tests against a copy of the source; tell whether they pass, and which one does not."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command, cwd=ROOT, env=with_copy(copy), timeout=_SECONDS, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return False, f"takes more than {_SECONDS} s"
    if run.returncode not in (0, _FAILED):
        sys.exit(f"pytest does not run {' '.join(tests)}:\n{run.stdout}{run.stderr}")
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return run.returncode == 0, failed[0].partition(" ")[2].partition(" - ")[0] if failed else ""


def try_fault(fault: dict[str, Any], copies: "queue.Queue[Path]") -> bool:
    """Put a fault into a copy that nobody uses, say what comes of it, and take it out again."""
    copy = copies.get()
    path = copy / "dsnc" / fault["file"]
    text, status = path.read_text(encoding="utf-8"), path.stat()
    try:
        path.write_text(text_with(fault, text), encoding="utf-8")
        survives, by = passes(copy, fault["tests"])
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # compiled code stays valid
        copies.put(copy)
    verdict = "SURVIVES" if survives else f"caught by {by}"
    sys.stdout.write(f"{fault['id']}: {fault['what']}: {verdict}\n")
    sys.stdout.flush()
    return survives


def main() -> None:
    """Try all faults, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="of a fault; by default all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    wanted = [fault for fault in faults() if not options.ids or fault["id"] in options.ids]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: queue.Queue[Path] = queue.Queue()
        for job in range(options.jobs):
            copies.put(make_copy(Path(folder) / str(job)))
        survivors = sum(pool.map(lambda fault: try_fault(fault, copies), wanted))
    sys.stdout.write(f"{survivors} of {len(wanted)} faults survive.\n")
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main()
