"""Texts to features and to classes, against scikit-learn on one core.

python benchmarks/bench_text.py [FILE or FOLDER]

FILE is what `dsnc.data.load_dataset` reads; without it, titles are made up. With a FOLDER of
train.tsv, validation.tsv and test.tsv, models are trained as well: `DSNCClassifier` on strings
against a pipeline of `HashingVectorizer` and `LinearSVC`.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from dsnc.data import load_dataset
from dsnc.features import TextFeatures
from harness import best_of, report

WORDS, CHARACTERS = (1, 2), (1, 5)
SIZES = {"words": WORDS, "characters": CHARACTERS}
SINGLE = 50  # single texts in a row
OURS: dict[str, dict[str, Any]] = {
    "words": {"characters": None},
    "characters": {"words": None},
    "both": {},
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", nargs="?", type=Path, help="a file, or a folder with train.tsv")
    parser.add_argument("--bits", type=int, default=64)
    arguments = parser.parse_args()
    data = arguments.data
    torch.set_num_threads(1)
    if data is None:
        texts = made_up_titles(30_000)
    else:
        texts = load_dataset(data / "train.tsv" if data.is_dir() else data).X.tolist()
    print(f"{len(texts):,} texts, {sum(map(len, texts)) / len(texts):.1f} characters on average")
    with threadpool_limits(1):
        report("text_features", [features(name, texts) for name in OURS])
        if data is not None and data.is_dir():
            report("text_models", models(data, arguments.bits))


def made_up_titles(n: int) -> list[str]:
    """Return n titles of a few words each; frequent words are frequent as in a language."""
    rng = np.random.default_rng(0)
    syllables = ["ma", "ner", "so", "tik", "er", "al", "ba", "do", "in", "ster", "ku", "le"]
    words = ["".join(rng.choice(syllables, rng.integers(1, 5))) for _ in range(20_000)]
    places = np.minimum(rng.zipf(1.3, size=(n, 6)), len(words)) - 1
    lengths = rng.integers(1, 7, n)
    return [
        " ".join(words[j] for j in row[:m]).title() for row, m in zip(places, lengths, strict=True)
    ]


def vectorizer(name: str, n_features: int = 2**20) -> Any:
    """Return scikit-learn's counterpart, which learns nothing and knows no idf."""
    words = HashingVectorizer(
        ngram_range=WORDS, token_pattern=r"(?u)\b\w+\b", n_features=n_features
    )
    characters = HashingVectorizer(
        analyzer="char_wb", ngram_range=CHARACTERS, n_features=n_features
    )
    both = FeatureUnion([("words", words), ("characters", characters)])
    return {"words": words, "characters": characters, "both": both}[name]


def features(name: str, texts: list[str]) -> dict[str, object]:
    """Time both on all texts, and on one."""
    ours, theirs = TextFeatures(**OURS[name]).fit(texts), vectorizer(name)
    one = texts[:1]
    ours.transform(one)
    many = best_of(
        {
            "dsnc": lambda: ours.transform(texts),
            "dsnc fit": lambda: TextFeatures(**OURS[name]).fit_transform(texts),
            "sklearn": lambda: theirs.transform(texts),
        },
        repeat=3,
    )
    single = best_of(
        {
            "dsnc": lambda: [ours.transform(one) for _ in range(SINGLE)],
            "sklearn": lambda: [theirs.transform(one) for _ in range(SINGLE)],
        },
        repeat=20,
    )
    return {
        "n-grams": name if name == "both" else f"{name} {SIZES[name]}",
        "columns": ours.n_features_,
        "us/text": 1e6 * many["dsnc"] / len(texts),
        "sklearn us/text": 1e6 * many["sklearn"] / len(texts),
        "ratio": many["sklearn"] / many["dsnc"],
        "fit_transform ratio": many["sklearn"] / many["dsnc fit"],
        "single us": 1e6 * single["dsnc"] / SINGLE,
        "single ratio": single["sklearn"] / single["dsnc"],
    }


def models(folder: Path, n_bits: int) -> list[dict[str, object]]:
    """Train both on strings; compare what a row takes and how often they are right."""
    from dsnc import DSNCClassifier

    train, validation, test = (
        load_dataset(folder / f"{part}.tsv") for part in ("train", "validation", "test")
    )
    start = time.perf_counter()
    ours = DSNCClassifier(n_bits=n_bits, device="cpu")
    ours.fit(train.X, train.labels, validation=(validation.X, validation.labels))
    seconds = {"dsnc": time.perf_counter() - start}
    # Every column costs 8 bytes for each class: 2**20 of them would not fit.
    theirs = make_pipeline(vectorizer("both", 2**15), LinearSVC())
    start = time.perf_counter()
    theirs.fit(train.X, train.labels)
    seconds["sklearn"] = time.perf_counter() - start
    texts = test.X.tolist()
    # One code for each class to search, in place of those of all training rows.
    fast = ours.with_decoder({"name": "shortlist", "known": "weights"})
    soft = ours.with_decoder("soft")
    contestants = {"dsnc": ours, "dsnc weights": fast, "dsnc soft": soft, "sklearn": theirs}
    answers = {name: model.predict(texts) for name, model in contestants.items()}
    many = best_of({n: lambda m=m: m.predict(texts) for n, m in contestants.items()}, repeat=5)
    one = best_of(
        {
            n: lambda m=m: [m.predict(texts[:1]) for _ in range(SINGLE)]
            for n, m in contestants.items()
        },
        repeat=10,
    )
    sizes = {"sklearn": theirs[-1].coef_.nbytes}
    for name in list(contestants)[:3]:
        with tempfile.TemporaryDirectory() as place:
            contestants[name].save(Path(place) / "model")
            sizes[name] = sum(path.stat().st_size for path in (Path(place) / "model").iterdir())
    return [
        {
            "model": name,
            "test %": 100 * float(np.mean(answers[name] == test.labels)),
            "us/text": 1e6 * many[name] / len(texts),
            "ratio": many["sklearn"] / many[name],
            "single us": 1e6 * one[name] / SINGLE,
            "single ratio": one["sklearn"] / one[name],
            "fit s": seconds[name.partition(" ")[0]],
            "MB": sizes[name] / 1e6,
        }
        for name in contestants
    ]


if __name__ == "__main__":
    main()
