"""Runs the service, given its settings."""

import contextlib
import os
import signal
import socket
import tempfile
import warnings
from functools import partial
from typing import Any

from dsnc.errors import InputError, require
from dsnc.serve.settings import ServeSettings

_GRACE = 10  # seconds for requests that are being answered when the service stops
_PATIENCE = 10.0  # seconds for the head of a request
_NEEDED = ("starlette", "uvicorn", "uvloop", "httptools", "msgspec", "prometheus_client")
_STARTING = 120  # seconds that a worker may be silent, as while it reads a large model


def serve(settings: ServeSettings) -> None:
    """Serve models until SIGINT or SIGTERM.

    For `settings.drain` seconds it then still answers, but says that it is not ready; after that,
    requests in progress are answered, within ten seconds.

    Parameters
    ----------
    settings : ServeSettings
        The models, and everything else that can be set.
    """
    for module in _NEEDED:
        require(module, extra="serve", caller="dsnc serve")
    try:
        tempfile.TemporaryFile().close()
    except OSError as error:
        raise InputError(
            f"TMPDIR={os.environ.get('TMPDIR', '')!r}: no folder for temporary files can be "
            f"written ({error.strerror or error}), and models are copied there; name one, such as "
            "a tmpfs."
        ) from None
    from dsnc.serve.figures import shared_figures

    with shared_figures(settings.workers), contextlib.closing(_listen(settings)) as listener:
        _serve(settings, listener)


def _serve(settings: ServeSettings, listener: socket.socket) -> None:
    from dsnc.serve.log import Log, keep_remarks
    from dsnc.serve.models import Models
    from dsnc.serve.protocol import Patience
    from dsnc.serve.workers import DrainConfig, DrainServer, Workers

    log = Log()
    models = Models(settings, log)  # what is wrong with one is said before a worker starts
    versions = {name: served.version for name, served in models.items()}
    config = DrainConfig(
        partial(_make_app, settings, models if settings.workers == 1 else None),
        factory=True,
        workers=settings.workers,
        http=partial(Patience, seconds=min(_PATIENCE, settings.max_seconds)),  # type: ignore[arg-type]
        loop="uvloop",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_worker_healthcheck=_STARTING,
    )
    config.drain = settings.drain
    del models
    keep_remarks(log)
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    log.note("starting", address=address, models=versions, workers=settings.workers)
    # uvicorn raises the signal again when all is over.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        if settings.workers == 1:
            DrainServer(config).run([listener])
        else:
            Workers(config, [listener]).run()
    log.note("stopped", process=os.getpid())


def _make_app(settings: ServeSettings, models: Any) -> Any:
    """Make the application of a process that is ours alone."""
    from dsnc.serve.app import make_app
    from dsnc.serve.log import Log, keep_remarks

    warnings.simplefilter("ignore")  # they would be about rows of clients
    keep_remarks(Log())
    return make_app(settings, models)


def _listen(settings: ServeSettings) -> socket.socket:
    """Take the port before anything that lasts."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"host={settings.host!r} and port={settings.port}: cannot listen there ({reason}); "
            "choose another port, or port 0 for a free one."
        ) from None
    listener.set_inheritable(True)
    return listener
