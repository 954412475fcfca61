"""The script that writes docs/results keeps what it shows."""

from dsnc.paper.experiments import Cell, Table
from records import Records
from results import recorded


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
    assert part.endswith("<!-- end of record -->\n\n- A note.\n- Bold: the best of a row.\n")
    assert "| 12 | **50.50 ± 0.71** | a\\|b | |\n" in records.table("results/x-default-accuracy")
