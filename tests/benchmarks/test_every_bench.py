"""Every benchmark runs, on as little as it can: nothing else tells when the code moves on."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LITTLE = {
    "bench_accuracy": ["{rows}", "--bits", "16"],
    "bench_additions": ["{rows}", "--bits", "16", "--rows", "1"],
    "bench_cluster": ["--only", "train"],
    "bench_decoders": ["{rows}", "--bits", "16", "--epochs", "2"],
    "bench_discovery": ["{rows}", "--bits", "16", "--choices", "0"],
    "bench_fit": "--rows 2000 --classes 50 --features 500 --bits 16 --repeat 1".split(),
    "bench_growth": "--classes 300 600 --epochs 1".split(),
    "bench_hamming": "--quick --only single".split(),
    "bench_label_sets": ["{sets}", "--set", "n_bits=16"],
    "bench_million": "--classes 300 --rows 3000".split(),
    "bench_predict": ["{rows}", "--bits", "16"],
    "bench_reranker": ["{rows}", "--bits", "16"],
    "bench_serve": "--only changes --turns 1".split(),
    "bench_table": "--codes 500 --build 12 --versus 12 --lookup 12 --queries 1000".split(),
    "bench_text": ["{texts}", "--bits", "16"],
    "bench_zero_shot": ["{described}"],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The scripts, where their results do no harm."""
    target = tmp_path_factory.mktemp("copy") / "benchmarks"
    shutil.copytree(BENCHMARKS, target, ignore=shutil.ignore_patterns("results", "__pycache__"))
    return target


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Small files of each kind, by name."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    y = np.arange(1800) % 60
    paths = {"rows": "rows.svm", "sets": "sets.svm", "texts": "texts.tsv"}
    with (folder / "rows.svm").open("w") as rows, (folder / "sets.svm").open("w") as sets:
        for k in y:
            words = sorted({int(k), *rng.integers(60, 200, 3).tolist()})
            pairs = " ".join(f"{word + 1}:1" for word in words)
            rows.write(f"{k} {pairs}\n")
            sets.write(f"{min(k, (k + 7) % 60)},{max(k, (k + 7) % 60)} {pairs}\n")
    texts = [f"word{k} other{rng.integers(9)}\tclass{k}" for k in y]
    (folder / "texts.tsv").write_text("\n".join(["text\tlabel", *texts]) + "\n")
    with gzip.open(folder / "texts.jsonl.gz", "wt", encoding="utf-8") as file:
        for text in texts:
            file.write(
                json.dumps(dict(zip(("text", "label"), text.split("\t"), strict=True))) + "\n"
            )
    said = {f"class{k}": {"name": f"word{k}", "definition": f"All of word{k}."} for k in y}
    (folder / "descriptions.json").write_text(json.dumps(said))
    np.save(folder / "split.npy", np.where(y < 50, np.arange(len(y)) // 60 % 2 * 2, 3))
    return {"described": str(folder)} | {name: str(folder / path) for name, path in paths.items()}


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("bench_*.py")))
def test_runs_on_little(script, copy, data):
    command = [part.format(**data) for part in LITTLE.get(script, [])]
    done = subprocess.run(
        [sys.executable, copy / f"{script}.py", *command], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [line for path in copy.glob("results/*") for line in path.read_text().splitlines()]
    kept = [json.loads(line) for line in lines]
    assert any(f"{script}.py" in table["measured"]["by"] for table in kept), done.stdout
