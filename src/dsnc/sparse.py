"""`scipy.sparse`, imported when it is needed: who predicts from texts or arrays never needs it.

Modules that prediction imports take ``sp`` from here.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import scipy.sparse as sp
else:

    class _Sparse:
        def __getattr__(self, name: str) -> Any:
            if name == "issparse" and "scipy.sparse" not in sys.modules:
                return _is_none  # nobody can have made a sparse matrix
            found = getattr(import_module("scipy.sparse"), name)
            setattr(self, name, found)
            return found

    def _is_none(X: Any) -> bool:
        return False

    sp = _Sparse()

__all__ = ["sp"]
