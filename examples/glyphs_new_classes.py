"""Characters that nobody has told of come later: added, refused, discovered.

A model learns to read 800 characters. 200 others come: the first few one by one, then all in ten
additions. Before they come, their pictures belong to no class, and without labels they can still
be sorted.

Run it with:  python examples/glyphs_new_classes.py
"""

import time

import numpy as np

import dsnc
from dsnc.metrics import clustering_accuracy

ADDITIONS, ONE_BY_ONE = 10, 3


def main(n_classes: int = 1000, n_new: int = 200, n_per_class: int = 20) -> dict[str, float]:
    """Hold some characters back; return what became of old and new ones."""
    data = dsnc.data.load_dataset("glyphs", n_classes=n_classes, n_per_class=n_per_class)
    train, test = data.split(0.8, 0.0, 0.2, random_state=0)[::2]
    labels, asked = train.labels, test.labels
    held_back = np.random.default_rng(0).choice(data.classes, n_new, replace=False)
    is_new, is_strange = np.isin(labels, held_back), np.isin(asked, held_back)
    model = dsnc.DSNCClassifier(n_bits=64, max_epochs=10, random_state=0)
    model.fit(train.X[~is_new], labels[~is_new])

    refused = model.predict(test.X, unknown="?") == "?"
    print(f"refused: {refused[is_strange].mean():.0%} of the strangers,", end=" ")
    print(f"{refused[~is_strange].mean():.0%} of the others")

    found = model.discover_classes(train.X[is_new], n_new, unknown_share=1)
    sorted_ = clustering_accuracy(labels[is_new], found.groups)
    print(f"sorted without labels: {sorted_:.0%} of {is_new.sum():,} pictures")
    first = found.classes[0]
    near = ", ".join(str(label) for label, _ in first.nearest)
    print(f"the largest of {len(found)} groups has {len(first)} pictures; it looks like {near}")

    print("classes added   old   new   seconds")
    steps = {*range(1, ONE_BY_ONE + 1), *np.linspace(0, n_new, ADDITIONS + 1).astype(int).tolist()}
    before, old, new = 0, 0.0, 0.0
    for now in sorted(steps - {0}):
        rows = np.isin(labels, held_back[before:now])
        start = time.perf_counter()
        model.add_classes(train.X[rows], labels[rows])
        seconds = time.perf_counter() - start
        right = model.predict(test.X) == asked
        old = float(right[~is_strange].mean())
        new = float(right[np.isin(asked, held_back[:now])].mean())
        print(f"{now:13} {old:5.1%} {new:5.1%} {seconds:9.2f}")
        before = now
    return {"old": old, "new": new, "sorted": sorted_}


if __name__ == "__main__":
    main()
