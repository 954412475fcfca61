"""The same rows have the same answers, however they come in and go out.

`FACES` has all ways to ask, with the cases that each takes and how exact its probabilities are.
"""

import csv
import io
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

import dsnc
from dsnc.cli import app
from dsnc.cluster.prediction import Predicts, make_job, predict
from dsnc.model.answers import Question
from serving import Service
from two_texts import two_texts

N, N_CLASSES, N_FEATURES = 12, 7, 9
QUICK = {"n_bits": 16, "max_epochs": 3, "validation_fraction": 0.3, "n_jobs": 1}
ODD = [', "', "é", "|", ";", "köchin", "🙂"]
FOUR, SIX = 5.1e-5, 2e-6  # how far off are probabilities of so many digits

Answers = tuple[list[list[str]], list[list[float]]]  # labels of each row, and their probabilities


class Case(NamedTuple):
    """A model and rows, what is asked about them, and what is to be answered."""

    kind: str
    model: Any
    rows: Any  # as Python takes them
    top_k: int | None  # of label sets, None asks for the set
    expected: Answers

    @property
    def in_json(self):
        if self.kind == "sparse":
            rows = [self.rows[[i]] for i in range(N)]
            return [{"indices": r.indices.tolist(), "values": r.data.tolist()} for r in rows]
        return self.rows.tolist() if self.kind == "dense" else self.rows

    @property
    def in_columns(self):
        if self.kind == "dense":
            return {f"x{i}": column.tolist() for i, column in enumerate(self.rows.T)}
        if self.kind == "two texts":
            return {name: [row[name] for row in self.rows] for name in self.rows[0]}
        return {"text": self.rows}

    @property
    def in_tensors(self):
        if self.kind in ("dense", "sparse"):
            X = self.rows.toarray() if self.kind == "sparse" else self.rows
            return {"X": X.astype("<f4")}
        return self.in_columns


class Door(NamedTuple):
    """Where to ask: a service of all models, and a folder with them, and for files."""

    service: Service
    folder: Any

    def ask(self, path, body, **headers):
        status, _, said = self.service.ask("POST", path, body, headers)
        assert status == 200, said
        return said

    def predict(self, case, body, content_type, **headers):
        path = f"/models/{case.kind.replace(' ', '%20')}/predict?probabilities=true"
        path += "" if case.top_k is None else f"&top_k={case.top_k}"
        return self.ask(path, body, **{"Content-Type": content_type}, **headers)

    def shell(self, case, source, *more, text=None):
        asked = ["predict", self.folder / case.kind, source, *more]
        asked += [] if case.top_k is None else ["--top-k", case.top_k]
        result = CliRunner().invoke(app, [str(word) for word in asked], input=text)
        assert result.exit_code == 0, result.stderr
        return result.stdout


def models(folder):
    """Return a model of each kind, and rows of few digits, which all read as the same numbers."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=300)
    X = 2 * np.eye(N_CLASSES, N_FEATURES)[y] + rng.normal(size=(300, N_FEATURES))
    X = np.round(X * (rng.random(X.shape) < 0.7), 3)
    texts = [f"w{c} {'w' * (n % 5)} {n}" for n, c in enumerate(y)]
    asked = [texts[n] + ODD[n % len(ODD)] + texts[n + N] for n in range(N)]
    jobs = ["night nurse", "bus driver", "sushi cook", "cargo pilot", "pilot of a nurse"]
    two = [{"title": jobs[n % 5], "note": f"{jobs[n % 3]} {ODD[n % len(ODD)]}"} for n in range(N)]
    sets = [[f"n{c}", "all", f"z{c % 3}"][: 1 + n % 3] for n, c in enumerate(y)]
    one, many = dsnc.DSNCClassifier, dsnc.DSNCMultiLabelClassifier
    return {
        "texts": (one(**QUICK).fit(texts, [f"c {c}" for c in y]), asked),
        "two texts": (two_texts(folder / "two.csv"), two),
        "dense": (one(**QUICK).fit(X, y), X[:N]),
        "sparse": (one(**QUICK).fit(sp.csr_matrix(X), y), sp.csr_matrix(X[:N])),
        "label sets": (many(**QUICK).fit(texts, sets), asked),
    }


def best(model, rows, top_k) -> Answers:
    """Return what `predict_proba` says; of label sets, about the labels that `predict` takes."""
    shares = np.asarray(model.predict_proba(rows), dtype=float)
    order = np.argsort(-shares, axis=1, kind="stable")
    if top_k is None:
        taken = model.predict(rows).toarray()
        kept = [row[taken[n, row] > 0] for n, row in enumerate(order)]
    else:
        kept = list(order[:, :top_k])
    labels = [[str(label) for label in model.classes_[row]] for row in kept]
    return labels, [shares[n, row].tolist() for n, row in enumerate(kept)]


@pytest.fixture(scope="module")
def door(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faces")
    made = models(folder)
    for kind, (model, _) in made.items():
        model.save(folder / kind)
    service = Service(tmp_path_factory.mktemp("log"), *(folder / kind for kind in made))
    yield Door(service, folder), made
    assert service.stop() == 0


@pytest.fixture(scope="module")
def cases(door):
    made = {}
    for kind, (model, rows) in door[1].items():
        for top_k in (2, None) if kind == "label sets" else (2,):
            name = f"{kind}, best" if kind == "label sets" and top_k else kind
            made[name] = Case(kind, model, rows, top_k, best(model, rows, top_k))
    return made


def in_python(case, door):
    if case.top_k is None:
        return case.model.sets_and_probabilities(case.rows)
    return tuple(array.tolist() for array in case.model.predict_top_k(case.rows, case.top_k))


def one_by_one(case, door):
    rows = case.rows if isinstance(case.rows, list) else [case.rows[[n]] for n in range(N)]
    rows = [[row] for row in rows] if isinstance(case.rows, list) else rows
    found = [in_python(case._replace(rows=row), door) for row in rows]
    return [labels[0] for labels, _ in found], [shares[0] for _, shares in found]


def loaded(case, door):
    return in_python(case._replace(model=dsnc.load(door.folder / case.kind)), door)


def of_object(said):
    found = json.loads(said)
    return found["labels"], found["probabilities"]


def json_at_once(case, door):
    body = json.dumps({"inputs": case.in_json}).encode()
    return of_object(door.predict(case, body, "application/json"))


def json_one_by_one(case, door):
    bodies = [json.dumps({"inputs": [row]}).encode() for row in case.in_json]
    found = [of_object(door.predict(case, body, "application/json")) for body in bodies]
    return [labels[0] for labels, _ in found], [shares[0] for _, shares in found]


def of_lines(said):
    found = [json.loads(line) for line in said.splitlines()]
    return [row["labels"] for row in found], [row["probabilities"] for row in found]


def in_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def lines_over_http(case, door):
    body = in_lines(case.in_json).encode()
    return of_lines(door.predict(case, body, "application/x-ndjson"))


def in_csv(case, delimiter=","):
    columns, file = case.in_columns, io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerows([columns, *zip(*columns.values(), strict=True)])
    return file.getvalue()


def of_cells(rows, top_k):
    """Return the answers in the columns that were added to a table."""
    if top_k is not None:
        numbers = range(1, top_k + 1)
        labels = [[row[f"prediction_{n}"] for n in numbers] for row in rows]
        return labels, [[float(row[f"probability_{n}"]) for n in numbers] for row in rows]
    found = [(row["prediction"], row["probability"]) for row in rows]
    if all(isinstance(labels, str) for labels, _ in found):
        found = [(some.split("|"), shares.split("|")) for some, shares in found]
        found = [(some if some != [""] else [], [x for x in p if x]) for some, p in found]
    return [some for some, _ in found], [list(map(float, shares)) for _, shares in found]


def of_csv(text, top_k, delimiter=","):
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    file = io.StringIO(text, newline="")
    return of_cells(list(csv.DictReader(file, delimiter=delimiter, quoting=quoting)), top_k)


def table_over_http(case, door):
    said = door.predict(case, in_csv(case).encode(), "text/csv")
    return of_csv(said.decode(), case.top_k)


def bytes_over_http(case, door):
    body = case.rows.astype("<f4").tobytes()
    return of_object(door.predict(case, body, "application/octet-stream"))


def packed(values):
    """Return the bytes of a tensor."""
    if isinstance(values, np.ndarray):
        return values.tobytes()
    texts = [text.encode() for text in values]
    return b"".join(len(text).to_bytes(4, "little") + text for text in texts)


def tensors(case, door, *, binary=False):
    inputs, tail = [], b""
    for name, values in case.in_tensors.items():
        is_array = isinstance(values, np.ndarray)
        tensor = {"name": name, "datatype": "FP32" if is_array else "BYTES"}
        tensor["shape"] = list(values.shape) if is_array else [N]
        if binary:
            tensor["parameters"] = {"binary_data_size": len(packed(values))}
            tail += packed(values)
        else:
            tensor["data"] = values.tolist() if is_array else values
        inputs.append(tensor)
    text = json.dumps({"inputs": inputs, "parameters": {"top_k": case.top_k}}).encode()
    path = f"/v2/models/{case.kind.replace(' ', '%20')}/infer"
    headers = {"Inference-Header-Content-Length": str(len(text))} if binary else {}
    outputs = json.loads(door.ask(path, text + tail, **headers))["outputs"]
    labels, shares = (np.reshape(one["data"], one["shape"]).tolist() for one in outputs)
    return labels, shares


def binary_tensors(case, door):
    return tensors(case, door, binary=True)


def shell_csv(case, door):
    (door.folder / "rows.csv").write_text(in_csv(case))
    return of_csv(door.shell(case, door.folder / "rows.csv"), case.top_k)


def shell_tsv(case, door):
    names, *rows = [list(row) for row in csv.reader(io.StringIO(in_csv(case)))]
    (door.folder / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in [names, *rows]))
    return of_csv(door.shell(case, door.folder / "rows.tsv"), case.top_k, "\t")


def records(case):
    columns = case.in_columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def shell_jsonl(case, door):
    (door.folder / "rows.jsonl").write_text(in_lines(records(case)))
    said = door.shell(case, door.folder / "rows.jsonl")
    return of_cells([json.loads(line) for line in said.splitlines()], case.top_k)


def shell_csv_to_json(case, door):
    (door.folder / "rows.csv").write_text(in_csv(case))
    said = door.shell(case, door.folder / "rows.csv", "--json")
    return of_cells([json.loads(line) for line in said.splitlines()], case.top_k)


def shell_parquet(case, door):
    pq.write_table(pa.table(case.in_columns), door.folder / "rows.parquet")
    target = door.folder / "answers.parquet"
    door.shell(case, door.folder / "rows.parquet", "-o", target, "--force")
    return of_cells(pq.read_table(target).to_pylist(), case.top_k)


def shell_lines(case, door):
    said = door.shell(case, "-", "--proba", text="".join(f"{row}\n" for row in case.rows))
    rows = [line.split("\t") if line else [] for line in said.split("\n")[:-1]]
    return [row[::2] for row in rows], [list(map(float, row[1::2])) for row in rows]


def shell_lines_to_json(case, door):
    text = "".join(f"{row}\n" for row in case.rows)
    return of_lines(door.shell(case, "-", "--json", text=text))


def shell_array(case, door):
    np.save(door.folder / "rows.npy", case.rows)
    return of_lines(door.shell(case, door.folder / "rows.npy", "--json"))


def shell_svmlight(case, door):
    X = sp.csr_matrix(case.rows)
    lines = [" ".join(f"{j + 1}:{v}" for j, v in zip(r.indices, r.data, strict=True)) for r in X]
    (door.folder / "rows.svm").write_text("".join(f"0 {line}\n" for line in lines))
    return of_lines(door.shell(case, door.folder / "rows.svm", "--json", "--first-index", "1"))


def part_of_cluster(case, door):
    """Do what each worker of a cluster does, here."""
    pq.write_table(pa.table(case.in_columns), door.folder / "rows.parquet", row_group_size=5)
    target = door.folder / f"worker {case.kind} {case.top_k}"
    asked = Question(top_k=case.top_k), 5, {}
    settings = {"batch": 3, "skip_errors": False, "n_jobs": 1}
    model, source = door.folder / case.kind, door.folder / "rows.parquet"
    job = make_job(model, source, target, *asked, **settings)
    assert [Predicts(job)(unit.number)["problem"] for unit in job.units] == [""] * 3
    return of_cells(pq.read_table(target).to_pylist(), case.top_k)


def cluster(case, door):
    pq.write_table(pa.table(case.in_columns), door.folder / "rows.parquet", row_group_size=5)
    target = door.folder / f"cluster {case.kind} {case.top_k}"
    source = door.folder / "rows.parquet"
    settings = {"ray": "local", "workers": 1, "top_k": case.top_k, "rows_per_part": 5}
    predict(door.folder / case.kind, source, target, **settings)
    return of_cells(pq.read_table(target).to_pylist(), case.top_k)


class Face(NamedTuple):
    """A way to ask."""

    ask: Callable[[Case, Door], Answers]
    cases: tuple[str, ...]
    off: float = SIX


SETS, BEST = "label sets", "label sets, best"
TEXTS = ("texts", SETS, BEST)
TABLES = ("texts", "two texts", "dense", SETS, BEST)
NO_SETS = ("texts", "two texts", "dense", BEST)  # whose columns and shapes are fixed
ALL = ("texts", "two texts", "dense", "sparse", SETS, BEST)
FACES = {
    "Python": Face(in_python, ALL),
    "Python, row by row": Face(one_by_one, ALL),
    "Python, loaded": Face(loaded, ALL),
    "JSON": Face(json_at_once, ALL),
    "JSON, row by row": Face(json_one_by_one, ALL),
    "lines": Face(lines_over_http, ALL),
    "table": Face(table_over_http, NO_SETS),
    "bytes": Face(bytes_over_http, ("dense",)),
    "tensors": Face(tensors, (*NO_SETS, "sparse")),
    "binary tensors": Face(binary_tensors, (*NO_SETS, "sparse")),
    "shell, csv": Face(shell_csv, TABLES),
    "shell, tsv": Face(shell_tsv, TABLES),
    "shell, jsonl": Face(shell_jsonl, TABLES),
    "shell, csv to JSON": Face(shell_csv_to_json, TABLES),
    "shell, parquet": Face(shell_parquet, TABLES),
    "shell, lines": Face(shell_lines, TEXTS, FOUR),
    "shell, lines to JSON": Face(shell_lines_to_json, TEXTS),
    "shell, array": Face(shell_array, ("dense",)),
    "shell, svmlight": Face(shell_svmlight, ("sparse",)),
    "worker of a cluster": Face(part_of_cluster, TABLES),
    "cluster": Face(cluster, ("texts", SETS)),
}
STARTS_RAY = [
    pytest.mark.slow,
    pytest.mark.dist,
    pytest.mark.filterwarnings(r"ignore::DeprecationWarning:ray\."),
]


@pytest.mark.parametrize(
    ("face", "case"),
    [
        pytest.param(face, case, marks=STARTS_RAY if face == "cluster" else ())
        for face, (_, taken, _) in FACES.items()
        for case in taken
    ],
)
def test_the_same_answers(door, cases, face, case):
    case, (ask, _, off) = cases[case], FACES[face]
    labels, shares = ask(case, door[0])
    assert [[str(label) for label in row] for row in labels] == case.expected[0]
    assert [len(row) for row in shares] == [len(row) for row in case.expected[1]]
    for found, expected in zip(shares, case.expected[1], strict=True):
        assert found == pytest.approx(expected, abs=off)


def test_the_rows_are_worth_asking(cases):
    """Answers that are all alike, or all certain, would show little."""
    for name, case in cases.items():
        labels, shares = case.expected
        assert len({tuple(row) for row in labels}) > 2, name
        assert len({round(row[0], 4) for row in shares if row}) > 3, name
