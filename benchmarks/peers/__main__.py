"""Other people's tools beside dsnc, on the same rows and texts: ``python benchmarks/peers -h``."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where `peers` and `harness` are
    from peers.command import main

    main()
