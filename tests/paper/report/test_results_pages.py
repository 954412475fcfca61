"""The script that writes docs/results keeps what it shows."""

from dsnc.paper.experiments import Cell, Table
from records import Records
from results import merged, recorded, write_page, write_selected


def test_a_table_becomes_a_record_and_a_place_in_the_page(tmp_path):
    cells = [Cell("12"), Cell.of([50.0, 51.0], best=True), Cell("a|b"), Cell()]
    columns = ["bits", "MLP", "ECOC", "NN"]
    table = Table("Accuracy on x, default recipe", columns, [cells], ["A note."])
    part = recorded(table, "results/x-default-accuracy", tmp_path / "docs" / "results")
    records = Records(tmp_path)
    record = records["results/x-default-accuracy"]
    assert record["rows"] == [["12", "**50.50 ± 0.71**", "a\\|b", ""]]
    assert record["values"] == [[None, 50.5, None, None]]
    assert part.startswith("**Accuracy on x, default recipe**\n\n<!-- record: results/x-default")
    assert part.endswith("| 12 | **50.50 ± 0.71** | a\\|b | |\n<!-- end of record -->\n")
    assert "| 12 | **50.50 ± 0.71** | a\\|b | |\n" in records.table("results/x-default-accuracy")


def test_a_table_of_costs_has_only_what_no_other_model_beats(tmp_path):
    cells = [[Cell("MLP"), Cell.of([1.0])], [Cell("NN"), Cell.of([2.0], best=True)]]
    table = Table("Cost of decoding on x, default recipe", ["model", "µs"], cells, [])
    part = recorded(table, "results/x-default-cost", tmp_path / "docs" / "results")
    record = Records(tmp_path)["results/x-default-cost"]
    assert record["rows"] == [["NN", "**2.00**"]] and record["values"] == [[None, 2.0]]
    assert "MLP" not in part


def test_a_table_of_distances_has_no_accuracies(tmp_path):
    cells = [[Cell("12"), Cell.of([5.0]), Cell.of([50.0])]]
    table = Table("Space of codes on x, paper recipe", ["bits", "train intra", "NN %"], cells, [])
    recorded(table, "results/x-paper-latent", tmp_path / "docs" / "results")
    record = Records(tmp_path)["results/x-paper-latent"]
    assert record["columns"] == ["bits", "train intra"]
    assert record["rows"] == [["12", "5.00"]] and record["values"] == [[None, 5.0]]


def test_figures_of_the_paper_stand_under_its_recipe_alone(tmp_path):
    cells = [[Cell("12"), Cell.of([50.0])], [Cell("*paper*"), Cell.of([40.0])]]
    for recipe, n in (("default", 1), ("paper", 2)):
        name = f"results/x-{recipe}-accuracy"
        table = Table(f"Accuracy on x, {recipe} recipe", ["bits", "NN"], cells, [])
        recorded(table, name, tmp_path / "docs" / "results")
        assert len(Records(tmp_path)[name]["rows"]) == n


def test_what_was_not_made_anew_stays(tmp_path):
    old = "# x\n\n## Default recipe\n\na\n\n## Paper recipe\n\n- b\n"
    (tmp_path / "x.md").write_text(old)
    write_page("x", [], tmp_path / "runs", tmp_path)
    assert (tmp_path / "x.md").read_text() == old
    kinds = [("x", "paper"), ("x", "default"), ("y", "paper")]
    before = [{"data": data, "recipe": recipe, "run": 1} for data, recipe in kinds]
    made = [{"data": "x", "recipe": "paper", "run": run} for run in (2, 3)]
    assert merged(before, made) == [*before[1:], *made]


def test_the_selected_factors_become_a_record(tmp_path):
    cell = {"data": "x", "method": "dsnc_reg", "bits": 12}
    lines = [
        cell | {"selected": {"learning_rate": 0.1, "factor": 0.0}},
        cell | {"selected": {"learning_rate": 0.3, "factor": 1e-5}, "trial": True},
        cell | {"bits": 24, "method": "mlp_reg", "selected": {"factor": 1e-5}},
        cell | {"bits": 24, "method": "dsnc", "selected": {"learning_rate": 0.1}},
    ]
    write_selected(lines, tmp_path / "docs" / "results")
    shown = Records(tmp_path).table("selected_factors").splitlines()
    assert shown[0] == "| data | method | 12 | 24 |"
    assert shown[2:] == ["| x | DSNC+Reg | 0 | |", "| x | MLP+Reg | | 1e-05 |"]
