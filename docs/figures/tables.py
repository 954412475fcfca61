"""Figures in README and docs are read from records: this writes them, and finds those that are not.

python docs/figures/tables.py                   write all figures again
python docs/figures/tables.py --check           only say what differs, and what has no record
python docs/figures/tables.py --take decoding   the latest run of a benchmark becomes its record

A table stands between ``<!-- record: NAME -->`` and ``<!-- end of record -->``; `records.py` says
what a record is. Sentences with figures are in ``docs/records/prose.json``: page, words with
formats in place of the figures, values. ``<!-- not measured: WHY -->`` above a table says that its
numbers are not figures of ours.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path

from records import ROOT, Records, formatted, write

TABLE = re.compile(r"(<!-- record: (\S+) -->\n).*?(<!-- end of record -->)", re.DOTALL)
NOT_MEASURED = re.compile(r"<!-- not measured: .+ -->\n(?:\|.*\n)+")
BODY = re.compile(r"^\|.*\n\|[-: |]+\n((?:\|.*\n?)+)", re.MULTILINE)
CODE = re.compile(r"```.*?```|(?<!`)(`+)(?!`)[^\n]*?\1", re.DOTALL)
UNIT = r"\d\s?(?:µs|ms|s|%|[kMG]i?B|times)(?!\w)"
FIGURE = re.compile(rf"\d\.\d|{UNIT}|[×±]\s?\d|^[*\s]*\d[\d,]*[*\s]*$")
IN_WORDS = ("README.md", "docs/index.md")  # pages whose sentences need records, too


class Pages(dict[str, str]):
    """README and all pages of docs by their path, and the records that they show."""

    def __init__(self, root: Path = ROOT) -> None:
        for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
            self[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
        self.root, self.records = root, Records(root)

    def renewed(self, page: str) -> str:
        """Return a page with the figures that the records have now."""
        text = TABLE.sub(lambda m: m[1] + self.records.table(m[2]) + m[3], self[page])
        for pattern, sentence in self._sentences(page):
            text, n = pattern.subn(partial(_with_breaks_of, sentence), text)
            if n != 1:
                raise LookupError(f"{page} should say once, and says {n} times: {sentence}")
        return text

    def _sentences(self, page: str) -> Iterator[tuple[re.Pattern[str], str]]:
        """Yield what finds each sentence of a page, and how it should read."""
        for sentence in self.records.get("prose", {}).get("sentences", ()):
            if sentence["page"] == page:
                values = [self.records.value(value, {}) for value in sentence["values"]]
                yield _pattern(sentence["words"]), formatted(sentence["words"], *values)

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the figures of all pages."""
        shown = {"prose", *re.findall(r'"= (\S+) \|', json.dumps(self.records))}
        for page, text in self.items():
            lines = zip_longest(text.splitlines(), self.renewed(page).splitlines())
            yield from (f"{page}: {a}\n  the record: {b}" for a, b in lines if a != b)
            yield from (f"{page}: no record for {line}" for line in self._typed(page))
            shown |= {match[2] for match in TABLE.finditer(text)}
        unused = sorted(set(self.records) - shown)
        yield from (f"docs/records/{name}.json: shown nowhere" for name in unused)

    def _typed(self, page: str) -> Iterator[str]:
        """Yield the lines of a page with a figure that no record stands behind."""
        text = TABLE.sub("", self[page])
        for pattern, _ in self._sentences(page):
            text = pattern.sub("", text)
        text = CODE.sub("`", NOT_MEASURED.sub("", text))
        for row in (row for body in BODY.findall(text) for row in body.splitlines()):
            if any(FIGURE.search(cell.strip()) for cell in row.split("|")[2:-1]):
                yield row  # the first cell only names what the others measure
        if page in IN_WORDS:
            yield from re.findall(rf"^[^|\n].*{UNIT}.*", text, re.MULTILINE)


def _pattern(words: str) -> re.Pattern[str]:
    """Return what finds a sentence whatever its figures are, and wherever its lines break."""
    found = [
        r"[\d.,]*\d" if part[:1] == "{" else r"(\s+)" if part.isspace() else re.escape(part)
        for part in re.split(r"(\{[^}]*\}|\s+)", words)
    ]
    return re.compile("".join(found))


def _with_breaks_of(sentence: str, match: re.Match[str]) -> str:
    first, *words = sentence.split()
    return first + "".join(map("".join, zip(match.groups(), words, strict=True)))


def take(name: str, root: Path = ROOT) -> None:
    """Make the latest run of a benchmark the record of that name; how it is shown stays."""
    lines = (root / "benchmarks" / "results" / f"{name}.jsonl").read_text(encoding="utf-8")
    path = root / "docs" / "records" / f"{name}.json"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write(path, old | json.loads(lines.splitlines()[-1]))


def main() -> None:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--take", nargs="+", default=[], metavar="NAME")
    arguments = parser.parse_args()
    for name in arguments.take:
        take(name)
    if not arguments.check:
        pages = Pages()
        for page in pages:
            (ROOT / page).write_text(pages.renewed(page), encoding="utf-8")
    problems = list(Pages().problems())
    print(*problems, sep="\n", end="\n" * bool(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
