"""What happens when things go wrong: ``python benchmarks/reliability -h``."""

import os
import sys
import tempfile
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # where `reliability` and `harness` are
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # children are forked: no threads besides
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "--checked" in sys.argv:  # before any kernel is loaded; those of others stay as they are
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
        os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / "dsnc-checked-kernels")
    from reliability.command import main

    main()
