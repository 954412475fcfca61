"""What the tables of other people's tools come to: who is best at what, and where we are not.

Run it with:  python docs/figures/comparison_records.py

It reads the records ``docs/records/comparison/DATA.json`` and writes two more, which look their
figures up in them: ``comparison_accuracy`` and ``comparison_behind``.
"""

from typing import Any, NamedTuple

from records import ROOT, Records, write

NAMES = {
    "dsnc n_bits=64": "dsnc, 64 bits",
    "dsnc n_bits=128": "dsnc, 128 bits",
    "dsnc n_bits=200": "dsnc, 200 bits",
    "mlp": "MLP",
    "linear-svc": "`LinearSVC`",
    "sgd": "SGD",
    "output-code": "output codes",
    "nearest-centroid": "centroid",
    "centroid-cosine": "centroid, by angle",
    "fasttext": "fastText",
    "fasttext-hs": "fastText `hs`",
    "napkinxc-plt": "napkinXC",
    "pecos-xlinear": "PECOS",
}


class Measure(NamedTuple):
    """A column of figures."""

    title: str
    keys: tuple[str, ...]  # of one class a row, and of label sets
    form: str
    best: Any  # max or min


MEASURES = (
    Measure("accuracy, or P@1", ("top-1 %", "P@1 %"), "{:.1f}", max),
    Measure("top-5, or P@5", ("top-5 %", "P@5 %"), "{:.1f}", max),
    Measure("PSP@5", ("PSP@5 %",), "{:.1f}", max),
    Measure("ECE", ("ECE",), "{:.3f}", min),
    Measure("training, s", ("train s",), "{:.1f}", min),
    Measure("model, MB", ("MB",), "{:.1f}", min),
    Measure("peak, MB", ("peak MB",), "{:.0f}", min),
    Measure("µs a row", ("µs/row",), "{:.1f}", min),
    Measure("µs of one alone", ("µs single",), "{:.0f}", min),
)
FROM = {"from": "the records comparison/*"}


def sources(records: Records) -> list[str]:
    """Return the records of data sets: those of classes, then of label sets, the smallest first."""
    found = [name for name in records if name.startswith("comparison/")]
    first = {name: records[name]["rows"][0] for name in found}
    return sorted(found, key=lambda name: (first[name]["label sets"], first[name]["classes"]))


def figures(record: dict[str, Any], key: str) -> dict[str, float]:
    """Return a figure of everybody who has it."""
    return {row["contestant"]: row[key] for row in record["rows"] if row.get(key) is not None}


def lookup(source: str, name: str, key: str) -> str:
    """Return what stands for a figure of a record."""
    return f"= {source} | contestant={name} | {key}"


def accuracy_record(records: Records) -> dict[str, Any]:
    """Return the record of everybody's accuracies on all data sets."""
    rows = []
    for source in sources(records):
        first = records[source]["rows"][0]
        key = MEASURES[0].keys[first["label sets"]]
        found = {name: lookup(source, name, key) for name in figures(records[source], key)}
        texts = {n.replace("-texts", ""): v for n, v in found.items() if n.startswith("dsnc-texts")}
        row = {name: value for name, value in found.items() if name in NAMES}
        title = f"{first['data']} ({first['classes']:,})"
        if any(name.startswith("dsnc") for name in row):
            rows.append({"data": title, **row})
            rows += [{"data": "the same, from strings", **texts}] if texts else []
        else:
            rows.append({"data": f"{title}, from strings", **texts, **row})
    columns = [{"title": "data (classes or labels)", "key": "data"}]
    columns += [{"title": title, "key": key, "format": "{:.1f}"} for key, title in NAMES.items()]
    return {"measured": FROM, "columns": columns, "bold": list(NAMES), "in": "row", "rows": rows}


def behind_record(records: Records) -> dict[str, Any]:
    """Return the record of all figures in which one of the others is ahead of all of ours."""
    rows = []
    for source in sources(records):
        row: dict[str, Any] = {"data": records[source]["rows"][0]["data"]}
        for measure in MEASURES:
            for key in measure.keys:
                if pair := ahead_of_us(figures(records[source], key), measure):
                    theirs, _ = pair
                    row[measure.title] = {
                        "value": [lookup(source, name, key) for name in pair],
                        "format": f"{NAMES[theirs]} {measure.form}, ours {measure.form}",
                    }
        rows.append(row)
    titles = [measure.title for measure in MEASURES if any(measure.title in row for row in rows)]
    columns = [{"title": "data"}, *({"title": title} for title in titles)]
    return {"measured": FROM, "columns": columns, "rows": rows}


def ahead_of_us(found: dict[str, float], measure: Measure) -> tuple[str, str] | None:
    """Return the best of the others and the best of ours, if it shows that theirs is better."""
    ours = [name for name in found if name.startswith("dsnc")]
    others = [name for name in found if name not in ours]
    if not (ours and others):
        return None
    pair = measure.best(others, key=found.get), measure.best(ours, key=found.get)
    shown = [measure.form.format(found[name]) for name in pair]
    is_ahead = measure.best(map(float, shown)) != float(shown[1])
    return pair if is_ahead else None


if __name__ == "__main__":
    all_records = Records()
    for name, make in (("accuracy", accuracy_record), ("behind", behind_record)):
        path = ROOT / "docs" / "records" / f"comparison_{name}.json"
        write(path, make(all_records))
