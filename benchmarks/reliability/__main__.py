"""What happens when things go wrong: ``python benchmarks/reliability -h``."""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where `reliability` and `harness` are
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # children are forked: no threads besides
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from reliability.command import main

    sys.exit(main())
