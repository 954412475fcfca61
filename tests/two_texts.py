"""A model of two texts a row, one of which misleads: title and note, each for itself."""

import random

from cli_files import ROLES
from dsnc import DSNCClassifier
from dsnc.data import load_dataset
from dsnc.model import facts_of

RECORD = {"title": "night nurse", "note": "bus driver"}


def write_two_texts(path, *more):
    """Write a table of label, title and note, and perhaps more columns: names to values."""
    draw, roles = random.Random(0), list(ROLES)
    names = ["label", "title", "note", *(name for name, _ in more)]
    lines = [names]
    for number in range(160):
        own, other = roles[number % 4], draw.choice(roles)
        texts = (f"{draw.choice(ROLES[role])} {role}" for role in (own, other))
        lines.append([own, *texts, *(str(values[number % len(values)]) for _, values in more)])
    path.write_text("".join(",".join(line) + "\n" for line in lines))
    return path


def two_texts(path, *more, fit=DSNCClassifier, **roles):
    """Return a model that knows the columns which it has learned from."""
    roles = {"text_column": ["title", "note"], "separate_texts": True, **roles}
    data = load_dataset(write_two_texts(path, *more), **roles)
    labels = [[label] for label in data.labels] if "Multi" in fit.__name__ else data.labels
    settings = {"n_bits": 16, "max_epochs": 3, "trainer": "fast", "validation_fraction": 0.3}
    model = fit(**settings).fit(data.X.tolist(), labels)
    model.data_ |= facts_of(data)
    return model
