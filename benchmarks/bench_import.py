"""How much ``import dsnc`` (and the command line's help) adds to starting bare Python."""

import subprocess
import sys

from harness import best_of, report


def main() -> None:
    """Start interpreters in turns and print what each start adds."""

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)

    seconds = best_of(
        {
            "bare Python": lambda: start("pass"),
            "import dsnc": lambda: start("import dsnc"),
            "dsnc.codes": lambda: start("import dsnc.codes"),
            "dsnc.data": lambda: start("import dsnc.data"),
            "dsnc --help": lambda: start("import dsnc.cli; dsnc.cli.app(['--help'])"),
        },
        repeat=10,
    )
    bare = seconds["bare Python"]
    report(
        "import",
        [
            {"what": what, "ms": 1e3 * s, "ms more than bare Python": 1e3 * (s - bare)}
            for what, s in seconds.items()
        ],
    )


if __name__ == "__main__":
    main()
