"""Whole predictions: a single row, a batch, a million classes, a million rows.

python benchmarks/bench_predict.py [DATA] [--bits 64] [--model FOLDER]

Without DATA the rows are synthetic. Time depends on shapes, and decoding also on how near a row's
code is to known ones: our model is trained (or loaded), the weights of the others are random.
"""

import argparse
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import dsnc
from bench_accuracy import load
from dsnc import DSNCClassifier
from dsnc.codes import Encoded
from dsnc.decoders import LinearDecoder, ShortlistDecoder, SoftDecoder
from dsnc.decoders.known_codes import weight_codes
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
    parser.add_argument("--model", help="a folder with a model of the data, instead of training")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        report("decoding", [_decoding(n) for n in (1000, 12_000, 100_000, 1_000_000)])
        if arguments.data:
            _, (train, _, test) = load(arguments.data)
            X, y, rows, labels = train.X, train.y, test.X, test.y
        else:
            X, y = rows, labels = _synthetic()
        if arguments.model:
            model = dsnc.load(arguments.model)
        else:
            model = DSNCClassifier(n_bits=arguments.bits, max_epochs=arguments.epochs, device="cpu")
            model.fit(X, y)
        report("predict", _predicting(model, rows))
        report("shortlists", _shortlists(model, rows, labels))
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
    encoded = Encoded(np.where(bits, sure, -sure))
    shortlist = ShortlistDecoder(linear, *weight_codes(linear), size=16)
    shortlist._index.prepare()
    soft = SoftDecoder(weight, linear.bias)
    agree = float((shortlist.predict(encoded) == soft.predict(encoded)).mean())
    seconds = best_of(
        {
            "linear": lambda: linear.predict(encoded),
            "shortlist": lambda: shortlist.predict(encoded),
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
    """Time whole predictions of all rows and of one."""
    n_features, n_classes = X.shape[1], len(model.classes_)
    if sp.issparse(X):  # as scikit-learn wants them
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    row = X[:1]
    svc = LinearSVC()  # fitting it takes hours, and its time depends on shapes only
    svc.classes_, svc.n_features_in_ = model.classes_, n_features
    svc.intercept_ = np.zeros(n_classes)
    svc.coef_ = np.random.default_rng(0).random((n_features, n_classes)).T
    mlp = _TorchMLP(n_features, model.predictor_.n_bits, n_classes)
    batch = {
        "dsnc": model.predict,
        "dsnc, all classes": model.with_decoder("soft").predict,
        "torch MLP": mlp.predict,
        "torch MLP in batches of 4096": lambda X: mlp.predict(X, 4096),
    }
    single = {"dsnc": model.predict, "torch MLP": mlp.predict, "LinearSVC": svc.predict}
    for function in (*batch.values(), *single.values()):
        function(row)
    many = best_of({k: lambda f=f: f(X) for k, f in batch.items()}, repeat=5)
    some = best_of({"LinearSVC": lambda: svc.predict(X[:500])})
    one = best_of({k: lambda f=f: f(row) for k, f in single.items()}, repeat=300)
    many["LinearSVC"] = some["LinearSVC"] / 500 * X.shape[0]
    return [
        {
            "model": name,
            "classes": n_classes,
            "batch us/row": 1e6 * many[name] / X.shape[0] if name in many else float("nan"),
            "batch ratio": many[name] / many["dsnc"] if name in many else float("nan"),
            "single us": 1e6 * one[name] if name in one else float("nan"),
            "single ratio": one[name] / one["dsnc"] if name in one else float("nan"),
        }
        for name in dict.fromkeys([*many, *one])
    ]


def _shortlists(model: DSNCClassifier, X: Any, labels: Any) -> list[dict[str, object]]:
    """Time shortlists of the classes' own codes against scoring all classes."""
    linear: Any = model.with_decoder("linear").predictor_.decoder
    encoded = Encoded(model.predictor_.logits(X))
    soft: Any = model.with_decoder("soft").predictor_.decoder
    scoring = {"sharpness": soft.sharpness, "prior": soft.prior}
    decoders: dict[str, Any] = {
        "linear": linear,
        "soft": soft,
        "as chosen": model.predictor_.decoder,
    }
    for size in (8, 16, 32, 64, 128, 256):
        settings = {"size": size, **scoring}
        shortlist = ShortlistDecoder(linear, *weight_codes(linear), **settings)
        shortlist._index.prepare()
        decoders[f"size {size}"] = shortlist
    right = {}
    for name, decoder in decoders.items():
        answers = model.classes_[decoder.predict(encoded)]
        right[name] = 100 * float((answers == labels).mean())
    some = encoded.take(slice(0, 4096))
    turns = {k: lambda d=d: d.predict(some) for k, d in decoders.items()}
    each = {name: 1e6 * s / len(some) for name, s in best_of(turns, repeat=12).items()}
    return [
        {
            "decoder": name,
            "accuracy %": right[name],
            "below soft": right["soft"] - right[name],
            "us/row": each[name],
            "linear takes": each["linear"] / each[name],
        }
        for name in decoders
    ]


class _TorchMLP:
    """A hidden layer of sigmoid units and a softmax, as one would write it in torch."""

    def __init__(self, n_features: int, n_units: int, n_classes: int) -> None:
        self.first, self.bias = torch.randn(n_features, n_units), torch.randn(n_units)
        self.second = torch.nn.Linear(n_units, n_classes)

    @torch.no_grad()
    def predict(self, X: Any, step: int = 1024) -> Any:
        parts = [self._best(X[start : start + step]) for start in range(0, X.shape[0], step)]
        return torch.cat(parts).numpy()

    def _best(self, X: Any) -> Any:
        if sp.issparse(X):  # twice as fast as a sparse matrix of torch
            hidden = torch.nn.functional.embedding_bag(
                torch.from_numpy(X.indices),
                self.first,
                torch.from_numpy(X.indptr[:-1]),
                mode="sum",
                per_sample_weights=torch.from_numpy(X.data.astype(np.float32, copy=False)),
            )
        else:
            hidden = torch.from_numpy(np.asarray(X, dtype=np.float32)) @ self.first
        return self.second(torch.sigmoid(hidden + self.bias)).argmax(dim=1)


MEMORY = """
import numpy as np
from dsnc.codes import PackedCodes
from dsnc.decoders import LinearDecoder, ShortlistDecoder
from dsnc.decoders.known_codes import weight_codes
from dsnc.encoders import Layer, NumpyEncoder
from dsnc.predictor import Predictor
generator = np.random.default_rng(0)
weight = generator.normal(size=(12_000, 64)).astype(np.float32)
linear = LinearDecoder(weight, np.zeros(12_000))
decoder = ShortlistDecoder(linear, *weight_codes(linear), size=16)
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
