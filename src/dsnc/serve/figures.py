"""Figures for Prometheus, the same whichever of the workers is asked."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
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

from dsnc.serve.visits import Visit

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
    before = os.environ.get(_SHARED)
    with tempfile.TemporaryDirectory(prefix="dsnc-serve-", ignore_cleanup_errors=True) as folder:
        os.environ[_SHARED] = folder
        try:
            yield
        finally:
            os.environ.pop(_SHARED)
            if before is not None:
                os.environ[_SHARED] = before


class Figures:
    """What is counted."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # times that nobody reads
        self._own = CollectorRegistry()
        own: dict[str, Any] = {"registry": self._own}
        requests = Counter(
            "dsnc_requests", "Requests that were answered.", ["handler", "status"], **own
        )
        seconds = Histogram(
            "dsnc_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ["handler"],
            buckets=_SECONDS,
            **own,
        )
        rows = Counter("dsnc_rows", "Rows that were predicted.", ["model"], **own)
        # To find one by its labels takes longer than to count.
        self._requests, self._seconds = cache(requests.labels), cache(seconds.labels)
        self._rows = cache(rows.labels)
        self.in_flight = Gauge(
            "dsnc_requests_in_flight",
            "Requests that are being answered.",
            multiprocess_mode="livesum",
            **own,
        )

    def count(self, visit: Visit, seconds: float) -> None:
        """Count a request, and its rows."""
        self._requests(visit.handler, visit.status).inc()
        self._seconds(visit.handler).observe(seconds)
        if visit.rows:
            self._rows(visit.model).inc(visit.rows)

    def text(self) -> bytes:
        """Return all figures, as Prometheus reads them."""
        folder = os.environ.get(_SHARED)
        if folder is None:
            return generate_latest(self._own)
        for path in Path(folder).glob("gauge_live*_*.db"):
            process = int(path.stem.rpartition("_")[2])
            try:
                os.kill(process, 0)
            except OSError:  # it has ended, even if a process of somebody else has its number now
                mark_process_dead(process, folder)  # type: ignore[no-untyped-call]
        registry = CollectorRegistry()
        MultiProcessCollector(registry, folder)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
