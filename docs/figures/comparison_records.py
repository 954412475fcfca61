"""What the tables of other people's tools come to: who is best at what, and where we are not.

Run it with:  python docs/figures/comparison_records.py

It reads the records ``docs/records/comparison/DATA.json`` and writes three more, which look their
figures up in them: ``comparison_accuracy``, ``comparison_behind`` and ``readme``. What is bold, and
who counts as ahead, is a matter of the paired tests in those records.
"""

from typing import Any, NamedTuple

from records import ROOT, Records, write

OURS = "dsnc n_bits=64"  # the one setting that stands for us
NAMES = {
    f"{OURS} reranker=None": "dsnc, codes alone",
    OURS: "dsnc, with the second stage",
    "mlp": "MLP",
    "linear-svc": "`LinearSVC`",
    "sgd": "SGD",
    "output-code": "output codes",
    "nearest-centroid": "centroid",
    "centroid-cosine": "centroid, by angle",
    "nearest-neighbors": "neighbors",
    "fasttext": "fastText",
    "fasttext-hs": "fastText `hs`",
    "napkinxc-plt": "napkinXC",
    "pecos-xlinear": "PECOS",
    "omikuji": "Omikuji",
}
ONE_LABEL = ("output-code", "nearest-centroid", "centroid-cosine")
WORDS = ("fasttext", "fasttext-hs")
ALL_CLASSES = ("mlp", "linear-svc", "sgd", "output-code", "fasttext")  # scored for every row
DENSE = ("aloi72k",)
README = {
    "bible12k": "verses of the Bible, translations of one verse to the verse (12,275)",
    "geonames_names": "place names (76,236), from strings",
    "aloi72k": "ALOI, 72k pictures (1,000)",
    "onet_titles": "job titles (973)",
    "lshtc1_dryrun": "LSHTC1, four rows a class (1,139)",
    "hpo_terms": "phenotypes (7,962), from synonyms as strings",
    "yso_finna": "library subjects (21,363 labels)",
    "debtags": "Debian packages (582 labels)",
    "delicious": "bookmarks (983 labels)",
}
IN_README = [name for name in NAMES if name not in ("sgd", *ONE_LABEL)]
CHANCE = 0.05
UNTESTED = " °"


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


def measured(record: dict[str, Any], key: str) -> dict[str, dict[str, Any]]:
    """Return the rows with a figure, by contestant; one with a mark is not compared."""
    return {row["contestant"]: row for row in record["rows"] if isinstance(row.get(key), float)}


def lookup(source: str, name: str, key: str) -> str:
    """Return what stands for a figure of a record."""
    return f"= {source} | contestant={name} | {key}"


def is_tested(record: dict[str, Any], key: str) -> bool:
    """Tell whether the answers of rows were kept, so that there are paired tests."""
    return any(f"p best {key}" in row for row in record["rows"])


def cells(records: Records, source: str, *, texts: bool = False) -> dict[str, Any]:
    """Return the cells of a data set: bold is the best, and what no test tells from it."""
    first, key = records[source]["rows"][0], accuracy_key(records, source)
    rows, result, tested = measured(records[source], key), {}, is_tested(records[source], key)
    there = {n: rows.get(n.replace("dsnc", "dsnc-texts") if texts else n) for n in NAMES}
    best = max(row[key] for row in (rows if tested else there).values() if row)
    for name, row in there.items():
        if row is None or why_not(name, first) == "c":
            result[name] = why_not(name, first)
            continue
        is_best = row[key] == best or row.get(f"p best {key}", 0) >= CHANCE
        mark = " ¹" if "(one setting)" in (row.get("remark") or "") and name[:4] != "dsnc" else ""
        if tested and row[key] != best and f"p best {key}" not in row:
            mark += UNTESTED
        value = lookup(source, row["contestant"], key)
        result[name] = {"value": value, "format": ("**{:.1f}**" if is_best else "{:.1f}") + mark}
    return result


def why_not(name: str, first: dict[str, Any]) -> str:
    """Return the letter of the reason why a cell is empty."""
    if first["label sets"] and name in ONE_LABEL:
        return "a"
    if first["classes"] > 5000 and name in ALL_CLASSES:
        return "b"
    return "c" if name in WORDS and first["data"] in DENSE else "d"


def accuracy_key(records: Records, source: str) -> str:
    """Return the first of all measures, as a data set has it."""
    return MEASURES[0].keys[records[source]["rows"][0]["label sets"]]


def accuracy_record(records: Records) -> dict[str, Any]:
    """Return the record of everybody's accuracies on all data sets."""
    rows = []
    for source in sources(records):
        first, key = records[source]["rows"][0], accuracy_key(records, source)
        there = measured(records[source], key)
        mark = "" if is_tested(records[source], key) else UNTESTED
        title = f"{first['data']} ({first['classes']:,})"
        if OURS in there:
            rows.append({"data": title + mark, **cells(records, source)})
            if OURS.replace("dsnc", "dsnc-texts") in there:
                found = cells(records, source, texts=True)
                ours = {name: found[name] for name in NAMES if name.startswith("dsnc")}
                rows.append({"data": "the same, from strings" + mark, **ours})
        else:
            title += f", from strings{mark}"
            rows.append({"data": title, **cells(records, source, texts=True)})
    return table_of(rows, NAMES)


def readme_record(records: Records) -> dict[str, Any]:
    """Return the record of README's table: some columns, and sets as people call them."""
    rows = []
    for data, title in README.items():
        source = f"comparison/{data}"
        if source in records:
            texts = OURS not in measured(records[source], accuracy_key(records, source))
            mark = "" if is_tested(records[source], accuracy_key(records, source)) else UNTESTED
            found = cells(records, source, texts=texts)
            shown = {n: "" if isinstance(found[n], str) else found[n] for n in IN_README}
            rows.append({"data": title + mark, **shown})
    return table_of(rows, {name: NAMES[name] for name in IN_README})


def table_of(rows: list[dict[str, Any]], names: dict[str, str]) -> dict[str, Any]:
    """Return the record of a table of contestants, those that have a figure somewhere."""
    shown = [name for name in names if any(isinstance(row.get(name), dict) for row in rows)]
    columns = [{"title": "data (classes or labels)", "key": "data"}]
    columns += [{"title": names[name], "key": name} for name in shown]
    rows = [{key: row[key] for key in ("data", *shown) if key in row} for row in rows]
    return {"measured": FROM, "columns": columns, "rows": rows}


def behind_record(records: Records) -> dict[str, Any]:
    """Return the record of all figures in which one of the others is ahead of us."""
    rows = []
    for source in sources(records):
        row: dict[str, Any] = {"data": records[source]["rows"][0]["data"]}
        for measure in MEASURES:
            for key in measure.keys:
                if pair := ahead_of_us(records[source], key, measure):
                    theirs, _ = pair
                    row[measure.title] = {
                        "value": [lookup(source, name, key) for name in pair],
                        "format": f"{NAMES[theirs]} {measure.form}, ours {measure.form}",
                    }
        rows.append(row)
    titles = [measure.title for measure in MEASURES if any(measure.title in row for row in rows)]
    table = [{"title": "data"}, *({"title": title} for title in titles)]
    return {"measured": FROM, "columns": table, "rows": rows}


def ahead_of_us(record: dict[str, Any], key: str, measure: Measure) -> tuple[str, str] | None:
    """Return the best of the others and ours, if it is better by what shows and by no chance.

    Times and sizes have no test, nor have figures of runs whose answers nobody kept.
    """
    found = measured(record, key)
    ours = OURS if OURS in found else OURS.replace("dsnc", "dsnc-texts")
    if ours not in found:
        return None
    others = {name: row[key] for name, row in found.items() if name[:4] != "dsnc"}
    mine = found[ours][key]

    def is_better(name: str) -> bool:
        shown = [float(measure.form.format(value)) for value in (others[name], mine)]
        return shown[0] != shown[1] and measure.best(shown) == shown[0]

    ahead = [n for n in others if is_better(n) and found[n].get(f"p {key}", 0) < CHANCE]
    return (measure.best(ahead, key=others.get), ours) if ahead else None


if __name__ == "__main__":
    all_records = Records()
    made = {
        "comparison_accuracy": accuracy_record,
        "comparison_behind": behind_record,
        "readme": readme_record,
    }
    for file, make in made.items():
        write(ROOT / "docs" / "records" / f"{file}.json", make(all_records))
