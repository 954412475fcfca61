"""Arrays that end, or begin, where nothing may be read: one step too far ends the process.

Here the processor checks bounds, those of SIMD instructions as well: numpy takes memory for its
arrays from `mmap`, beside a page without permissions. What numpy calls is compiled (`guard.cpp`):
memory is also given back while an error is on its way, when no Python may run.
"""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath

from compiled import compiled
from dsnc.persistence import reading

_SET_HANDLER = 304  # its place in numpy's table of C functions


class Guard:
    """Gives memory whose end is the end of a page, or whose start is the start of one."""

    def __init__(self, *, at_end: bool) -> None:
        library = compiled(Path(__file__).with_name("guard.cpp"), "-O1")
        find = library.guard_at_end if at_end else library.guard_at_start
        find.restype = ctypes.c_void_p
        self._handler = find()  # it lives as long as the process, as arrays may

    def install(self) -> None:
        """Let numpy ask here for all arrays from now on, in this thread and its children."""
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        table = pointer(_multiarray_umath._ARRAY_API, None)
        place = ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER]
        set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(place)
        set_handler(capsule(self._handler, b"mem_handler", None))


def copy_what_is_mapped() -> None:
    """Let models hold copies of all arrays: those that are mapped end within a file."""
    view = reading._view

    def copied(*args: Any) -> Any:
        array = np.copy(view(*args))
        array.flags.writeable = False
        return array

    reading._view = copied
