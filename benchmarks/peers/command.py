"""Other people's tools beside dsnc, on the same rows and texts.

python benchmarks/peers [DATA...] [--dsnc n_bits=64] [--only fasttext-hs napkinxc-plt] [--threads 1]

DATA are folders or files that dsnc reads, or "glyphs"; without any, two synthetic sets. Each tool
runs in a process and, unless it is part of the project, an environment of its own, which is made at
the first run. In the first turn a tool's settings are tried in order, until --tune seconds of
training are spent, and validation rows choose; then tools take turns, and the fastest of each
counts. Times of tools that read texts include making features of them; the peak of memory is above
that of the data.
"""

import argparse
import json
import signal
import statistics
import sys
import tempfile
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from dsnc.data.files import home
from dsnc.errors import DsncError
from harness import RESULTS, keep, settings_of, show
from peers.contestants import CONTESTANTS
from peers.data import read_about
from peers.environments import NoEnvironmentError, python_for
from peers.prepare import SYNTHETIC, prepare
from peers.rankings import KS
from peers.turn import Job, run

COSTS = ("ECE", "train s", "MB", "peak MB", "µs/row", "µs single")
SINGLE = ("top-1 %", "top-5 %")
SETS = tuple(f"{name}@{k} %" for name in ("P", "PSP") for k in KS)
OURS = ["n_bits=64"], ["n_bits=200"]
MEANS = ("top-1 %", "top-5 %", "validation %", "ECE", *SETS)
LEAST = ("train s", "train CPU s", "µs/row", "µs single", "peak MB")
RATIOS = {"train ratio": "train s", "row ratio": "µs/row"}


class Entry(NamedTuple):
    """A contestant as the command line has it."""

    contestant: str  # of CONTESTANTS
    settings: dict[str, Any]

    @property
    def label(self) -> str:
        """Its name in the table."""
        return " ".join([self.contestant, *words_of(self.settings)])


def entries(arguments: argparse.Namespace) -> list[Entry]:
    """Return who takes part, ours first."""
    chosen = {name: settings_of(pairs) for name, *pairs in arguments.set}
    if unknown := set(chosen) - set(CONTESTANTS):
        raise SystemExit(f"--set {unknown.pop()}: it is none of {', '.join(CONTESTANTS)}.")
    result = []
    for name in arguments.only or CONTESTANTS:
        several = [chosen.get(name, {})]
        if name.startswith("dsnc"):
            several = [settings_of(pairs) | several[0] for pairs in arguments.dsnc or OURS]
        result += [Entry(name, settings) for settings in several]
    return result


def words_of(settings: dict[str, Any]) -> list[str]:
    """Return settings as the command line takes them."""
    return [f"{name}={value}" for name, value in settings.items()]


def left_out(entry: Entry, about: dict[str, Any], large: bool) -> str:
    """Return why a contestant does not take part, if so."""
    kind, settings = CONTESTANTS[entry.contestant]
    if about.get("label sets") and not kind.takes_sets:
        return "left out: one label a row"
    if kind.needs_texts and not about["own texts"]:
        return "left out: no texts"
    most = kind.most_classes(settings | entry.settings)
    if most is not None and about["classes"] > most and not large:
        return f"left out: over {most:,} classes (--large)"
    return ""


def compare(folder: Path, who: list[Entry], arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Let contestants take turns on one data set; return a row for each."""
    about = read_about(folder)
    runs: dict[str, list[dict[str, Any]]] = {entry.label: [] for entry in who}
    out = {entry.label: left_out(entry, about, arguments.large) for entry in who}
    chosen = {entry.label: entry for entry in who}
    for turn in range(arguments.repeats):
        for entry in who:
            if out[entry.label]:
                continue
            if turn:
                figures = one_turn(chosen[entry.label], folder, arguments)
            else:
                chosen[entry.label], figures = choose(entry, folder, arguments)
            runs[entry.label].append(figures)
            out[entry.label] = figures.get("note", "")
    rows = [row_of(entry, about, runs[entry.label], out[entry.label], arguments) for entry in who]
    ours = next((row for row in rows if row["contestant"].startswith("dsnc")), {})
    for row in rows:
        for ratio, key in RATIOS.items():
            row[ratio] = row[key] / ours[key] if row[key] and ours.get(key) else None
    return rows


def shown(about: dict[str, Any]) -> tuple[str, ...]:
    """Return which figures a table has: of classes, or of label sets."""
    return (*(SETS if about.get("label sets") else SINGLE), *COSTS)


def choose(
    entry: Entry, folder: Path, arguments: argparse.Namespace
) -> tuple[Entry, dict[str, Any]]:
    """Try the settings of a contestant; return that which validation rows like best, and its turn.

    A turn that gives no figures ends this, and counts if it is the first.
    """
    kind, _ = CONTESTANTS[entry.contestant]
    tries = [entry._replace(settings=choice | entry.settings) for choice in kind.choices]
    best, found, spent = tries[0], {"validation %": None}, 0.0
    for i, one in enumerate(tries):
        figures = one_turn(one, folder, arguments)
        if "note" in figures:
            return (best, found) if i else (one, figures)
        if not i or figures["validation %"] > found["validation %"]:
            best, found = one, figures
        spent += figures["train s"]
        if spent >= arguments.tune or figures["validation %"] is None:
            break
    return best, found


def one_turn(entry: Entry, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and predict once; say and keep the figures, or a note why there are none."""
    kind, _ = CONTESTANTS[entry.contestant]
    about = read_about(folder)
    try:
        python = python_for(kind, arguments.environments)
    except NoEnvironmentError as error:
        print(error)
        return {"note": "no environment"}
    with tempfile.TemporaryDirectory(prefix="peers-") as work:
        job = Job(entry.contestant, entry.settings, arguments.threads, str(folder.resolve()))
        figures = run(python, job, Path(work), arguments.limit)
    said = figures.get("note") or f"{figures[shown(about)[0]]:.2f} %, {figures['train s']:.1f} s"
    print(f"{about['name']}, {entry.label}: {said}", flush=True)
    figures = {"setting": " ".join(words_of(entry.settings)), **figures}
    keep_run({"data": about["name"], "contestant": entry.contestant, **figures}, arguments)
    return figures


def keep_run(figures: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Add the figures of one turn to those of all turns ever."""
    path = arguments.results / f"{arguments.record}_turns.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(figures, ensure_ascii=False) + "\n")


def row_of(
    entry: Entry,
    about: dict[str, Any],
    runs: list[dict[str, Any]],
    note: str,
    arguments: argparse.Namespace,
) -> dict[str, Any]:
    """Put turns together: least times and memory, mean accuracies, the first turn's warm-up."""
    good = [run for run in runs if "note" not in run]
    row = {"data": about["name"], "contestant": entry.label, "note": note, "setting": None}
    row |= dict.fromkeys((*shown(about), "train CPU s", "warm-up s", "version"))
    for key in good[0] if good else ():
        values = [run[key] for run in good if run[key] is not None]
        combine = min if key in LEAST else statistics.fmean if key in MEANS else itemgetter(0)
        row[key] = combine(values) if values else None
    row["remark"] = row["setting"] if good else note
    counts = {
        "label sets": bool(about.get("label sets")),
        "classes": about["classes"],
        "features": about["features"],
        **about["rows"],
    }
    return {**row, **counts, "threads": arguments.threads, "turns": len(good)}


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="peers", description=__doc__, formatter_class=form)
    cache = home() / "peers"
    add = parser.add_argument
    add("data", nargs="*", default=list(SYNTHETIC), help="folders or files")
    add(
        "--only",
        nargs="+",
        choices=CONTESTANTS,
        default=[],
        metavar="NAME",
        help=f"who takes part: {', '.join(CONTESTANTS)}",
    )
    add("--large", action="store_true", help="also who takes hours for so many classes")
    add(
        "--dsnc",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="settings of dsnc's classifier; again for another dsnc beside (64 bits, and 200)",
    )
    add(
        "--set",
        nargs="+",
        action="append",
        default=[],
        metavar=("CONTESTANT", "NAME=VALUE"),
        help="settings of another contestant, by the names of its library",
    )
    add("--threads", type=int, default=1, help="for those that can use several (%(default)s)")
    add("--repeats", type=int, default=3, help="turns, each with a training (%(default)s)")
    add("--tune", type=float, default=60, help="seconds of training in tries (%(default)s)")
    add("--limit", type=float, default=1800, help="seconds for one turn (%(default)s)")
    add(
        "--environments",
        type=Path,
        default=cache / "environments",
        help="one for each tool, kept (%(default)s)",
    )
    add(
        "--prepared",
        type=Path,
        default=cache / "data",
        help="the data as all read it (%(default)s)",
    )
    add("--results", type=Path, default=RESULTS, help="for records (benchmarks/results)")
    add("--record", default="peers", metavar="NAME", help="of this table (%(default)s)")
    return parser.parse_args(words)


def main() -> None:
    """Compare on all data sets; print tables and keep one record."""
    arguments = parse()
    who = entries(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and the contestant of this turn ends
    try:
        folders = [prepare(source, arguments.prepared) for source in arguments.data]
    except DsncError as error:
        raise SystemExit(str(error)) from error
    rows = []
    for folder in folders:
        rows += compare(folder, who, arguments)
    keep(arguments.record, rows, arguments.results)
    for name in dict.fromkeys(row["data"] for row in rows):
        show_set([row for row in rows if row["data"] == name])


def show_set(rows: list[dict[str, Any]]) -> None:
    """Print the table of one data set, what was chosen, and why some are not in it."""
    columns = {key.removesuffix(" %"): key for key in ("contestant", *shown(rows[0]))}
    if rows[0].get("label sets"):  # which have many figures; the record has all
        del columns["µs single"]
    measured = [{name: row[columns[name]] for name in columns} for row in rows if row["turns"]]
    if measured:
        show(
            f"{rows[0]['data']}: {rows[0]['classes']:,} classes, {rows[0]['train']:,} rows",
            measured,
        )
    for row in rows:
        remark = row["note"] or f"chosen: {row['setting'] or 'defaults'}"
        print(f"{row['data']}, {row['contestant']}: {remark}")
