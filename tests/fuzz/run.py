"""Build the fuzz targets with sanitizers and run each for some seconds.

python tests/fuzz/run.py [--seconds 60] [--seed 0] [--build build/sanitized]
"""

import argparse
import subprocess
import sys
from pathlib import Path

TARGETS = ["texts", "numbers"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--build", type=Path, default=Path("build/sanitized"))
    given = parser.parse_args()
    programs = [f"fuzz_{target}" for target in TARGETS]
    subprocess.run(["cmake", "--build", given.build, "--target", *programs], check=True)
    for program in programs:
        words = [given.build / program, str(given.seconds), str(given.seed)]
        sys.stdout.write(f"{program}\n")
        sys.stdout.flush()
        if code := subprocess.run(words).returncode:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
