"""The loops that numpy cannot do: the only place that knows numba.

Kernels are plain functions on arrays, serial, without the GIL; threads stand one level above. Each
has a naive twin in ``tests/oracles.py``. A kernel that is changed is compiled anew, but not those
of other files that call it: after a change here, delete the cached ones (``make clean``).
"""
