import bz2
import gzip
import lzma
import sys
import zipfile
from types import SimpleNamespace

import pytest

from dsnc.data import load_dataset, stream_rows
from dsnc.data.files import head, read_batches, read_chunks, read_lines, stem
from dsnc.errors import DataFileError, InputError


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
@pytest.mark.parametrize("content", [b"", b"a", b"a\n", b"\n\na\nbb\n", b"long line\nb\r\nc\rd"])
def test_chunks_end_with_their_lines_and_count_them(tmp_path, monkeypatch, chunk, content):
    monkeypatch.setattr("dsnc.data.files._CHUNK", chunk)
    path = tmp_path / "file"
    path.write_bytes(content)
    chunks = list(read_chunks(path))
    assert b"".join(piece for _, piece in chunks) == content
    for line, piece in chunks:
        before = content[: content.index(piece)] if chunk > 1 else b""
        assert line == 1 + before.count(b"\n") or chunk == 1
    assert all(piece.endswith(b"\n") for _, piece in chunks[:-1])


def test_lines_keep_their_ends_and_lose_the_byte_order_mark(tmp_path):
    (tmp_path / "file").write_bytes("\ufeffé\r\nb\rc\u2028d\n\ne".encode())
    assert list(read_lines(tmp_path / "file")) == ["é\r\n", "b\rc\u2028d\n", "\n", "e"]


@pytest.mark.parametrize("pack", [bz2, lzma], ids=["bz2", "xz"])
def test_a_small_file_may_not_unpack_to_gigabytes(tmp_path, monkeypatch, pack):
    monkeypatch.setattr("dsnc.data.files._LONGEST", 1 << 20)
    path = tmp_path / "a.csv"
    path.write_bytes(pack.compress(b"a,b\n" * 600_000))
    assert path.stat().st_size < 2400
    with pytest.raises(
        DataFileError, match=r"unpacks to more than [12],\d{3},\d{3} bytes.*unpack it"
    ):
        list(read_chunks(path))
    path.write_bytes(b"a,b\n" * 600_000)  # what is there is read
    assert sum(len(chunk) for _, chunk in read_chunks(path)) == 2_400_000


def test_another_encoding_is_named_with_its_line(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"gut\n" + "schön\n".encode("latin-1"))
    with pytest.raises(
        DataFileError, match=r"file, line 2: is not utf-8 .*: b'sch\\xf6n.*encoding="
    ):
        list(read_lines(path))
    assert list(read_lines(path, "latin-1")) == ["gut\n", "schön\n"]


def test_head_skips_empty_lines(tmp_path):
    (tmp_path / "file.gz").write_bytes(gzip.compress(b"\n\na\n\nb\nc\n"))
    assert head(tmp_path / "file.gz", 2) == [b"a\n", b"b\n"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a/b.tsv.gz", "b"), ("train.txt", "train"), ("noending", "noending"), (".hidden", ".hidden")],
)
def test_stem(name, expected):
    assert stem(name) == expected


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataFileError, match="is a folder"):
        head(tmp_path)


@pytest.fixture
def arriving(monkeypatch):
    """Let pieces of bytes arrive at stdin, one after the other."""

    def arriving(pieces):
        rest = iter(pieces)
        stdin = SimpleNamespace(buffer=SimpleNamespace(read1=lambda n: next(rest, b"")))
        monkeypatch.setattr(sys, "stdin", stdin)

    return arriving


def test_stdin_is_handed_on_as_it_comes_and_long_lines_are_joined_once(arriving):
    class Piece(bytes):
        def __radd__(self, other):
            raise AssertionError("copies all that came before")

    arriving([b"a\r\nb", *map(Piece, [b"c"] * 5), b"d\n\ne", b"f"])
    batches = list(read_batches("-", 2))
    assert batches == [(1, [b"a"]), (2, [b"bcccccd", b""]), (4, [b"ef"])]


def test_batches_are_not_larger_than_asked_for(tmp_path):
    (tmp_path / "file").write_bytes(b"1\n\n3\r\n4\n5")
    assert list(read_batches(tmp_path / "file", 3)) == [
        (1, [b"1", b"", b"3"]),
        (4, [b"4"]),
        (5, [b"5"]),
    ]


def test_a_line_without_an_end_is_refused(arriving, monkeypatch):
    monkeypatch.setattr("dsnc.data.files._LONGEST", 10)
    arriving([b"a\n", *[b"abc"] * 9])
    with pytest.raises(DataFileError, match="line 2: is longer than 10 bytes"):
        list(read_chunks("-"))


@pytest.mark.parametrize(
    ("encoding", "message"), [("utf-99", "is not known"), ("utf-16", "convert the texts to UTF-8")]
)
def test_encodings_that_cannot_be_read_line_by_line(tmp_path, encoding, message):
    with pytest.raises(InputError, match=message):
        list(read_lines(tmp_path / "file", encoding))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("opener", [open, gzip.open])
def test_utf_16_is_recognized_by_its_mark(tmp_path, encoding, opener):
    text = "".join(f"{number} schön 🙂\r\n" for number in range(200_000))
    with opener(tmp_path / "file", "wb") as file:
        file.write(("\ufeff" + text).encode(encoding))
    assert "".join(read_lines(tmp_path / "file")) == text
    (tmp_path / "cut").write_bytes(("\ufeff" + text[:10]).encode(encoding)[:-1])
    with pytest.raises(DataFileError, match="cut: is damaged or cut off"):
        list(read_lines(tmp_path / "cut"))
    (tmp_path / "bare").write_bytes("label\ttext\n".encode(encoding))
    with pytest.raises(DataFileError, match="bare: seems to be UTF-16 without .*encoding="):
        list(read_lines(tmp_path / "bare"))


def test_lines_of_old_macs_are_read(tmp_path):
    (tmp_path / "file").write_bytes(b"a,b\r1,2\r3,4\r")
    assert list(read_lines(tmp_path / "file")) == ["a,b\n", "1,2\n", "3,4\n"]


def workbook(folder, name):
    """Write what begins like a workbook of Excel."""
    if name.endswith(".xls"):
        (folder / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000))
    else:
        with zipfile.ZipFile(folder / name, "w") as file:
            for part in ("[Content_Types].xml", "xl/worksheets/sheet1.xml", "xl/workbook.xml"):
                file.writestr(part, "<x/>" * 100)
    return folder / name


@pytest.mark.parametrize("name", ["a.xlsx", "a.xls", "a.csv"])
def test_workbooks_of_excel_are_recognized(tmp_path, name):
    path = workbook(tmp_path, name)
    for read in (load_dataset, lambda path: list(stream_rows(str(path), None))):
        with pytest.raises(DataFileError, match="this is an Excel workbook: save it as CSV UTF-8"):
            read(path)
