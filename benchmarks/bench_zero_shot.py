"""Classes that have never had a row, from descriptions, against matching by tf-idf; on one core.

python benchmarks/bench_zero_shot.py FOLDER [--pseudo]
python benchmarks/bench_zero_shot.py --refine TITLES DESCRIPTIONS

FOLDER has texts.jsonl.gz (text, label), split.npy (0 to learn from, 2 and 3 to test: classes with
and without a row to learn from) and descriptions.json (name and definition of each label). With
--pseudo a fifth of the classes is held back from training instead: to choose settings by.

--refine: a fifth of the classes comes later, from 0, 1, 2, ... rows each, with and without a
description. TITLES has train.tsv and test.tsv, DESCRIPTIONS descriptions.json (title and
description of each label).
"""

import argparse
import copy
import gzip
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from dsnc import DSNCClassifier
from dsnc.data import load_dataset
from harness import report

SHARE, ROWS, REPEAT = 0.2, 512, 3
STEPS = (0, 1, 2, 4, 8, 16, 32)  # rows of a class


class Data(NamedTuple):
    """Texts and labels to learn from, to test on, and what is said of classes."""

    train: tuple[Any, Any]
    seen: tuple[Any, Any]
    unseen: tuple[Any, Any]
    said: dict[str, list[str]]

    @property
    def strangers(self) -> set[str]:
        """Classes without a row."""
        return set(self.said) - set(self.train[1].tolist())


def load(folder: Path, *, pseudo: bool) -> Data:
    """Read a folder."""
    with gzip.open(folder / "texts.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    X, y = (np.array([line[key] for line in lines], dtype=object) for key in ("text", "label"))
    split = np.load(folder / "split.npy")
    if pseudo:
        classes = np.unique(y[split == 0].astype(str))
        held = np.random.default_rng(0).permutation(classes)[: int(SHARE * len(classes))]
        mine = np.isin(y.astype(str), held)
        split = np.where(split == 3, -1, split)
        split = np.where(mine, np.where(split == 0, 3, -1), split)
    described = json.loads((folder / "descriptions.json").read_text(encoding="utf-8"))
    labels = sorted(set(y[split >= 0].tolist()))
    said = {k: [described[k]["name"], described[k]["definition"]] for k in labels}
    parts = ((X[split == part], y[split == part]) for part in (0, 2, 3))
    return Data(*parts, said)


def matching(data: Data) -> dict[str, object]:
    """Find the description that a row is most like."""
    labels = np.array(list(data.said), dtype=object)
    texts = [". ".join(filter(None, said)) for said in data.said.values()]
    start = time.process_time()
    features = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    known = features.fit_transform(texts).T.tocsr()
    seconds = time.process_time() - start

    def predict(X: Any, which: Any = slice(None)) -> Any:
        columns, parts = known[:, which], []
        for start in range(0, len(X), ROWS):
            scores = (features.transform(X[start : start + ROWS]) @ columns).toarray()
            parts.append(labels[which][scores.argmax(axis=1)])
        return np.concatenate(parts)

    strange = np.flatnonzero(np.isin(labels.astype(str), sorted(data.strangers)))
    return {
        "model": "tf-idf of 3 to 5 characters, the nearest description",
        "unseen %": right(predict(data.unseen[0], strange), data.unseen),
        "all %": right(predict(data.unseen[0]), data.unseen),
        "seen %": right(predict(data.seen[0]), data.seen),
        "us/row": least(lambda: predict(data.seen[0])) * 1e6 / len(data.seen[0]),
        "fit s": seconds,
    }


def ours(data: Data, name: str, said: dict[str, Any] | None) -> dict[str, object]:
    """Learn from rows, and from what is said of classes."""
    start = time.process_time()
    options = {} if said is None else {"descriptions": said}
    model = DSNCClassifier(n_bits=64, random_state=0).fit(*map(list, data.train), **options)
    row: dict[str, object] = {"model": name, "unseen %": None, "all %": None}
    seconds = time.process_time() - start
    if said is not None:
        rows = model._check_rows(list(data.unseen[0]))
        numbers = model.predictor_.candidates(rows, 32)[0]
        found = model.classes_[np.maximum(numbers, 0)] == data.unseen[1][:, None]
        only = copy.deepcopy(model)
        only.remove_classes([k for k in model.classes_.tolist() if k not in data.strangers])
        row["unseen %"] = right(only.predict(list(data.unseen[0])), data.unseen)
        row["all %"] = right(model.predict(list(data.unseen[0])), data.unseen)
        row["in the list %"] = 100 * float((found & (numbers >= 0)).any(axis=1).mean())
    row["seen %"] = right(model.predict(list(data.seen[0])), data.seen)
    row["us/row"] = least(lambda: model.predict(list(data.seen[0]))) * 1e6 / len(data.seen[0])
    row["fit s"] = seconds
    return row


def refining(titles: Path, descriptions: Path) -> list[dict[str, object]]:
    """Add classes from more and more rows."""
    train, test = (load_dataset(titles / f"{part}.tsv") for part in ("train", "test"))
    described = json.loads((descriptions / "descriptions.json").read_text(encoding="utf-8"))
    said = {k: [v["title"], v["description"]] for k, v in described.items()}
    labels = np.unique(train.labels.astype(str))
    new = np.random.default_rng(0).permutation(labels)[: int(SHARE * len(labels))]
    is_new, strange = (np.isin(part.labels.astype(str), new) for part in (train, test))
    table: dict[int, dict[str, object]] = {n: {"rows a class": n} for n in STEPS}
    for with_texts in (False, True):
        known = {k: v for k, v in said.items() if k not in set(new)} if with_texts else None
        model = DSNCClassifier(n_bits=64, random_state=0)
        model.fit(train.X[~is_new].tolist(), train.labels[~is_new], descriptions=known)
        if with_texts:
            model.add_described_classes(new, [said[k] for k in new])
        for n_rows in STEPS[not with_texts :]:
            grown = copy.deepcopy(model)
            places = [np.flatnonzero(train.labels == k)[:n_rows] for k in new]
            rows = np.concatenate(places)
            if n_rows:
                grown.add_classes(train.X[rows].tolist(), train.labels[rows])
            right_ = grown.predict(test.X.tolist()) == test.labels
            old, come = (100 * float(right_[part].mean()) for part in (~strange, strange))
            how = "described" if with_texts else "alone"
            table[n_rows] |= {f"new %, {how}": come, f"old %, {how}": old}
    columns = ["rows a class", *(k for k in table[STEPS[-1]] if k != "rows a class")]
    return [{column: row.get(column) for column in columns} for row in table.values()]


def right(answers: Any, part: tuple[Any, Any]) -> float:
    """Return the share of right answers, in percent."""
    return 100 * float(np.mean(answers == part[1]))


def least(call: Any) -> float:
    """Return the least time of the processor."""
    times = []
    for _ in range(REPEAT):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--pseudo", action="store_true", help="hold training classes back")
    parser.add_argument("--refine", type=Path, nargs=2, metavar=("TITLES", "DESCRIPTIONS"))
    arguments = parser.parse_args()
    if arguments.refine:
        report("refining", refining(*arguments.refine))
    if arguments.folder is None:
        return
    data = load(arguments.folder, pseudo=arguments.pseudo)
    print(f"{len(data.said):,} classes, {len(data.strangers):,} of them without a row")
    joined = {label: ". ".join(filter(None, said)) for label, said in data.said.items()}
    with threadpool_limits(1):
        rows = [
            matching(data),
            ours(data, "rows alone", None),
            ours(data, "rows, and name and definition as one text", joined),
            ours(data, "rows, and both as a text each", data.said),
        ]
    columns = ["model", "unseen %", "all %", "in the list %", "seen %", "us/row", "fit s"]
    name = "zero_shot_pseudo" if arguments.pseudo else "zero_shot"
    report(name, [{column: row.get(column) for column in columns} for row in rows])


if __name__ == "__main__":
    main()
