"""Figures of the documents are those of their records, and none is typed by hand."""

import json
import re
import statistics

import pytest

from comparison import data_sets
from comparison_records import (
    MEASURES,
    accuracy_record,
    ahead_of_us,
    behind_record,
    cells,
    readme_record,
)
from records import Records, write
from tables import Pages, take

RECORDS = Records()
RESULTS = [name for name in RECORDS if re.match("results/.*-(accuracy|cost)$", name)]
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


def test_tables_of_measurements_are_in_three_places():
    places = {page for page, text in Pages().items() if "<!-- record: " in text}
    results = {page for page in places if page.startswith("docs/results/")}
    assert results and places - results == {"README.md", "docs/comparison.md"}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("comparison_accuracy", accuracy_record),
        ("comparison_behind", behind_record),
        ("readme", readme_record),
    ],
)
def test_where_others_are_better_is_what_their_records_say(name, make):
    assert RECORDS[name] == json.loads(json.dumps(make(RECORDS)))


@pytest.mark.parametrize(
    ("theirs", "p", "is_ahead"),
    [(70.0, 0.01, True), (70.0, 0.2, False), (70.0, None, True), (68.0, 0.01, False)],
)
def test_ahead_is_who_is_better_by_more_than_chance(theirs, p, is_ahead):
    rows = [
        {"contestant": "dsnc n_bits=64", "top-1 %": 69.0},
        {"contestant": "dsnc n_bits=200", "top-1 %": 75.0},
        {"contestant": "mlp", "top-1 %": theirs} | ({} if p is None else {"p top-1 %": p}),
    ]
    found = ahead_of_us({"rows": rows}, "top-1 %", MEASURES[0])
    assert found == (("mlp", "dsnc n_bits=64") if is_ahead else None)


def test_a_time_of_a_busy_machine_is_shown_but_compared_with_nothing():
    shared = {"data": "set", "classes": 9, "label sets": False}
    marked = {"value": 1.0, "format": "{:.1f} †"}
    rows = [
        {"contestant": "dsnc n_bits=64", "µs/row": 5.0, **shared},
        {"contestant": "omikuji", "µs/row": marked, **shared},
    ]
    records = {"comparison/set": {"rows": rows}}
    times = next(measure for measure in MEASURES if "µs/row" in measure.keys)
    assert ahead_of_us(records["comparison/set"], "µs/row", times) is None
    assert list(data_sets(records)) == [("set", rows[:1])]


def test_bold_is_what_no_test_tells_from_the_best_and_what_has_no_test_is_marked():
    shared = {"data": "set", "classes": 9, "label sets": False}
    rows = [
        {"contestant": "dsnc n_bits=64", "top-1 %": 70.0},
        {"contestant": "mlp", "top-1 %": 69.0, "p best top-1 %": 0.3},
        {"contestant": "omikuji", "top-1 %": 68.0, "p best top-1 %": 0.01},
        {"contestant": "sgd", "top-1 %": 69.0, "remark": "alpha=1 (one setting)"},
    ]
    records = {"comparison/set": {"rows": [row | shared for row in rows]}}
    found = cells(records, "comparison/set")
    formats = {name: cell["format"] for name, cell in found.items() if isinstance(cell, dict)}
    bold, plain = "**{:.1f}**", "{:.1f}"
    assert formats == {"dsnc n_bits=64": bold, "mlp": bold, "omikuji": plain, "sgd": "{:.1f} ¹ °"}


def accuracies(kind):
    """Yield bits, method and cell of all accuracies in a table of results."""
    columns, rows = RECORDS[kind]["columns"], RECORDS[kind]["rows"]
    above = ""
    for first, *found in rows:
        if kind.endswith("accuracy"):
            for method, cell in zip(columns[1:], found, strict=True):
                yield above if first == "*paper*" else first, first, method, cell.strip("*")
            above = first
        elif kind.endswith("cost"):
            yield found[0], "", first, found[1]


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
