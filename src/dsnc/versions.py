"""Which versions are installed, for model files and for reports of errors."""

import platform
from importlib import metadata

import dsnc


def versions(*packages: str) -> dict[str, str]:
    """Return the version of this package, of Python and of those packages that are installed."""
    found = {"dsnc": dsnc.__version__, "python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # an extra that is not there
            continue
    return found
