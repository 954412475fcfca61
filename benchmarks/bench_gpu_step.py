"""A step of training on a GPU: all classes or few, in which precision, plain or recorded.

python benchmarks/bench_gpu_step.py [--bits 100 200] [--data FOLDER --epochs 20 --seeds 3]

Times are of sparse rows in batches of 1,000. Given a folder of sparse counts with a predefined
split, such as bible12k, it also trains on these to the end in each way, at 64 bits, and
measures test rows, by the linear decoder on soft and on hard bits. Without a GPU everything is a
hundredth as large, to see that it runs.
"""

import argparse
import time

import numpy as np
import scipy.sparse as sp
import torch

from dsnc.data import Dataset, load_dataset, make_sparse_topics
from dsnc.targets import Targets
from dsnc.training import stepper
from dsnc.training.examples import Examples
from dsnc.training.history import Progress
from dsnc.training.learner import Learner
from dsnc.training.settings import Settings
from harness import report

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
SHARE = 1 if ON_GPU else 100
WAYS = [("softmax", "float32"), ("sampled_softmax", "float32")]
if ON_GPU:
    WAYS.insert(0, ("softmax", "bfloat16"))


def learn(
    examples: Examples, held_out: Examples | None, seed: int = 0, **settings: object
) -> tuple[Learner, list[float]]:
    """Train; return the learner and the seconds of each epoch but the first."""
    ends: list[float] = []

    def note(progress: Progress) -> None:
        if ON_GPU:
            torch.cuda.synchronize()
        ends.append(time.perf_counter())

    chosen = Settings(device=DEVICE, callbacks=[note], **settings)
    learner = Learner(chosen, examples, examples.targets.n_classes, seed)
    learner.fit(examples, held_out)
    return learner, list(np.diff(ends))


def step_times(n_bits: int) -> list[dict[str, object]]:
    """Return a row for each way to make steps."""
    n_rows, n_classes, n_features, batch = (n // SHARE for n in (50_000, 12_275, 20_333, 1000))
    data = make_sparse_topics(n_rows, n_classes, n_features, words_per_row=24)
    examples = Examples(data.X, Targets(data.y.astype(np.int32), n_classes))
    pace = {"n_bits": n_bits, "batch_size": batch, "max_epochs": 5, "scaling": "none"}
    rows = []
    for loss, precision in WAYS:
        for worth_it, way in ((1 << 60, "plain"), (0, "recorded")):
            stepper.WORTH_IT = worth_it
            _, seconds = learn(examples, None, loss=loss, precision=precision, **pace)
            milliseconds = 1e3 * min(seconds) / (n_rows / batch)
            row = {"classes": n_classes, "bits": n_bits, "loss": loss, "precision": precision}
            rows.append(row | {"steps": way, "ms/step": milliseconds})
    return rows


def weighted(data: Dataset) -> sp.csr_array:
    """Return (1 + log tf) * idf of counts."""
    X = data.X.tocsr()
    train = X[data.splits["train"]]
    idf = 1 + np.log(train.shape[0] / np.maximum(1, np.asarray((train > 0).sum(axis=0)).ravel()))
    values = (1 + np.log(X.data)) * idf[X.indices]
    return sp.csr_array((values.astype(np.float32), X.indices, X.indptr), shape=X.shape)


def accuracies(data: Dataset, n_epochs: int, n_seeds: int) -> list[dict[str, object]]:
    """Return a row for each loss and precision."""
    X, targets = weighted(data), Targets(data.y.astype(np.int32), data.n_classes)
    train, held_out = (
        Examples(X, targets, None, data.splits[part]) for part in ("train", "validation")
    )
    test = data.splits["test"]
    y = torch.from_numpy(data.y[test].astype(np.int64)).to(DEVICE)
    rows = []
    for loss, precision in WAYS:
        found, seconds = [], []
        for seed in range(n_seeds):
            begun = time.perf_counter()
            pace = {"max_epochs": n_epochs, "validation_every": 10, "n_bits": 64}
            how = {"loss": loss, "precision": precision}
            trained = learn(train, held_out, seed, **pace, **how)[0].export()
            seconds.append(time.perf_counter() - begun)
            logits = torch.from_numpy(trained.encoder.logits(X[test])).to(DEVICE)
            decoder = trained.decoder
            weight, bias = (torch.tensor(p).to(DEVICE) for p in (decoder.weight, decoder.bias))
            for bits in (torch.tanh(logits / 2), torch.sign(logits)):
                answers = torch.addmm(bias, bits, weight.T).argmax(dim=1)
                found.append(100 * float((answers == y).float().mean()))
        row = {"loss": loss, "precision": precision, "epochs": n_epochs, "seeds": n_seeds}
        figures = {"s": seconds, "soft %": found[::2], "hard %": found[1::2]}
        rows.append(row | {name: float(np.mean(values)) for name, values in figures.items()})
    return rows


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bits", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--data", help="a folder of sparse counts with a split")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    a = parser.parse_args()
    report("gpu_step", [row for bits in a.bits for row in step_times(bits)])
    if a.data:
        stepper.WORTH_IT = 200
        report("gpu_step_accuracy", accuracies(load_dataset(a.data), a.epochs, a.seeds))


if __name__ == "__main__":
    main()
