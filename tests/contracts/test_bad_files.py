"""What a user is told of a bad file, to the letter; the documents quote some of it."""

import gzip
import json
import re
from pathlib import Path

import pytest

from dsnc.data import load_dataset
from dsnc.errors import DsncError

PACKED = gzip.compress(b"3 1:0.5\n" * 9, mtime=0)

CASES = {
    "too few columns": ("a.tsv", b"label\ttext\nnurse\ttriage\ndriver\n", {}),
    "a quote that never closes": ("a.csv", b'label,text\nnurse,"triage\n', {}),
    "not a number": ("a.svm", b"3 1:0.5\n4 2:x\n", {}),
    "a number without index": ("a.svm", b"3 1:0.5\n4 7 2:1\n", {}),
    "unsorted indices": ("a.svm", b"3 5:1 4:1\n", {}),
    "a negative index": ("a.svm", b"3 -4:1\n", {}),
    "a text as label": ("a.svm", b"3 1:1\nnurse 1:1\n", {}),
    "missing rows": ("xc.txt", b"3 9 4\n0,2 1:0.5\n", {}),
    "not JSON": ("a.jsonl", b'{"label": 1, "text"\n', {}),
    "missing numbers": ("a.csv", b"x,y,label\n1,2,a\n,4,b\n", {}),
    "no such column": ("a.csv", b"label,text\na,b\n", {"label_column": "lable"}),
    "a row without label": ("a.txt", b"__label__a one\ntwo\n", {}),
    "an unknown label": (
        "a.tsv",
        b"label\ttext\nnurse\ttriage\npilot\tcaptain\n",
        {"classes": ["nurse"]},
    ),
    "several labels where one is wanted": ("a.svm", b"3 1:1\n3,4 1:2\n", {"multilabel": False}),
    "mixed encodings": ("a.tsv", b"a\tgut\nb\tsch\xf6n\na\tja\n", {}),
    "a truncated archive": ("a.svm.gz", PACKED[:20], {}),
    "an empty file": ("a.svm", b"", {}),
    "no known format": ("a.txt", b"what is this\n", {}),
    "no such file": ("b.svm", None, {}),
}

MESSAGES = json.loads(Path(__file__).with_name("bad_files.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("what", CASES)
def test_the_message_says_where_and_what_was_expected(what, tmp_path, monkeypatch):
    name, content, options = CASES[what]
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DsncError) as caught:
        load_dataset(name, **options)
    assert MESSAGES[what] == str(caught.value)


def test_the_documented_ones_are_among_them(repository):
    text = (repository / "docs" / "data.md").read_text(encoding="utf-8")
    section = text.partition("## Bad files")[2].partition("\n## ")[0]
    shown = re.findall(r"^    (.+)$", section, flags=re.MULTILINE)
    assert shown and set(shown) <= set(MESSAGES.values())
