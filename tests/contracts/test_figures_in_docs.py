"""Figures of the documents are those of their records, and none is typed by hand."""

import json
import statistics

import pytest

from comparison_records import accuracy_record, behind_record
from records import Records, write
from tables import Pages, take

RECORDS = Records()
RESULTS = [name for name in RECORDS if name.startswith("results/")]
METHODS = {
    "DSNC linear": "dsnc/linear",
    "DSNC NN": "dsnc/nearest",
    "DSNC linear+Reg": "dsnc_reg/linear",
    "DSNC NN+Reg": "dsnc_reg/nearest",
    "DSNC shortlist": "dsnc/shortlist",
    "DSNC shortlist+Reg": "dsnc_reg/shortlist",
    "DSNC table, 16 probes": "dsnc/table",
    "DSNC as fitted": "dsnc/fitted",
    "MLP": "mlp",
    "MLP+Reg": "mlp_reg",
    "ECOC": "ecoc",
    "one-vs-rest": "one_vs_rest",
    "nearest centroid": "nearest_centroid",
}
STANDS_FOR = {"aloi72k": "ALOI", "bible12k": "DMOZ-12K", "lshtc1_dryrun": "DMOZ-1K"}


def test_all_figures_come_from_records():
    assert list(Pages().problems()) == []


@pytest.mark.parametrize("make", [accuracy_record, behind_record])
def test_where_others_are_better_is_what_their_records_say(make):
    shown = RECORDS["comparison_" + make.__name__.removesuffix("_record")]
    assert shown == json.loads(json.dumps(make(RECORDS)))


def accuracies(kind):
    """Yield bits, method and cell of all accuracies in a table of results."""
    columns, rows = RECORDS[kind]["columns"], RECORDS[kind]["rows"]
    above = ""
    for first, *cells in rows:
        if kind.endswith("accuracy"):
            for method, cell in zip(columns[1:], cells, strict=True):
                yield above if first == "*paper*" else first, first, method, cell.strip("*")
            above = first
        elif kind.endswith("cost"):
            yield cells[0], "", first, cells[1]
        elif first != "*paper*":
            reg = "+Reg" if cells[0] == "Reg" else ""
            yield first, first, f"DSNC NN{reg}", cells[-2]
            yield first, first, f"DSNC linear{reg}", cells[-1]


@pytest.mark.parametrize("name", RESULTS)
def test_accuracies_of_results_are_those_of_the_runs_and_of_the_paper(name):
    data, recipe, _ = name.removeprefix("results/").rsplit("-", 2)
    runs = [run for run in RECORDS.runs if (run["data"], run["recipe"]) == (data, recipe)]
    paper = {p["bits"]: p for p in RECORDS.published if p["data"] == STANDS_FOR.get(data)}
    for bits, first, method, cell in accuracies(name):
        key, expected = METHODS[method], ""
        if first == "*paper*":
            values = [paper[int(bits)][key]] if key in paper[int(bits)] else []
        else:
            model, decoder = f"{key}/own".split("/")[:2]
            same = (r for r in runs if r["method"] == model and r["bits"] in (int(bits), None))
            values = [100 * r["accuracy"][decoder] for r in same if decoder in r["accuracy"]]
        if values:
            expected = f"{statistics.fmean(values):.2f}"
        if first and len(values) > 1:
            expected += f" ± {statistics.stdev(values):.2f}"
        assert cell == expected, (bits, method)


# And the test can fail.

TABLE = "<!-- record: speed -->\n| who | µs |\n|---|---|\n| ours | 2.5 |\n<!-- end of record -->\n"
COLUMNS = [{"title": "who"}, {"title": "µs", "format": "{:.1f}"}]


@pytest.fixture
def tree(tmp_path):
    """A tree with a page whose table has a record."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("nothing\n")
    (tmp_path / "docs" / "page.md").write_text(TABLE)
    record = {"columns": COLUMNS, "rows": [{"who": "ours", "µs": 2.46}]}
    write(tmp_path / "docs" / "records" / "speed.json", record)
    return tmp_path


def problems(tree, text, page="docs/page.md"):
    (tree / page).write_text(text)
    return list(Pages(tree).problems())


def test_a_changed_figure_fails(tree):
    assert problems(tree, TABLE) == []
    (problem,) = problems(tree, TABLE.replace("2.5", "2.4"))
    assert "page.md: | ours | 2.4 |" in problem and "| ours | 2.5 |" in problem


@pytest.mark.parametrize("cell", ["2.5", "2 %", "7 µs", "×8", "3 ± 1", "**9**", "9 times", "3 MB"])
def test_a_typed_figure_fails(tree, cell):
    typed = f"| who | what |\n|---|---|\n| ours | {cell} |\n"
    (problem,) = problems(tree, f"{TABLE}\n{typed}")
    assert "no record" in problem and cell in problem
    assert problems(tree, f"{TABLE}\n<!-- not measured: settings -->\n{typed}") == []
    assert problems(tree, f"{TABLE}\n```\n{typed}```\n") == []


def test_a_record_that_nobody_shows_and_a_value_that_none_has_fail(tree):
    assert problems(tree, "# Page\n") == ["docs/records/speed.json: shown nowhere"]
    with pytest.raises(LookupError, match="who=theirs"):
        Records(tree).value("= speed | who=theirs | µs", {})


def test_figures_in_sentences_of_the_readme_need_records(tree):
    text = "It takes\n2.5 µs a row.\n"
    assert "no record" in problems(tree, text, "README.md")[0]
    values = ["= speed | who=ours | µs"]
    sentence = {"page": "README.md", "words": "takes {:.1f} µs", "values": values}
    write(tree / "docs" / "records" / "prose.json", {"sentences": [sentence]})
    assert problems(tree, text, "README.md") == []
    assert len(problems(tree, text.replace("2.5", "2.4"), "README.md")) == 1
    assert Pages(tree).renewed("README.md") == text
    with pytest.raises(LookupError, match="should say once"):
        problems(tree, "It is quick.\n", "README.md")


def test_a_benchmark_becomes_its_record(tree):
    (tree / "benchmarks" / "results").mkdir(parents=True)
    runs = [{"measured": {}, "rows": [{"who": "ours", "µs": us}]} for us in (9.0, 7.04)]
    lines = "".join(json.dumps(run) + "\n" for run in runs)
    (tree / "benchmarks" / "results" / "speed.jsonl").write_text(lines)
    take("speed", tree)
    assert Pages(tree).renewed("docs/page.md") == TABLE.replace("2.5", "7.0")


def test_the_largest_is_bold_and_formats_apply(tree):
    columns = [{"title": "", "key": "who"}, *({"title": t, "format": "{:~}"} for t in "ab")]
    rows = [{"who": "x", "a": 1518.7, "b": 2.046}, {"who": "y", "a": 2.05, "b": 2.0499}, {}]
    record = {"columns": columns, "rows": rows, "bold": ["b"], "in": "column"}
    write(tree / "docs" / "records" / "t.json", record)
    lines = ["| | a | b |", "|---|---|---|", "| x | 1,519 | **2.05** |", "| y | 2.05 | **2.05** |"]
    assert Records(tree).table("t").splitlines() == [*lines, "| | | |"]
