import gzip

import pytest

from dsnc.data.files import head, read_chunks, read_lines, stem
from dsnc.errors import DataFileError


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
    with pytest.raises(DataFileError, match="cannot be opened"):
        head(tmp_path)
