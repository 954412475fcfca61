"""Models behind HTTP: ``dsnc serve``, and the same from Python. Needs the extra ``serve``.

`serve` runs a service with the settings of `ServeSettings`; `dsnc.serve.app.make_app` gives the
ASGI application alone, for a server of your own.
"""

from dsnc.serve.run import serve
from dsnc.serve.settings import ServeSettings, named_models, read_tokens

__all__ = ["ServeSettings", "named_models", "read_tokens", "serve"]
