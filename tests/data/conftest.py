import time

import pytest

from http_server import Server


@pytest.fixture
def server(monkeypatch):
    """A server of files on this machine."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server() as running:
        yield running


@pytest.fixture
def no_waiting(monkeypatch):
    """Let pooch try again at once."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
