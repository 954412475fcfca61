import socket
import sys

import pytest

from dsnc.cluster import connection
from dsnc.errors import ClusterError, InputError, MissingExtraError


def test_nobody_answers():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))  # taken, and nobody listens
        address = f"127.0.0.1:{server.getsockname()[1]}"
        message = f"ray='{address}' cannot be reached .*ray start --head"
        with pytest.raises(ClusterError, match=message), connection.connected(address, "here"):
            pass


def test_the_cluster_of_this_machine_is_gone(monkeypatch):
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{server.getsockname()[1]}")
        message = "ray='127.0.0.1:.*cannot be reached"
        with pytest.raises(ClusterError, match=message), connection.connected("auto", "here"):
            pass


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379x", None])
def test_what_is_no_address(address):
    with pytest.raises(InputError, match="ray="), connection.connected(address, "here"):
        pass


def test_without_ray_the_pip_line_is_shown(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    message = r"here needs 'ray'.*pip install 'dsnc\[ray\]'"
    with pytest.raises(MissingExtraError, match=message), connection.connected("auto", "here"):
        pass
