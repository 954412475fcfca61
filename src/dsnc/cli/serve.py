"""``dsnc serve``: models behind HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from dsnc.cli.common import STATE


def serve(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...",
            help="Folders of trained models; their names appear in the addresses.",
        ),
    ],
    host: Annotated[
        str, typer.Option(help="Where to listen; 0.0.0.0 is open to the network.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file of tokens, one per line; requests need one, except for /health. With "
            "'predict' behind it, a token cannot change classes."
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A name by which clients call this service, where it has no tokens; * for any. "
            "localhost and IP addresses are always allowed."
        ),
    ] = None,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Do not let anyone change classes, even with a token."),
    ] = False,
    max_body: Annotated[
        float, typer.Option(min=0.001, help="Maximum size of a request, in megabytes.")
    ] = 32,
    max_rows: Annotated[
        int, typer.Option(min=1, help="Maximum number of rows per request.")
    ] = 100_000,
    max_answers: Annotated[
        int, typer.Option(min=1, help="Maximum number of labels per answer: rows times top_k.")
    ] = 1_000_000,
    max_seconds: Annotated[
        float, typer.Option(min=0.1, help="Maximum time for a request, in seconds.")
    ] = 30,
    max_in_flight: Annotated[
        int,
        typer.Option(
            min=1, help="Maximum number of requests at a time, per worker; others get a 429."
        ),
    ] = 64,
    drain: Annotated[
        float,
        typer.Option(
            min=0,
            help="Seconds in which the service still answers after SIGTERM, but is not ready.",
        ),
    ] = 0.5,
) -> None:
    """Serve models over HTTP: plain JSON, lines, CSV, arrays, and the Open Inference Protocol.

    Addresses and formats are described at /openapi.json. Requests are logged to stderr, one line of
    JSON each; --quiet turns that off. If a folder is replaced, the new model is loaded, and no
    request is lost. Clients with a token can add and remove classes.

    Example: dsnc serve model --port 8000
    """
    from dsnc.serve import ServeSettings, named_models, read_tokens
    from dsnc.serve import serve as run

    settings = ServeSettings(
        models=named_models(models),
        host=host,
        port=port,
        workers=workers,
        tokens={} if token_file is None else read_tokens(token_file),
        allowed_hosts=tuple(name.lower() for name in allowed_host or ()),
        read_only=read_only,
        max_body=int(max_body * 1_000_000),
        max_rows=max_rows,
        max_answers=max_answers,
        max_seconds=max_seconds,
        max_in_flight=max_in_flight,
        drain=drain,
        access_log=not STATE.quiet,
    )
    run(settings)
