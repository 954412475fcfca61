"""What a worker of a cluster does with a unit, in this process."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_cluster_data import save_model, texts

import dsnc
from dsnc.cluster.prediction import Predicts, make_job
from dsnc.data.columns import Columns
from dsnc.errors import InputError, ModelFileError
from dsnc.model.answers import Question


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("worker") / "model")


def work(model, source, target, question=None, *, skip_errors=False, **table):
    """Let one worker do all units; return what it says, and the parts together."""
    settings = {"batch": 16, "skip_errors": skip_errors, "n_jobs": 1}
    job = make_job(model, source, target, question or Question(), 100, table, **settings)
    worker = Predicts(job)
    told = [worker(unit.number) for unit in job.units]
    return told, None if any(one["problem"] for one in told) else pq.read_table(target)


def test_csv_lines_and_other_file_systems(model, tmp_path):
    rows = texts(40, 9)
    expected = dsnc.load(model).predict([*rows, "w1 w2"]).tolist()
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "a.csv").write_text("id,text\n" + "".join(f"{i},{t}\n" for i, t in enumerate(rows)))
    (folder / "b.csv").write_text("id,text\n7,w1 w2\n")
    told, found = work(model, folder, tmp_path / "csv")
    assert [(one["rows"], one["noticed"]) for one in told] == [(40, {}), (1, {})]
    assert found["id"].to_pylist() == [*map(str, range(40)), "7"]
    assert found["prediction"].to_pylist() == expected
    (tmp_path / "lines.txt").write_text("\n".join(rows) + "\n")
    _, found = work(model, f"local://{tmp_path}/lines.txt", f"local://{tmp_path}/of-lines")
    assert found["text"].to_pylist() == rows
    assert found["prediction"].to_pylist() == expected[:-1]


def test_files_without_a_header(model, tmp_path):
    rows = texts(40, 9)
    known = dsnc.load(model)
    known.data_ |= {"columns": Columns("0", ("1",)).plain()}  # what such a file is remembered as
    known.save(tmp_path / "model")
    folder = tmp_path / "rows"
    folder.mkdir()
    for name, some in (("a.tsv", rows[:25]), ("b.tsv", rows[25:])):
        (folder / name).write_text("".join(f"class 1\t{text}\n" for text in some))
    told, found = work(tmp_path / "model", folder, tmp_path / "out")
    assert [one["rows"] for one in told] == [25, 15]
    assert found.column_names == ["0", "1", "prediction", "probability"]
    assert found["1"].to_pylist() == rows
    assert found["prediction"].to_pylist() == known.predict(rows).tolist()


def test_rows_that_cannot_be_read_are_named(model, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": 1, "text": "w1 w2"}\n{"id": 2, "text"\n')
    [told], _ = work(model, path, tmp_path / "out")
    assert "rows.jsonl, line 2: is not JSON" in told["problem"]
    [told], found = work(model, path, tmp_path / "skipped", skip_errors=True)
    assert (told["rows"], told["noticed"]) == (2, {"could not be read": 1})
    assert "is not JSON" in found["error"].to_pylist()[1]
    path.write_text('{"id": 1, "text": "w1"}\n' * 1000 + '{"id": "two", "text": "w2"}\n')
    [told], _ = work(model, path, tmp_path / "types")
    assert told["problem"].startswith(f"{path}: ")


def test_sets_of_labels_are_lists(tmp_path):
    rows = texts(40, 9)
    sets = [[f"class {i % 5}", "all"] for i in range(40)]
    settings = {"n_bits": 16, "max_epochs": 2, "n_jobs": 1}
    fitted = dsnc.DSNCMultiLabelClassifier(**settings).fit(rows, sets)
    fitted.save(tmp_path / "model")
    table = pa.table({"id": range(40), "text": rows})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=10)
    source = tmp_path / "rows.parquet"
    [told], found = work(tmp_path / "model", source, tmp_path / "sets")
    expected, shares = fitted.sets_and_probabilities(rows)
    assert told["rows"] == 40
    assert found["prediction"].to_pylist() == [list(names) for names in expected]
    assert found["probability"].to_pylist() == [list(some) for some in shares]
    _, found = work(tmp_path / "model", source, tmp_path / "best", Question(top_k=1))
    assert set(found["prediction"].to_pylist()) == {"all"}


def test_what_is_asked_is_checked_before_anything_starts(model, tmp_path):
    (tmp_path / "rows.csv").write_text("id,title\n1,w1\n")
    with pytest.raises(InputError, match="no option 'colour'"):
        work(model, tmp_path / "rows.csv", tmp_path / "out", colour="red")
    with pytest.raises(InputError, match="text_column='texts'"):
        work(model, tmp_path / "rows.csv", tmp_path / "out", text_column="texts")
    with pytest.raises(ModelFileError, match="is not a folder"):
        work(tmp_path / "nothing", tmp_path / "rows.csv", tmp_path / "out")
    with pytest.raises(InputError, match="top_k=500 must be a whole number from 1 to 12"):
        work(model, tmp_path / "rows.csv", tmp_path / "out", Question(top_k=500))
