"""C++ that benchmarks bring along, compiled by the system's compiler when it is first needed."""

import ctypes
import functools
import subprocess
import tempfile
from pathlib import Path


@functools.cache
def compiled(source: Path, *options: str) -> ctypes.CDLL:
    """Compile a file and load it; what it has as ``extern "C"`` are its functions."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{source.stem}.so"
        flags = ["-std=c++20", "-shared", "-fPIC", *options]
        subprocess.run(["c++", *flags, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))  # it stays loaded when the file is gone
