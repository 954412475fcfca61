"""Models behind HTTP: what ``dsnc serve`` runs, from Python. Needs the extra ``serve``.

`serve` runs a service with `ServeSettings`; `dsnc.serve.app.make_app` returns only the ASGI
application, for a server of your own.
"""

from dsnc.serve.run import serve
from dsnc.serve.settings import ServeSettings, named_models, read_tokens

__all__ = ["ServeSettings", "named_models", "read_tokens", "serve"]
