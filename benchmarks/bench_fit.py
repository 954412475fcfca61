"""An epoch of ``fit`` against the barest torch loop that does the same mathematics.

python benchmarks/bench_fit.py [--data FOLDER | --rows 50000 --classes 12275 ...] [--bits 100]

Without a folder of sparse rows the data are synthetic documents of about 20 words. Beside a step's
time stand the bytes that it has to move at least. Memory is measured in a process of its own.
"""

import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dsnc.classifier import DSNCClassifier
from dsnc.data import Dataset, load_dataset, make_sparse_topics
from dsnc.training.history import Progress
from harness import peak_megabytes, report

SAMPLES, BATCH = 4, 1000

MEMORY = """
import sys, torch, numpy as np
from dsnc.classifier import DSNCClassifier
from dsnc.data import load_dataset, make_sparse_topics
folder, bits = sys.argv[1], int(sys.argv[2])
rows, classes, features = map(int, sys.argv[3:6])
if folder:
    data = load_dataset(folder).take(slice(rows))
else:
    data = make_sparse_topics(rows, classes, features, words_per_row=24)
warm = make_sparse_topics(2000, 20, 50)
one = {"decoder": "linear", "trainer": "torch", "reranker": None, "max_epochs": 1, "device": "cpu"}
DSNCClassifier(n_bits=bits, **one).fit(warm.X, warm.y)
before = now()
model = DSNCClassifier(n_bits=bits, **one).fit(data.X, data.y)
size = 4 * (features * bits + classes * bits + bits + classes) / 1e6
print(json.dumps({"more": peak() - before, "parameters": size}))
"""


class Bare(nn.Module):
    """The model in its fewest lines: embedding bag, sampled bits, linear layer, cross-entropy."""

    def __init__(self, n_features: int, n_classes: int, n_bits: int) -> None:
        super().__init__()
        self.encoder = nn.EmbeddingBag(n_features, n_bits, mode="sum")
        self.bias = nn.Parameter(torch.zeros(n_bits))
        self.decoder = nn.Linear(n_bits, n_classes)

    def forward(self, rows: tuple[torch.Tensor, ...], y: torch.Tensor) -> torch.Tensor:
        """Return the mean loss over the sampled codes."""
        indices, offsets, values = rows
        phi = torch.sigmoid(self.encoder(indices, offsets, per_sample_weights=values) + self.bias)
        phi = phi.expand(SAMPLES, -1, -1)
        code = torch.bernoulli(phi) + phi - phi.detach()
        scores = self.decoder(2 * code - 1)
        return F.cross_entropy(scores.flatten(0, 1), y.repeat(SAMPLES))


def bare_epoch(data: Dataset, model: Bare, optimizer: torch.optim.Optimizer, device: str) -> float:
    """Train one epoch with the bare loop; return its seconds."""
    X, y = data.X, torch.from_numpy(data.y.astype(np.int64))
    start = time.perf_counter()
    for rows in torch.randperm(len(y)).split(BATCH):
        picked = X[rows.numpy()]
        arrays = (picked.indices, picked.indptr[:-1], picked.data)
        batch = tuple(torch.from_numpy(array).to(device) for array in arrays)
        optimizer.zero_grad()
        model(batch, y[rows].to(device)).backward()
        optimizer.step()
    _wait(device)
    return time.perf_counter() - start


def fit_epochs(data: Dataset, n_bits: int, n_epochs: int, device: str) -> list[float]:
    """Train with ``fit``; return the seconds of each epoch."""
    ends: list[float] = []

    def note(progress: Progress) -> None:
        _wait(device)
        ends.append(time.perf_counter())

    classifier = DSNCClassifier(
        n_bits=n_bits,
        decoder="linear",
        trainer="torch",
        reranker=None,
        gradient={"name": "straight_through", "n_draws": SAMPLES},
        batch_size=BATCH,
        max_epochs=n_epochs + 1,
        validation_fraction=0,
        scaling="none",
        device=device,
        callbacks=[note],
    )
    classifier.fit(data.X, data.y)
    return list(np.diff(ends))


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Run both in turns and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="", help="a folder of sparse rows, one class each")
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--classes", type=int, default=12_275)
    parser.add_argument("--features", type=int, default=20_333)
    parser.add_argument("--bits", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    a = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if a.data:
        whole = load_dataset(a.data)
        data = whole.take(np.random.default_rng(0).permutation(len(whole))[: a.rows])
        a.rows, a.classes, a.features = len(data), data.n_classes, data.width
    else:
        data = make_sparse_topics(a.rows, a.classes, a.features, words_per_row=24)
    model = Bare(a.features, a.classes, a.bits).to(device)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    bare, ours = [], []
    for _ in range(a.repeat):
        bare.append(bare_epoch(data, model, optimizer, device))
        ours += fit_epochs(data, a.bits, 1, device)
    parameters = sum(p.numel() for p in model.parameters())
    steps = -(-a.rows // BATCH)
    scores = SAMPLES * BATCH * a.classes
    # Scores are written once and read twice, parameters, gradients and moments read and written.
    floor_bytes = 4 * (3 * scores + 8 * parameters)
    sizes = map(str, (a.bits, a.rows, a.classes, a.features))
    memory = peak_megabytes(MEMORY, a.data, *sizes)
    row = {
        "device": device,
        "rows": a.rows,
        "classes": a.classes,
        "bits": a.bits,
        "bare s/epoch": min(bare),
        "fit s/epoch": min(ours),
        "fit / bare": min(ours) / min(bare),
        "ms/step": 1e3 * min(ours) / steps,
        "GB moved/step, floor": floor_bytes / 1e9,
        "fit MB above data": memory["more"],
        "parameters MB": memory["parameters"],
    }
    report("fit", [row])


if __name__ == "__main__":
    main()
