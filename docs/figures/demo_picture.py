"""What `make demo` says first, as a picture of a terminal: docs/images/demo.svg.

Run it without arguments, on an idle machine: it starts the demo, and ends it when the tour is over.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console

PICTURE = Path(__file__).parents[1] / "images" / "demo.svg"
WIDTH = 112
LAST = "Drawing"  # how the line begins in which the demo goes on to other models


def tour() -> str:
    """Return what the demo says about its first model."""
    with tempfile.TemporaryDirectory() as folder:
        command = [Path(sys.executable).with_name("dsnc"), "demo", "-o", "demo"]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            said = "".join(_until(process.stdout or (), LAST))
            process.kill()
    return said.strip()


def _until(lines: Iterable[str], last: str) -> Iterator[str]:
    for line in lines:
        if line.startswith(last):
            return
        yield line


def main() -> None:
    """Run the demo and write the picture."""
    console = Console(record=True, width=WIDTH)
    console.print("$ make demo", style="bold", highlight=False)
    console.print(tour(), markup=False)
    picture = console.export_svg(title="make demo", unique_id="demo")
    picture = re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # none is fetched
    PICTURE.write_text(picture, encoding="utf-8")
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
