"""A model is a folder: ``model.json``, ``model.safetensors``, and ``README.md`` for people.

Reading executes nothing and trusts nothing: everything is checked before it is used, and whatever
is wrong is a `ModelFileError` that names the file and the key. Writing is whole or not at all, and
the same header and arrays give the same bytes. ``docs/model_format.md`` describes the files.

To change the format: add 1 to `FORMAT`; keep reading the old numbers, turning their header into
the new one; add a folder written by the old version to the golden models of the tests; describe
the change in ``docs/model_format.md``. A new optional key of the header needs no new number: a
reader that does not know it refuses the file by the key's name; so it is with optional arrays.
"""

from dsnc.persistence.layout import FORMAT, HEADER_KEYS
from dsnc.persistence.reading import read_model
from dsnc.persistence.writing import check_target, write_model

__all__ = [
    "FORMAT",
    "HEADER_KEYS",
    "check_target",
    "read_model",
    "write_model",
]
