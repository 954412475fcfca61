import pytest

from dsnc.data import download
from http_server import Server


@pytest.fixture
def server(monkeypatch):
    """A server of files on this machine, and no waiting between two tries."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "BACKOFF", 0.001)
    with Server() as running:
        yield running
