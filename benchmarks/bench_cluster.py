"""A Ray cluster of one node beside one process: prediction, memory of workers, search, training.

Rows go from Parquet to Parquet by ``dsnc predict`` and by ``dsnc.cluster.predict`` with the same
cores, in turns; the bar is 0.8 of the throughput in steady state: without the start of both.
Workers with a model of 1 GB may have 150 MB for themselves each. Codes split over actors must be
found as one index finds them. The fast trainer on parts of the rows, averaged after each epoch, is
compared with the same trainer on all rows, and with torch, which the cluster takes.

    python benchmarks/bench_cluster.py                      all of it, a million rows
    python benchmarks/bench_cluster.py --only predict --rows 10000000 --features 32
    python benchmarks/bench_cluster.py --only scale     what the records say of a billion rows
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import dsnc
from dsnc.data.synthetic import make_dense_codes, make_sparse_topics
from harness import best_of, report

SECTIONS = ("predict", "memory", "search", "train", "scale")
RECORDS = Path(__file__).parents[1] / "docs" / "records"
N_CLASSES, GROUP, REPEATS = 1000, 1 << 15, 2
SHARDS = (1, 2, 4)
BATCHES = (1024, 4096)  # rows at a time: the default, and many
MAIN = "from dsnc.cli import main; main()"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "cluster_search.png"


class Problem(NamedTuple):
    """What is predicted: rows of so many numbers, or texts where there are none."""

    n_features: int
    n_classes: int

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.n_features} numbers" if self.n_features else "texts"

    def draw(self, n: int, part: int = 0) -> tuple[Any, Any]:
        """Return rows and their classes."""
        if not self.n_features:
            return texts_of(n, part)
        data = make_dense_codes(n, self.n_classes, self.n_features, feature_noise=0.5, part=part)
        return data.X, data.y

    def settings(self) -> dict[str, Any]:
        """Return those of the model."""
        return {"n_bits": 32 if self.n_features else 64, "max_epochs": 3}


TEXTS = Problem(0, N_CLASSES)


def texts_of(n: int, part: int = 0) -> tuple[list[str], Any]:
    """Return synthetic texts of six words, and their classes."""
    topics = make_sparse_topics(n, N_CLASSES, 20_000, words_per_row=6, part=part)
    return [" ".join(f"w{j}" for j in row.indices) for row in topics.X], topics.y


def write_rows(path: Path, n: int, problem: Problem = TEXTS) -> None:
    """Write a Parquet file of ids and rows; a hundred thousand are drawn, and come again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, _ = problem.draw(min(n, 100_000), part=1)
    columns = {f"x{i}": rows[:, i] for i in range(problem.n_features)} or {"text": rows}
    drawn = pa.table(columns)
    schema = pa.schema([("id", pa.int64()), *drawn.schema])
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, n, GROUP):
            ids = np.arange(start, min(n, start + GROUP))
            some = drawn.take(pa.array(ids % len(drawn)))
            file.write_table(some.add_column(0, "id", pa.array(ids)))


# Prediction


def predict(folder: Path, problem: Problem, n_rows: int, cores: int, repeats: int) -> None:
    """Compare throughputs with the same cores; what the record has of other rows stays there."""
    import ray

    X, y = problem.draw(20_000)
    dsnc.DSNCClassifier(**problem.settings()).fit(X, y).save(folder / "model")
    write_rows(folder / "few.parquet", 1000, problem)
    write_rows(folder / "rows.parquet", n_rows, problem)
    rates: dict[str, list[tuple[float, float]]] = {"dsnc predict": [], "cluster": []}
    ray.init(
        "local", num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    for _ in range(repeats):
        rates["dsnc predict"].append(_alone(folder, n_rows, cores))
        rates["cluster"].append(_on_ray(folder, cores))
    ray.shutdown()
    best = {name: np.max(some, axis=0) for name, some in rates.items()}
    size = (folder / "rows.parquet").stat().st_size
    size += sum(part.stat().st_size for part in (folder / "parts").glob("part-*"))
    rows: list[dict[str, object]] = [
        {
            "data": problem.name,
            "what": name,
            "cores": cores,
            "rows": n_rows,
            "bytes a row": round(size / n_rows, 1),
            "rows a second": round(best[name][0]),
            "ratio": round(best[name][0] / best["dsnc predict"][0], 3),
            "rows a CPU second": round(best[name][1]),
            "ratio of CPU": round(best[name][1] / best["dsnc predict"][1], 3),
        }
        for name in best
    ]
    known = json.loads((RECORDS / "cluster_predict.json").read_text())["rows"]
    report("cluster_predict", [row for row in known if row["data"] != problem.name] + rows)


def _alone(folder: Path, n_rows: int, cores: int) -> tuple[float, float]:
    """Return rows a second, and a CPU second, of ``dsnc predict`` once it has started."""
    seconds, cpu = {}, {}
    for name in ("few", "rows"):
        out = folder / f"out-{name}.parquet"
        told = ["predict", folder / "model", folder / f"{name}.parquet", "-o", out, "-q"]
        command = [sys.executable, "-c", MAIN, *map(str, told), "--jobs", str(cores)]
        begin, before = time.perf_counter(), _children()
        subprocess.run(command, check=True)
        seconds[name], cpu[name] = time.perf_counter() - begin, _children() - before
    return n_rows / (seconds["rows"] - seconds["few"]), n_rows / (cpu["rows"] - cpu["few"])


def _children() -> float:
    """Return the CPU seconds of processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _on_ray(folder: Path, cores: int) -> tuple[float, float]:
    """Return rows a second, and a CPU second of workers, between the first parts and the last."""
    import pyarrow.parquet as pq

    from dsnc import cluster

    out = folder / "parts"
    shutil.rmtree(out, ignore_errors=True)
    seen: list[tuple[int, float]] = []  # parts, and the CPU seconds of those who wrote them
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            if spent := _cpu_of_workers():
                seen.append((len(list(out.glob("part-*"))), spent))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    places = folder / "model", folder / "rows.parquet", out
    cluster.predict(*places, workers=cores, rows_per_part=GROUP)
    over.set()
    thread.join()
    parts = sorted(out.glob("part-*"), key=lambda part: part.stat().st_mtime)
    times = [part.stat().st_mtime for part in parts]
    counts = [pq.read_metadata(part).num_rows for part in parts]
    rate = sum(counts[cores:]) / (times[-1] - times[cores - 1])
    first = next(pair for pair in seen if pair[0] >= cores)
    last = max(seen, key=lambda pair: pair[1])  # before the first of them goes, with its figure
    return float(rate), GROUP * (last[0] - first[0]) / (last[1] - first[1])


def _cpu_of_workers() -> float:
    """Return the CPU seconds of all actors that predict."""
    total = 0.0
    for pid in _pids():
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


# Memory


def memory(folder: Path, workers: int = 2) -> None:
    """Measure what workers have for themselves while they use a model of 1 GB."""
    random = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(w) for w in letters[random.integers(26, size=(600_000, 9))]]
    texts = [" ".join(words[i : i + 10]) for i in range(0, len(words), 10)]
    y = random.integers(N_CLASSES, size=len(texts))
    text = {"min_rows": 1, "max_features": 4_000_000, "n_hashes": 1 << 24}
    settings: dict[str, Any] = {"n_bits": 64, "max_epochs": 1, "reranker": None}
    dsnc.DSNCClassifier(**settings, text=text).fit(texts, y).save(folder / "large")
    size = sum(file.stat().st_size for file in (folder / "large").iterdir()) / 1e6
    write_rows(folder / "some.parquet", 200_000)
    rows = [_memory_with(folder, batch, workers) | {"model, MB": round(size)} for batch in BATCHES]
    report("cluster_memory", rows)


def _memory_with(folder: Path, batch: int, workers: int) -> dict[str, object]:
    """Return the most that a worker has, with so many rows at a time."""
    import ray

    from dsnc import cluster

    options: Any = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    ray.init("local", num_cpus=workers, **options)
    most: dict[int, tuple[float, float, float]] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            for pid, private, shared in _workers():
                bare, *known = most.get(pid, (private, 0.0, 0.0))
                most[pid] = bare, max(known[0], private), max(known[1], shared)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    places = folder / "large", folder / "some.parquet", folder / f"of-large-{batch}"
    cluster.predict(*places, workers=workers, rows_per_part=GROUP, batch=batch)
    over.set()
    thread.join()
    ray.shutdown()
    bare, private, shared = (round(max(values)) for values in zip(*most.values(), strict=True))
    row: dict[str, object] = {"workers": workers, "batch": batch, "private, MB": private}
    row |= {"before the model, MB": bare, "ours, MB": private - bare}
    return {**row, "mapped, MB": shared}


def _pids() -> list[int]:
    """Return the processes of actors that predict."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if b"ray::UnitWorker" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def _workers() -> list[tuple[int, float, float]]:
    """Return the processes of actors that predict: private MB, and mapped MB, of each."""
    found = []
    for pid in _pids():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        sizes = {line.split(":")[0]: int(line.split()[1]) * 1.024e-3 for line in lines}
        # Clean pages are those of files: the next process that maps them has the same.
        found.append((pid, sizes["Private_Dirty"], sizes["Rss"] - sizes["Anonymous"]))
    return found


# Search


def search(n_codes: int = 4_000_000, n_queries: int = 200, plot: bool = True) -> None:
    """Compare an index with its codes split over 1, 2 and 4 actors."""
    import ray

    from dsnc import cluster
    from dsnc.codes import HammingIndex, PackedCodes

    random = np.random.default_rng(0)
    words = random.integers(0, 1 << 63, size=(n_codes, 1), dtype=np.uint64) << np.uint64(1)
    codes = PackedCodes(words, 64)
    queries = PackedCodes(random.integers(0, 1 << 63, size=(n_queries, 1), dtype=np.uint64), 64)
    one = HammingIndex(codes, method="scan")
    expected = one.search(queries, 10)
    calls = {"HammingIndex": lambda: one.search(queries, 10)}
    ray.init(
        "local", num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    sent = ray.put(queries.words)
    with contextlib.ExitStack() as stack:
        for shards in SHARDS:
            split = cluster.ShardedIndex(codes, shards=shards, method="scan")
            stack.enter_context(split)
            calls[str(shards)] = partial(split.search, queries, 10)
            found = split.search(queries, 10)
            if not all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True)):
                raise SystemExit("the shards found something else")
            for number, shard in enumerate(split._shards):  # each asked alone
                ask = partial(lambda one: ray.get(one.search.remote(sent, 10, 1)), shard)
                calls[f"{shards}/{number}"] = ask
            keys = np.repeat(found[1], shards, axis=1)
            calls[f"{shards}/merge"] = partial(np.sort, keys, axis=1)
        best = best_of(calls, repeat=12)
    seconds = {name: spent for name, spent in best.items() if "/" not in name}
    slowest = {"HammingIndex": best["HammingIndex"]}
    for name in map(str, SHARDS):
        alone = max(best[f"{name}/{number}"] for number in range(int(name)))
        slowest[name] = alone + best[f"{name}/merge"]
    ray.shutdown()
    rows: list[dict[str, object]] = [
        {
            "index": "ShardedIndex" if name.isdigit() else name,
            "shards": int(name) if name.isdigit() else 0,
            "codes": n_codes,
            "queries a second": round(n_queries / spent),
            "with a core for each": round(n_queries / slowest[name]),
            "ratio": round(slowest["HammingIndex"] / slowest[name], 2),
        }
        for name, spent in seconds.items()
    ]
    report("cluster_search", rows)
    if plot:
        _plot(rows)


def _plot(rows: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    sharded = [row for row in rows if row["shards"]]
    shards = [row["shards"] for row in sharded]
    labels = {"with a core for each": "a core for each shard (calculated)"}
    labels["queries a second"] = f"all on {os.cpu_count()} busy cores"
    for key, label in labels.items():
        axes.plot(shards, [row[key] for row in sharded], marker="o", label=label)
    axes.axhline(rows[0]["with a core for each"], color="gray", ls="--", label="HammingIndex")
    axes.set(xlabel="shards", ylabel="queries a second", xticks=[1, 2, 4], ylim=(0, None))
    axes.set_title(f"{rows[0]['codes']:,} codes of 64 bits, 10 nearest")
    axes.legend()
    figure.savefig(PICTURE, dpi=120)


# Training


def train(n_rows: int = 60_000, n_classes: int = 1000) -> None:
    """Compare the fast trainer on all rows, averaged over parts of them, and torch."""
    data = make_sparse_topics(n_rows, n_classes, 20_000, words_per_row=20)
    test = make_sparse_topics(5000, n_classes, 20_000, words_per_row=20, part=1)
    rows: list[dict[str, object]] = []
    for parts in (1, 2, 4):
        begin = time.process_time()
        accuracy, epochs = _averaged(data, test, parts)
        spent = time.process_time() - begin
        row = {"trainer": "fast", "parts": parts, "accuracy": accuracy, "CPU s": spent}
        rows.append({**row, "row-steps": epochs * n_rows})
        print(rows[-1], flush=True)
    begin = time.process_time()
    model = dsnc.DSNCClassifier(n_bits=64, trainer="torch", max_epochs=10, reranker=None)
    model.fit(data.X, data.y)
    spent = time.process_time() - begin
    accuracy = float((model.predict(test.X) == test.y).mean())
    row = {"trainer": "torch", "parts": 1, "accuracy": accuracy, "CPU s": spent}
    rows.append({**row, "row-steps": model.n_iter_ * n_rows})
    report("cluster_train", rows)


def _averaged(data: Any, test: Any, parts: int) -> tuple[float, int]:
    """Train on disjoint parts, averaging after each epoch; return test accuracy and epochs."""
    from dsnc.fast import FastLearner
    from dsnc.fast.model import Model
    from dsnc.fast.steps import FastSteps
    from dsnc.predictor import Predictor
    from dsnc.targets import Targets
    from dsnc.training.examples import Examples
    from dsnc.training.settings import Settings

    n_classes = int(data.y.max()) + 1
    whole = Examples(data.X, Targets(data.y, n_classes))
    learner = FastLearner(Settings(n_bits=64, max_epochs=10), whole, n_classes, 0, 1)
    first, pace = learner._started(whole), learner._pace(whole)
    models: list[Model] = [first, *(first.copy() for _ in range(parts - 1))]
    shares = np.array_split(np.random.default_rng(0).permutation(whole.n_rows), parts)
    runs: list[FastSteps] = [
        learner._steps(model, whole._replace(rows=np.sort(rows)), pace)
        for model, rows in zip(models, shares, strict=True)
    ]
    for epoch in range(int(pace.max_epochs)):
        for run in runs:
            run.run(epoch, lambda: False)
        for arrays in (*zip(*(m.weights for m in models), strict=True),) + tuple(
            zip(*(m.squares for m in models), strict=True)
        ):
            mean = np.mean(arrays, axis=0)
            for array in arrays:
                array[...] = mean
        for run in runs:
            run.read_codes()
    predictor = Predictor(*learner.export(), None)
    return float((predictor.predict(test.X) == test.y).mean()), int(pace.max_epochs)


# A calculation

NODES, CORES, NETWORK = 16, 16, 1.25e9  # bytes a second that a node sends or receives
ROWS, CLASSES, BATCH = 1_000_000_000, 100_000_000, 1 << 14


def scale() -> None:
    """Calculate, from the records of the others, what to expect of a billion rows."""
    known = {path.stem: json.loads(path.read_text())["rows"] for path in RECORDS.glob("cl*.json")}
    of_texts = [row for row in known["cluster_predict"] if row["data"] == TEXTS.name]
    [cluster] = [row for row in of_texts if row["what"] == "cluster"]
    of_row = cluster["bytes a row"]
    scan = known["cluster_search"][0]
    [torch] = [row for row in known["cluster_train"] if row["trainer"] == "torch"]
    cores = NODES * CORES
    a_core = cluster["rows a CPU second"]
    compared = scan["codes"] * scan["with a core for each"]  # codes a second, one core
    a_step = torch["CPU s"] / torch["row-steps"] * ROWS
    steps = ROWS / BATCH
    lines = [
        ("predict a billion rows", ROWS / a_core / cores, ROWS * of_row / NETWORK / NODES),
        (
            "10 nearest of 100 million codes, for one query",
            CLASSES / compared / cores,
            cores * 10 * 12 / NETWORK,
        ),
        ("train an epoch of a billion rows, 1,000 classes", a_step / cores, steps * _sum(21_000)),
        ("the network of the same, a million classes", None, steps * _sum(1_020_000)),
        ("the network of one step, 100 million classes", None, _sum(CLASSES + 20_000)),
    ]
    rows: list[dict[str, object]] = [
        {"what": what, "cores": "" if busy is None else _time(busy), "network": _time(sent)}
        for what, busy, sent in lines
    ]
    report("cluster_scale", rows)


def _time(seconds: float) -> str:
    """Return a time in two figures."""
    for unit, size in (("h", 3600), ("min", 60), ("s", 1), ("ms", 1e-3)):
        if seconds >= size:
            return f"{float(f'{seconds / size:.2g}'):g} {unit}"
    return f"{float(f'{seconds / 1e-6:.2g}'):g} µs"


def _sum(vectors: int, n_bits: int = 64) -> float:
    """Return the seconds in which nodes add up the gradients of so many vectors, in a ring."""
    return 2 * 4 * n_bits * vectors * (NODES - 1) / NODES / NETWORK


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=0, help="numbers of a row; 0 for texts")
    parser.add_argument("--classes", type=int, default=N_CLASSES, help="of rows of numbers")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where there is room")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if "predict" in given.only:
            problem = Problem(given.features, given.classes)
            predict(folder, problem, given.rows, given.cores, given.repeats)
        if "memory" in given.only:
            memory(folder)
        if "search" in given.only:
            search()
        if "train" in given.only:
            train()
    if "scale" in given.only:
        scale()


if __name__ == "__main__":
    main()
