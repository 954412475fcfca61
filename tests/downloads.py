"""What the tests of downloads share: a file, its server, and half of it left behind."""

import hashlib

import pytest

from dsnc.data import download
from dsnc.data.download import fetch_file
from dsnc.errors import DownloadError

CONTENT = bytes(range(256)) * 4096  # 1 MiB: several pieces
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2

FETCH = "import sys; from dsnc.data.download import fetch_file; fetch_file(*sys.argv[1:3])"


def names(folder):
    """All that lies there, the empty lock files apart."""
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".lock"))


def broken_off(server, folder, **how):
    """Leave half a file behind, as a dead connection does; then let the server behave."""
    url = server.add("/a.bin", CONTENT, break_after=HALF, **how)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(download, "TRIES", 1)
        with pytest.raises(DownloadError):
            fetch_file(url, folder)
    assert (folder / "a.bin.part").read_bytes() == CONTENT[:HALF]
    server.pages["/a.bin"].break_after = None
    server.requests.clear()
    return url
