"""Other people's tools beside dsnc, on the same rows and texts.

python benchmarks/peers [DATA...] [--dsnc n_bits=64] [--only fasttext-hs napkinxc-plt] [--threads 1]

DATA are folders or files that dsnc reads, or "glyphs"; without any, two synthetic sets. Each tool
runs in a process and, unless it is part of the project, an environment of its own, which is made at
the first run. In the first turn a tool's settings are tried in order, until --tune seconds of
training are spent, and validation rows choose; then tools take turns, and the fastest of each
counts. Times of tools that read texts include making features of them; the peak of memory is above
that of the data. The answers of all test rows are kept beside the record, and paired tests say
which differences are more than chance: from our first setting, and from the best of all.
"""

import argparse
import json
import os
import queue
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsnc.data.files import home
from dsnc.errors import DsncError
from harness import RESULTS, keep, settings_of, show
from peers.contestants import CONTESTANTS
from peers.data import read, read_about
from peers.environments import NoEnvironmentError, place_for
from peers.paired import add_tests
from peers.prepare import SYNTHETIC, prepare
from peers.rankings import KS
from peers.turn import Job, end_all, run

COSTS = ("ECE", "train s", "MB", "peak MB", "µs/row", "µs single")
SINGLE = ("top-1 %", "top-5 %")
SETS = tuple(f"{name}@{k} %" for name in ("P", "PSP") for k in KS)
# The first is the one that others are compared with; "reranker=None" is the codes alone.
OURS = (
    ["n_bits=64"],
    ["n_bits=64", "reranker=None"],
    ["n_bits=200"],
    ["n_bits=200", "reranker=None"],
)
MEANS = ("top-1 %", "top-5 %", "validation %", "ECE", *SETS)
LEAST = ("train s", "train CPU s", "µs/row", "µs single", "peak MB")
RATIOS = {"train ratio": "train s", "row ratio": "µs/row"}

Answers = dict[str, NDArray[Any]]  # of each contestant, on all test rows


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
    if kind.reads == "texts" and about["dense"]:
        return "left out: dense rows have no words"
    most = kind.most_classes(settings | entry.settings)
    if most is not None and about["classes"] > most and not large:
        return f"left out: over {most:,} classes (--large)"
    return ""


def compare(
    folder: Path, who: list[Entry], arguments: argparse.Namespace
) -> tuple[list[dict[str, Any]], Answers]:
    """Let contestants take turns on one data set; return a row for each, and their answers."""
    about = read_about(folder)
    runs: dict[str, list[dict[str, Any]]] = {entry.label: [] for entry in who}
    out = {entry.label: left_out(entry, about, arguments.large) for entry in who}
    chosen = {entry.label: entry for entry in who}

    def take_turn(entry: Entry) -> None:
        if runs[entry.label]:
            figures = one_turn(chosen[entry.label], folder, arguments)
        else:
            chosen[entry.label], figures = choose(entry, folder, arguments)
        runs[entry.label].append(figures)
        out[entry.label] = figures.get("note", "")

    for _ in range(arguments.repeats):
        together(take_turn, [entry for entry in who if not out[entry.label]], arguments.jobs)
    answers = {
        entry.label: runs[entry.label][0].pop("answers")
        for entry in who
        if runs[entry.label] and "answers" in runs[entry.label][0]
    }
    rows = [row_of(entry, about, runs[entry.label], out[entry.label], arguments) for entry in who]
    return with_comparisons(rows, answers, folder), answers


def with_comparisons(
    rows: list[dict[str, Any]], answers: Answers, folder: Path
) -> list[dict[str, Any]]:
    """Return rows with their times beside ours, and how likely differences are by chance."""
    ours = next((row for row in rows if row["contestant"].startswith("dsnc")), {})
    for row in rows:
        for ratio, key in RATIOS.items():
            row[ratio] = row[key] / ours[key] if row[key] and ours.get(key) else None
    if answers:
        add_tests(rows, answers, read(folder, "texts"), ours.get("contestant", ""))
    return rows


def together(function: Callable[[Any], None], items: list[Any], jobs: int) -> None:
    """Call a function with each item: one after another, or at once with cores to wait for."""
    if jobs == 1:
        for item in items:
            function(item)
        return
    with ThreadPoolExecutor(max(1, len(items))) as pool:
        try:
            list(pool.map(function, items))
        except BaseException:
            end_all()
            raise


def shown(about: dict[str, Any]) -> tuple[str, ...]:
    """Return which figures a table has: of classes, or of label sets."""
    return (*(SETS if about.get("label sets") else SINGLE), *COSTS)


def choose(
    entry: Entry, folder: Path, arguments: argparse.Namespace
) -> tuple[Entry, dict[str, Any]]:
    """Try the settings of a contestant; return that which validation rows like best, and its turn.

    A turn that gives no figures ends this, and counts if it is the first.
    """
    tries, variations, tried = settings_to_try(entry, read_about(folder)["name"], arguments)
    best, found, spent = tries[0], {"validation %": None}, 0.0
    for i, one in enumerate(tries):
        figures = one_turn(one, folder, arguments)
        if "note" in figures:
            return (best, found | {"tried": tried + i}) if i else (one, figures)
        if not i or figures["validation %"] > found["validation %"]:
            best, found = one, figures
        spent += figures["train s"]
        if spent >= arguments.tune or figures["validation %"] is None:
            break
        if one is tries[-1]:
            tries += [best._replace(settings=best.settings | more) for more in variations]
            variations = ()
    return best, found | {"tried": tried + i + 1}


def settings_to_try(
    entry: Entry, data: str, arguments: argparse.Namespace
) -> tuple[list[Entry], tuple[dict[str, Any], ...], int]:
    """Return the settings of a contestant, variations of the best, and how many others lost before.

    A setting that an earlier record says has won is tried alone.
    """
    kind, _ = CONTESTANTS[entry.contestant]
    path = arguments.settings_from and arguments.settings_from / f"{data}.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path and path.is_file() else []
    for row in rows:
        if row["contestant"] == entry.label and row["turns"]:
            won = settings_of(row["setting"].split()) | entry.settings
            others = tuple(v for v in kind.variations if not v.items() <= won.items())
            return [entry._replace(settings=won)], others, row.get("tried", len(kind.choices)) - 1
    tries = [entry._replace(settings=choice | entry.settings) for choice in kind.choices]
    return tries, tuple(v for v in kind.variations if not v.keys() & entry.settings.keys()), 0


def one_turn(entry: Entry, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train and predict once; say and keep the figures, or a note why there are none."""
    kind, _ = CONTESTANTS[entry.contestant]
    about = read_about(folder)
    try:
        place = place_for(kind, arguments.environments, arguments.tools)
    except NoEnvironmentError as error:
        print(error)
        return {"note": "no environment"}
    cores = arguments.cores.get()
    try:
        with tempfile.TemporaryDirectory(prefix="peers-") as work:
            job = Job(
                entry.contestant, entry.settings, arguments.threads, str(folder.resolve()), cores
            )
            figures = run(place, job, Path(work), arguments.limit)
    finally:
        arguments.cores.put(cores)
    said = figures.get("note") or f"{figures[shown(about)[0]]:.2f} %, {figures['train s']:.1f} s"
    print(f"{about['name']}, {entry.label}: {said}", flush=True)
    settings = entry.settings | figures.get("chosen", {})
    figures = {"setting": " ".join(words_of(settings)), **figures}
    keep_run({"data": about["name"], "contestant": entry.contestant, **figures}, arguments)
    return figures


def keep_run(figures: dict[str, Any], arguments: argparse.Namespace) -> None:
    """Add the figures of one turn to those of all turns ever."""
    path = arguments.results / f"{record_of(figures['data'], arguments)}_turns.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {key: value for key, value in figures.items() if key != "answers"}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(plain, ensure_ascii=False) + "\n")


def record_of(data: str, arguments: argparse.Namespace) -> str:
    """Return the name of the record of a data set."""
    return str(arguments.record).replace("DATA", data)


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
        values = [run[key] for run in good if run.get(key) is not None]
        combine = min if key in LEAST else statistics.fmean if key in MEANS else itemgetter(0)
        row[key] = combine(values) if values else None
    row["remark"] = remark_on(row) if good else note
    counts = {
        "label sets": bool(about.get("label sets")),
        "classes": about["classes"],
        "features": about["features"],
        **about["rows"],
    }
    return {**row, **counts, "threads": arguments.threads, "turns": len(good)}


def remark_on(row: dict[str, Any]) -> str:
    """Say which setting has won, and whether there was no other."""
    if row.pop("chosen", None) or row.get("tried", 1) > 1:
        return str(row["setting"]) or "defaults"
    return f"{row['setting'] or 'defaults'} (one setting)"


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
    add(
        "--settings-from",
        type=Path,
        metavar="RECORDS",
        help="a folder of DATA.json: who has won settings there takes them, and does not search",
    )
    add("--threads", type=int, default=1, help="for those that can use several (%(default)s)")
    add("--jobs", type=int, default=1, help="contestants at once, each on own cores (%(default)s)")
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
        "--tools",
        type=Path,
        metavar="FOLDER",
        help="of `pip install --target FOLDER/NAME`, in place of environments",
    )
    add(
        "--prepared",
        type=Path,
        default=cache / "data",
        help="the data as all read it (%(default)s)",
    )
    add("--results", type=Path, default=RESULTS, help="for records (benchmarks/results)")
    add(
        "--record",
        default="peers",
        metavar="NAME",
        help="of the table; DATA in it stands for the data set (%(default)s)",
    )
    add(
        "--merge",
        nargs="+",
        default=[],
        metavar="NAME",
        help="measure nothing: put earlier records together, each with its answers",
    )
    arguments = parser.parse_args(words)
    arguments.cores = cores_for(arguments.jobs, arguments.threads)
    return arguments


def cores_for(jobs: int, threads: int) -> queue.SimpleQueue[tuple[int, ...]]:
    """Return what contestants that run at once take from; one alone may use all cores."""
    cores: queue.SimpleQueue[tuple[int, ...]] = queue.SimpleQueue()
    if jobs == 1:
        cores.put(())
        return cores
    there = sorted(os.sched_getaffinity(0))
    if jobs * threads > len(there):
        raise SystemExit(
            f"--jobs {jobs} with --threads {threads} takes {jobs * threads} cores, and this "
            f"process has {len(there)}; use --jobs {max(1, len(there) // threads)}."
        )
    for job in range(jobs):
        cores.put(tuple(there[job * threads : (job + 1) * threads]))
    return cores


def main() -> None:
    """Compare on all data sets; print tables and keep records."""
    arguments = parse()
    who = entries(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and the contestant of this turn ends
    try:
        folders = [prepare(source, arguments.prepared) for source in arguments.data]
    except DsncError as error:
        raise SystemExit(str(error)) from error
    tables: dict[str, list[dict[str, Any]]] = {}
    answered: dict[str, Answers] = {}

    def measure_set(folder: Path) -> None:
        measured = merge(folder, arguments) if arguments.merge else compare(folder, who, arguments)
        data = read_about(folder)["name"]
        name = record_of(data, arguments)
        rows, answers = tables.setdefault(name, []), answered.setdefault(name, {})
        rows += measured[0]
        answers |= {f"{data}/{label}": found for label, found in measured[1].items()}
        keep(name, rows, arguments.results)
        np.savez_compressed(arguments.results / f"{name}_answers.npz", **answers)
        show_set(measured[0])

    together(measure_set, folders, arguments.jobs)


def merge(folder: Path, arguments: argparse.Namespace) -> tuple[list[dict[str, Any]], Answers]:
    """Put earlier records of a data set together; of the same contestant the last one counts."""
    data = read_about(folder)["name"]
    rows: dict[str, dict[str, Any]] = {}
    answers: Answers = {}
    for name in (part.replace("DATA", data) for part in arguments.merge):
        lines = (arguments.results / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows |= {
            row["contestant"]: {key: v for key, v in row.items() if not key.startswith("p ")}
            for row in json.loads(lines[-1])["rows"]
            if row["data"] == data
        }
        with np.load(arguments.results / f"{name}_answers.npz") as archive:
            found = {key: archive[key] for key in archive if key.startswith(f"{data}/")}
        answers |= {key.removeprefix(f"{data}/"): array for key, array in found.items()}
    return with_comparisons(list(rows.values()), answers, folder), answers


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
