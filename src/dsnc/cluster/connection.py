"""A cluster that is there, whose nodes are as the driver is, and that has room: or a clear error.

Ray waits for ever for what it may get one day. So everything is asked for before a job begins.
"""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dsnc.checks import whole
from dsnc.errors import ClusterError, InputError, require
from dsnc.versions import versions

_REACHED = 5.0  # seconds that an address has to answer
_PROBED = 120.0  # seconds that a node has to start a process and look around
_FREE = 60.0  # seconds that other jobs have to make room
_COMPARED = ("dsnc", "python", "numpy", "pyarrow", "ray")


@contextlib.contextmanager
def connected(address: str, caller: str) -> Iterator[Any]:
    """Yield Ray, connected to a cluster; a connection that was there before stays.

    The address "auto" is the cluster that this machine belongs to, "local" starts Ray on this
    machine for as long as it takes, and anything else is a head node, as in "10.0.0.7:6379".
    Messages name the caller.
    """
    ray = require("ray", extra="ray", caller=caller)
    if ray.is_initialized():
        with quiet():
            yield ray
        return
    with quiet():
        _connect(ray, address)
        try:
            yield ray
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    if not isinstance(address, str) or not address:
        raise InputError(f"ray={address!r} must be 'auto', 'local' or an address.")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # of this process: errors are raised
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(address="local", include_dashboard=False, **options)
        return
    known = _found() if address == "auto" else address
    if known:
        _knock(known)
    try:
        ray.init(address=address, **options)
    except ConnectionError as error:
        hint = "start one with ray start --head, give its address, or use 'local'"
        if address == "auto":
            raise ClusterError(f"ray='auto': no cluster runs on this machine; {hint}.") from error
        raise ClusterError(f"ray={address!r} cannot be reached ({error}).") from error
    except RuntimeError as error:  # Ray compares its own version and Python's
        raise ClusterError(f"ray={address!r}: {error}") from error


def _found() -> str:
    """Return the address that Ray would take by itself, as far as that can be known."""
    if said := os.environ.get("RAY_ADDRESS", ""):
        return said
    with contextlib.suppress(Exception):  # not of its public face
        utils = require("ray._private.utils", extra="ray", caller="dsnc.cluster")
        return str(utils.read_ray_address() or "")
    return ""


def _knock(address: str) -> None:
    """Refuse an address where nobody answers: Ray itself would try for minutes."""
    place = address.removeprefix("ray://")
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"ray={address!r} is not an address; write HOST:PORT, 'auto' or 'local'.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"ray={address!r} cannot be reached ({error}). Is it the address of the head node that "
            "ray start --head printed, and does a firewall let it through?"
        ) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let Ray's loggers speak of problems only: progress is shown as everywhere else."""
    loggers = [logging.getLogger(name) for name in ("ray.data", "ray.train", "ray.tune")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def take_workers(ray: Any, workers: int | None, cpus: int, most: int | None = None) -> int:
    """Return how many workers there can be; refuse what would be waited for in vain.

    By default, these are as many as the cluster has room for, each with `cpus` cores. More than
    `most` would have nothing to do.
    """
    whole("cpus_per_worker", cpus)
    room = sum(int(node["Resources"].get("CPU", 0)) // cpus for node in alive_nodes(ray))
    wanted = room if workers is None else whole("workers", workers)
    if not room or wanted > room:
        raise ClusterError(
            f"workers={wanted or 1} with cpus_per_worker={cpus} do not fit: the cluster's nodes "
            f"have room for {room}. Use fewer, or add nodes first (an autoscaler does not count)."
        )
    wanted = wanted if most is None else min(wanted, max(1, most))
    until = time.monotonic() + _FREE
    while ray.available_resources().get("CPU", 0) < wanted * cpus:
        if time.monotonic() > until:
            free = ray.available_resources().get("CPU", 0)
            raise ClusterError(
                f"workers={wanted} with cpus_per_worker={cpus}: other jobs on the cluster leave "
                f"{free:g} cores free. Use fewer workers, or wait for the other jobs to end."
            )
        time.sleep(0.2)
    return wanted


def alive_nodes(ray: Any) -> list[dict[str, Any]]:
    """Return the nodes that can work."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    return [node for node in nodes if node["Resources"].get("CPU", 0) >= 1]


def check_nodes(ray: Any, *, model: Path | None = None, folders: Sequence[Path] = ()) -> None:
    """Refuse nodes that have other versions, or cannot read the model or write to the folders."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    probe = ray.remote(num_cpus=0, max_retries=1)(look_around)
    asked = {}
    for node in alive_nodes(ray):
        where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        task = probe.options(scheduling_strategy=where)
        asked[node["NodeManagerAddress"] + "/" + node["NodeID"][:6]] = task.remote(
            None if model is None else str(model), [str(folder) for folder in folders]
        )
    here, wrong = versions(*_COMPARED[2:]), []
    for name, reference in asked.items():
        try:
            found, problems = ray.get(reference, timeout=_PROBED)
        except ray.exceptions.GetTimeoutError:
            wrong.append(f"node {name} does not answer")
            continue
        except ray.exceptions.RayError as error:
            wrong.append(f"node {name} cannot run dsnc ({_cause(error)}); install it there")
            continue
        others = [
            f"{package} {found.get(package, 'missing')} (the driver has {here[package]})"
            for package in _COMPARED
            if package in here and found.get(package) != here[package]
        ]
        problems = [f"has {', '.join(others)}"] * bool(others) + problems
        wrong += [f"node {name} {problem}" for problem in problems]
    if wrong:
        raise ClusterError(f"The cluster cannot be used: {'; '.join(wrong)}.")


def look_around(model: str | None, folders: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the versions of a node, and what is wrong there."""
    problems = []
    if model is not None:
        from dsnc.persistence.layout import HEADER_FILE

        try:
            (Path(model) / HEADER_FILE).open("rb").close()
        except OSError as error:
            problems.append(
                f"cannot read the model {model} ({error.strerror}); put it on a file system that "
                "all nodes share, or at the same path on each node"
            )
    for folder in folders:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                trial = Path(folder) / f".written-{socket.gethostname()}-{os.getpid()}"
                trial.touch()
                trial.unlink()
        except OSError as error:
            problems.append(f"cannot write to {folder} ({error.strerror})")
    return versions(*_COMPARED[2:]), problems


def _cause(error: Exception) -> str:
    """Return the last line of what a node says, which is the reason."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
