"""Which versions are installed, for model files and for reports of errors."""

import platform
from functools import cache
from importlib import metadata

import dsnc


def versions(*packages: str) -> dict[str, str]:
    """Return the version of this package, of Python and of those packages that are installed."""
    found = {"dsnc": dsnc.__version__, "python": platform.python_version()}
    known = {name: _version(name) for name in packages}
    return found | {name: version for name, version in known.items() if version is not None}


@cache  # a file has to be read and parsed, and every model that is saved names some
def _version(package: str) -> str | None:
    """Return the version of a package; None of an extra that is not there."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
