"""Whole predictions: a single row, a batch, a million classes, a million rows.

python benchmarks/bench_predict.py [DATA] [--bits 64]

Without DATA the rows are synthetic. The models are not trained for this: time depends on shapes,
and decoding also on how near a row's code is to known ones, which codes drawn around the classes'
own imitate (or the data's, with DATA: then the model is trained, and LinearSVC has random weights).
"""

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.tune import weight_codes
from harness import best_of, peak_megabytes, report

NOISE = 0.05  # of bits


def main() -> None:
    """Run all parts and print their tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="?", help="a name, folder or file")
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        report("decoding", [_decoding(n) for n in (1000, 12_000, 100_000, 1_000_000)])
        if arguments.data:
            _, (train, _, test) = load(arguments.data)
            X, y = train.X, train.y
        else:
            X, y, test = *_synthetic(), None
        model = DSNCClassifier(n_bits=arguments.bits, max_epochs=arguments.epochs, device="cpu")
        model.fit(X, y)
        rows = X if test is None else test.X
        report("predict", _predicting(model, rows))
    report("predict_memory", [_memory()])


def _synthetic(n: int = 10_000, n_classes: int = 2_000) -> tuple[Any, Any]:
    from dsnc.data import make_sparse_topics

    data = make_sparse_topics(n_rows=n, n_classes=n_classes, n_features=20_000)
    return data.X, data.labels


def _decoding(n_classes: int, n_bits: int = 64, n_rows: int = 256) -> dict[str, object]:
    """Time the shortlist against scoring all classes, on codes near those of the classes."""
    generator = np.random.default_rng(0)
    signs = np.where(generator.random((n_classes, n_bits)) < 0.5, 1, -1)
    weight = (signs * generator.uniform(0.5, 1.5, signs.shape)).astype(np.float32)
    linear = LinearDecoder(weight, np.zeros(n_classes))
    near = weight[generator.integers(0, n_classes, n_rows)] > 0
    bits = near ^ (generator.random(near.shape) < NOISE)
    sure = generator.exponential(3, size=bits.shape).astype(np.float32)
    logits = np.where(bits, sure, -sure)
    codes = PackedCodes.from_logits(logits)
    shortlist = ShortlistDecoder(linear, *weight_codes(linear), size=16, radius=4)
    shortlist._index.prepare()
    soft = SoftDecoder(weight, linear.bias)
    agree = float((shortlist.predict(codes, logits) == soft.predict(codes, logits)).mean())
    seconds = best_of(
        {
            "linear": lambda: linear.predict(codes, logits),
            "shortlist": lambda: shortlist.predict(codes, logits),
        },
        repeat=3,
    )
    return {
        "classes": n_classes,
        "linear us": 1e6 * seconds["linear"] / n_rows,
        "shortlist us": 1e6 * seconds["shortlist"] / n_rows,
        "ratio": seconds["linear"] / seconds["shortlist"],
        "same answer as all classes %": 100 * agree,
    }


def _predicting(model: DSNCClassifier, X: Any) -> list[dict[str, object]]:
    """Time whole predictions of a batch and of one row."""
    n_features, n_classes = X.shape[1], len(model.classes_)
    if sp.issparse(X):  # as scikit-learn wants them
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    batch, row = X[:2048], X[:1]
    svc = LinearSVC().fit(X[:20], np.arange(20) % 2)
    generator = np.random.default_rng(0)
    svc.classes_ = model.classes_
    svc.coef_ = np.asfortranarray(generator.normal(size=(n_classes, n_features)))
    svc.intercept_ = np.zeros(n_classes)
    mlp = _TorchMLP(n_features, model.n_bits, n_classes)
    contestants = {
        "dsnc": model.predict,
        "dsnc, all classes": model.with_decoder("soft").predict,
        "torch MLP": mlp.predict,
        "LinearSVC": svc.predict,
    }
    for function in contestants.values():
        function(batch)
        function(row)
    many = best_of({k: lambda f=f: f(batch) for k, f in contestants.items()}, repeat=3)
    one = best_of({k: lambda f=f: f(row) for k, f in contestants.items()}, repeat=30)
    return [
        {
            "model": name,
            "classes": n_classes,
            "batch us/row": 1e6 * many[name] / batch.shape[0],
            "batch ratio": many[name] / many["dsnc"],
            "single us": 1e6 * one[name],
            "single ratio": one[name] / one["dsnc"],
        }
        for name in contestants
    ]


class _TorchMLP:
    """A hidden layer of sigmoid units and a softmax, as one would write it in torch."""

    def __init__(self, n_features: int, n_units: int, n_classes: int) -> None:
        self.first = torch.randn(n_features, n_units)
        self.second = torch.randn(n_units, n_classes)

    @torch.no_grad()
    def predict(self, X: Any) -> Any:
        if sp.issparse(X):
            rows = torch.sparse_csr_tensor(
                torch.from_numpy(X.indptr.astype(np.int64)),
                torch.from_numpy(X.indices.astype(np.int64)),
                torch.from_numpy(X.data.astype(np.float32)),
                size=X.shape,
            )
            hidden = rows @ self.first
        else:
            hidden = torch.from_numpy(np.asarray(X, dtype=np.float32)) @ self.first
        step = 1024  # all scores of many rows would not fit the memory
        parts = [torch.sigmoid(h) @ self.second for h in hidden.split(step)]
        return torch.cat([part.argmax(dim=1) for part in parts]).numpy()


MEMORY = """
import numpy as np
from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.tune import weight_codes
from dsnc.predictor import Layer, NumpyEncoder, Predictor
generator = np.random.default_rng(0)
weight = generator.normal(size=(12_000, 64)).astype(np.float32)
linear = LinearDecoder(weight, np.zeros(12_000))
decoder = ShortlistDecoder(linear, *weight_codes(linear), size=16, radius=4)
encoder = NumpyEncoder([Layer(generator.normal(size=(32, 64)), np.zeros(64))])
predictor = Predictor(encoder, decoder)
X = generator.normal(size=(1_000_000, 32)).astype(np.float32)
predictor.predict(X[:4096])
before = now()
predictor.predict(X)
print(json.dumps({"MB beyond model and rows": peak() - before}))
"""


def _memory() -> dict[str, object]:
    """Measure what predicting a million rows of 12,000 classes takes beyond model and rows."""
    return {"rows": "1,000,000", "classes": "12,000", **peak_megabytes(MEMORY)}


if __name__ == "__main__":
    main()
