"""Run a module of Python with a core that checks addresses and undefined behavior: see Makefile.

python tests/native/sanitized.py build/sanitized pytest tests/codes ...
python tests/native/sanitized.py build/sanitized benchmarks/reliability models --n 100
"""

import os
import runpy
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def preload() -> None:
    """Start again with the sanitizer's library in front of all others, if it is not there.

    That of C++ comes with it, or the first exception that is thrown would find no sanitizer.
    """
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        return
    ask = ["c++", "-print-file-name=libasan.so"], ["c++", "-print-file-name=libstdc++.so"]
    libraries = " ".join(subprocess.check_output(words, text=True).strip() for words in ask)
    # Python itself leaks, and what is too large to be allocated is an error that it handles;
    # what is freed stays for a while, but not so much that limits of memory would not hold.
    options = {
        "LD_PRELOAD": libraries,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=8",
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | options)


def load(folder: Path) -> None:
    """Make the module that was built in a folder the core of dsnc."""
    (path,) = folder.glob("_native*.so")
    spec = spec_from_file_location("dsnc._native", path)
    module = module_from_spec(spec)
    sys.modules["dsnc._native"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    preload()
    folder, name, *sys.argv[1:] = sys.argv[1:]
    load(Path(folder))
    if Path(name).exists():
        sys.argv[0] = name
        runpy.run_path(name, run_name="__main__")
    else:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
