"""Download one file with pooch: whole or not at all, and not again where it is there."""

import hashlib
import logging
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from dsnc.errors import ChecksumError, DownloadError, require

_RETRIES = 2  # after a second, and two more
_TIMEOUT = (10, 60)  # seconds to connect, and between two pieces


def fetch_file(
    url: str,
    folder: str | os.PathLike[str],
    *,
    name: str,
    sha256: str | None = None,
    progress: bool = True,
) -> Path:
    """Download a file into `folder` under a name, unless it is there already; return its path.

    It must have the checksum `sha256` where one is known. A bar is drawn on a terminal only. A
    `ChecksumError` says that what came, or what was there, is not the file that was meant; a
    `DownloadError` why it cannot be had, and where to put it by hand.
    """
    target = Path(folder).absolute() / name
    if target.is_file():
        _check_present(target, url, sha256)
        return target
    by_hand = f"Or put the file at {target} by hand, then run the same command again."
    pooch = require("pooch", extra="download", caller="Downloading")
    import requests  # comes with pooch

    pooch.get_logger().setLevel(logging.WARNING)
    store = pooch.create(
        target.parent, "", registry={name: sha256}, urls={name: url}, retry_if_failed=_RETRIES
    )
    show = progress and sys.stderr.isatty()
    hooks = {"response": _check_answer}
    bring = pooch.HTTPDownloader(progressbar=show, timeout=_TIMEOUT, hooks=hooks)
    try:
        store.fetch(name, downloader=bring)
    except requests.HTTPError as error:
        status = f"{error.response.status_code} {error.response.reason}"
        raise DownloadError(
            f"{url}: the server answered {status}. Open the address in a browser: the file may "
            f"have moved, or need a login. {by_hand}"
        ) from error
    except requests.RequestException as error:
        raise DownloadError(
            f"{url} cannot be fetched ({_root(error)}). Check the network and run the same "
            f"command again. {by_hand}"
        ) from error
    except ValueError as error:  # of pooch, about the checksum
        raise ChecksumError(
            f"{url}: the download is not the expected file, and was removed: {error} {by_hand}"
        ) from error
    except OSError as error:
        raise DownloadError(
            f"{target} cannot be written: {error}. Make room there, or set DSNC_HOME to another "
            "folder, and run the same command again."
        ) from error
    return target


def _check_answer(response: Any, **_: Any) -> None:
    """Close the connection of an answer that pooch will not read; refuse to leave https."""
    place = urljoin(response.url, response.headers.get("location", ""))
    is_open = response.is_redirect and place.lower().startswith("http:")
    if is_open and response.url.lower().startswith("https:"):
        response.close()
        from requests import RequestException

        raise RequestException(f"the server leads to {place}, where anybody may change the file")
    if not response.ok:
        response.close()


def _check_present(target: Path, url: str, sha256: str | None) -> None:
    """Check the file that is there; it may be the user's own, so it is never replaced."""
    if sha256 is None:
        return
    with target.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ChecksumError(
            f"{target} is not the expected file: expected sha256 {sha256}, found {found}. Delete "
            f"it and run the same command to fetch it again from {url}."
        )


def _root(error: BaseException) -> str:
    """Return the system's own reason, from under what requests and urllib3 wrap around it."""
    inner: BaseException | None = error
    while inner is not None and type(inner).__module__.startswith(("requests.", "urllib3.")):
        error, inner = inner, inner.__cause__ or inner.__context__
    if isinstance(inner, OSError):
        error = inner
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
