import numpy as np
import pytest

from dsnc.classifier import PAPER
from dsnc.paper.experiments import Cell, Table, accuracy_table, cost_curve, latent_table, published
from dsnc.paper.experiments.cost_curve import Curve, Point


def test_a_cell_is_mean_and_deviation():
    cell = Cell.of([1.0, 2.0, 3.0], digits=1)
    assert (cell.text, cell.value) == ("2.0 ± 1.0", 2.0)
    assert Cell.of([5]).text == "5.00" and Cell.of([]).text == "" and Cell.of([np.nan]).text == ""


def test_markdown_marks_and_explains():
    row = [Cell("1", 1, best=True), Cell("2", 2, constant_time=True), Cell("a|b")]
    text = Table("T", ["x", "y", "z"], [row], ["note"]).to_markdown()
    assert "| **1** | *2* | a\\|b |" in text
    assert "- note\n- Bold: the best of a row.\n- Italic: decoded in constant time" in text
    assert "Bold" not in Table("T", ["x"], [[Cell("1")]]).to_markdown()


def rows_of(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


@pytest.fixture
def records(define, keep, figures):
    def make(**fields):
        found = []
        for seed in (0, 1):
            for n_bits in (12, 60):
                better = n_bits / 1000 + seed / 100
                outcomes = {
                    "linear": figures(0.5 + better),
                    "nearest": figures(0.4 + better, 50),
                    "shortlist": figures(0.7 + better, 60),
                }
                one = {"n_bits": n_bits, "seed": seed, **fields}
                codes = {
                    part: {
                        "intra": 2.0,
                        "intra_class_std": 1.0,
                        "inter": 6.0,
                        "inter_class_std": 0.5,
                        "codes": 10 + seed,
                        "rows": 100,
                    }
                    for part in ("train", "test")
                }
                found.append(keep(define("dsnc", **one), outcomes, codes))
                found.append(keep(define("mlp", **one), {"own": figures(0.6, 1000)}))
                found.append(keep(define("ecoc", **one), {"own": figures(0.1)}))
            sizeless = define("one_vs_rest", n_bits=None, seed=seed, **fields)
            found.append(keep(sizeless, {"own": figures(0.3)}))
        return found

    return make


def test_the_accuracy_table(records, define, keep):
    failed = keep(define("mlp", n_bits=12, seed=7), error="died")
    (table,) = accuracy_table.tables([*records(), failed])
    rows = rows_of(table)
    assert list(table.columns) == [
        "bits",
        "DSNC linear",
        "DSNC NN",
        "DSNC shortlist",
        "MLP",
        "ECOC",
        "one-vs-rest",
    ]
    assert rows["60"][:3] == ["56.50 ± 0.71", "46.50 ± 0.71", "76.50 ± 0.71"]
    assert rows["60"][3:] == ["60.00 ± 0.00", "10.00 ± 0.00", "30.00 ± 0.00"]
    short, long = table.rows
    assert [cell.constant_time for cell in short[1:4]] == [True, True, False]
    assert not any(cell.constant_time for cell in long)
    assert [cell.best for cell in long].index(True) == 3


def test_the_papers_figures_stand_beside_ours(records):
    (table,) = accuracy_table.tables(records(beside="DMOZ-1K"))
    paper = [row for row in table.rows if row[0].text == "*paper*"]
    assert [cell.text for cell in paper[0][1:3]] == ["31.77", "22.43"]  # 12 bits
    assert any("stand for its DMOZ-1K" in note for note in table.notes)
    (own,) = accuracy_table.tables(records(data="aloi"))
    assert any("the same data set" in note for note in own.notes)


def test_what_was_left_out_and_what_was_selected_is_said(define, keep, figures):
    rows = {"train": 9, "validation": 5, "test": 6, "validation left out": 0, "test left out": 2}
    selected = {"learning_rate": 0.1, "factor": 0.001}
    record = keep(define("mlp", selected=selected), {"own": figures(0.5)}, rows=rows)
    (table,) = accuracy_table.tables([record])
    assert "Left out, since no training row has their class: 2 of 8 test rows." in table.notes
    assert any(note.endswith("the first seed: learning rate and factor.") for note in table.notes)


@pytest.mark.parametrize(
    ("fields", "classes", "title"),
    [
        (
            {"recipe": "paper", "settings": {**PAPER, "max_epochs": 8}},
            {"classes": 200, "classes left out": 800},
            "Accuracy on tiny, paper recipe (200 of 1,000 classes, 1 seed, 8 epochs, nothing "
            "selected: a quick look, not the paper's protocol)",
        ),
        (
            {"recipe": "paper", "settings": dict(PAPER), "selected": {"learning_rate": 0.1}},
            {"classes": 200, "classes left out": 800},
            "Accuracy on tiny, paper recipe (200 of 1,000 classes, 1 seed: a quick look)",
        ),
        (
            {"settings": {"max_epochs": 100, "device": "cpu"}},
            {"classes": 12, "classes left out": 0},
            "Accuracy on tiny, default recipe (1 seed, 100 epochs: a quick look, not the paper's "
            "protocol)",
        ),
        (
            {"recipe": "paper", "settings": {**PAPER, "adaptive": "best"}, "selected": {"x": 1.0}},
            None,
            "Accuracy on tiny, paper recipe (adaptive=best: not the paper's protocol)",
        ),
        (
            {"recipe": "paper", "settings": dict(PAPER), "selected": {"learning_rate": 0.1}},
            None,
            "Accuracy on tiny, paper recipe",
        ),
        ({}, None, "Accuracy on tiny, default recipe"),
    ],
)
def test_a_title_says_what_was_run(fields, classes, title, define, keep, figures):
    seeds = (0, 1) if classes is None else (0,)
    found = [
        keep(define("dsnc", **{**fields, "seed": k}), {"linear": figures(0.5)}, rows=classes or {})
        for k in seeds
    ]
    (table,) = accuracy_table.tables(found)
    assert table.title == title


def test_no_table_shows_a_run_of_another_recipe(define, keep, figures):
    ours = keep(define("dsnc"), {"linear": figures(0.5)})
    theirs = keep(define("mlp", recipe="paper"), {"own": figures(0.9)})
    default, paper = accuracy_table.tables([ours, theirs])
    assert "MLP" not in default.columns and "DSNC linear" not in paper.columns


def test_the_latent_table(records):
    (table,) = latent_table.tables(records(beside="DMOZ-1K"))
    (first, *_) = [row for row in table.rows if row[0].text == "60"]
    texts = [cell.text for cell in first]
    assert texts[1:8] == ["no Reg", "2.0 ± 1.0", "6.0 ± 0.5", "10", "2.0 ± 1.0", "6.0 ± 0.5", "10"]
    assert texts[8:] == ["46.50 ± 0.71", "56.50 ± 0.71"]
    (paper,) = [row for row in table.rows if row[0].text == "*paper*"]
    assert [cell.text for cell in paper[2:5]] == ["10.9 ± 3", "26.6 ± 0", "28,000"]


def test_the_published_figures_are_complete():
    sizes = {name: sorted(rows) for name, rows in published.ACCURACY.items()}
    usual = [12, 24, 36, 60, 100, 200]
    assert sizes == {
        "DMOZ-1K": usual,
        "DMOZ-12K": [*usual, 400],
        "ALOI": usual,
        "IMAGENET": usual,
    }
    assert all(
        len(row) == len(published.COLUMNS)
        for rows in published.ACCURACY.values()
        for row in rows.values()
    )
    assert len(published.LATENT["DMOZ-1K"]) == 8


def test_the_cost_of_a_short_code_is_a_look_up(records, tmp_path):
    (curve,) = cost_curve.curves(records(), tmp_path)
    operations = {(p.series, p.n_bits): p.operations for p in curve.points}
    assert operations["dsnc/linear", 12] == 1 and operations["dsnc/linear", 60] == 100
    assert operations["mlp", 12] == 1000 and operations["dsnc/shortlist", 12] == 60
    assert all(np.isnan(p.microseconds) for p in curve.points)
    assert curve.front("microseconds") == []


def test_nobody_beats_the_front():
    points = [
        Point("a", 1, 0.5, 10, 1.0),
        Point("b", 1, 0.4, 10, 2.0),
        Point("c", 1, 0.9, 30, 3.0),
        Point("d", 1, 0.8, 20, np.nan),
        Point("e", 1, 0.8, 40, 4.0),
    ]
    curve = Curve("x", "default", points)
    assert [p.series for p in curve.front("operations")] == ["a", "d", "c"]
    assert [p.series for p in curve.front("microseconds")] == ["a", "c"]
