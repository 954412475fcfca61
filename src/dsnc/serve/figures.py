"""Figures for Prometheus, the same whichever of the workers is asked."""

import glob
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from dsnc.serve.models import Models

_SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


@contextmanager
def shared_figures(workers: int) -> Iterator[None]:
    """Give several workers a folder for their figures.

    It must be there before any of them imports this module: prometheus-client then decides.
    """
    if workers == 1:
        yield
        return
    before, folder = os.environ.get(_SHARED), tempfile.mkdtemp(prefix="dsnc-serve-")
    os.environ[_SHARED] = folder
    try:
        yield
    finally:
        os.environ.pop(_SHARED)
        if before is not None:
            os.environ[_SHARED] = before
        shutil.rmtree(folder, ignore_errors=True)


class Figures:
    """What is counted."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # times that nobody reads
        self._own = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._own}
        self.requests = Counter(
            "dsnc_requests", "Requests that were answered.", ["handler", "status"], **own
        )
        self.seconds = Histogram(
            "dsnc_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ["handler"],
            buckets=_SECONDS,
            **own,
        )
        self.rows = Counter("dsnc_rows", "Rows that were predicted.", ["model"], **own)
        self.in_flight = Gauge(
            "dsnc_requests_in_flight",
            "Requests that are being answered.",
            multiprocess_mode="livesum",
            **own,
        )
        self.reloads = Counter("dsnc_reloads", "Models that were replaced.", ["model"], **own)
        self.models = Gauge(
            "dsnc_model_info",
            "1 for each version of a model that is being served.",
            ["model", "version"],
            multiprocess_mode="livemax",
            **own,
        )
        self._versions: dict[str, str] = {}
        self._known: dict[Any, Any] = {}  # finding one by its labels takes longer than counting

    def count(self, handler: str, status: int, seconds: float) -> None:
        """Count a request."""
        known = self._known.get((handler, status))
        if known is None:
            known = self.requests.labels(handler, status), self.seconds.labels(handler)
            self._known[handler, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def count_rows(self, model: str, n_rows: int) -> None:
        """Count rows that were predicted."""
        if model not in self._known:
            self._known[model] = self.rows.labels(model)
        self._known[model].inc(n_rows)

    def name_models(self, models: Models) -> None:
        """Say which versions there are now."""
        for name, served in models.items():
            before = self._versions.get(name, served.version)
            if before != served.version:
                self.models.labels(name, before).set(0)
                self.reloads.labels(name).inc()
            self.models.labels(name, served.version).set(1)
            self._versions[name] = served.version

    def text(self) -> bytes:
        """Return all figures, as Prometheus reads them."""
        folder = os.environ.get(_SHARED)
        if folder is None:
            return generate_latest(self._own)
        for path in glob.glob(os.path.join(folder, "gauge_live*_*.db")):
            process = re.search(r"_(\d+)\.db$", path)
            if process and not _is_alive(int(process[1])):
                mark_process_dead(int(process[1]), folder)  # type: ignore[no-untyped-call]
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
