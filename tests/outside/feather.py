"""Arrow's Feather files: a format of tables, whose columns are found as in any other."""

from functools import partial

from pyarrow import feather

from dsnc.data.reader import NO, SURE, Reader
from dsnc.data.tables import Row, Table
from dsnc.data.text import read_table


def open_feather(path, options, known):
    table = feather.read_table(path)
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    cells = (Row(number, list(row)) for number, row in enumerate(rows, 1))
    return Table(path, "csv", table.column_names, cells, "Feather")  # is written as CSV


class FeatherReader(Reader):
    """Tables, and without labels tables, too."""

    endings = ("feather", "arrow")
    is_table = True
    read = staticmethod(partial(read_table, kind=open_feather))
    open = staticmethod(open_feather)

    def detect(self, start):
        return SURE if start.begin.startswith(b"ARROW1") else NO
