"""What happens when things go wrong, tried for real and often.

python benchmarks/reliability [PART ...] [--n N] [--seed S] [--minutes M]

kills     trainings are killed at random moments and go on; the model must have the same bytes
models    model folders are mutated, with right checksums, loaded and asked
built     model folders are built from nothing, by structure, loaded and asked
data      data files of every format are mutated and read
disks     disks become full, or are read-only, while something is written (as root, on Linux)
writers   two processes save to one place
limits    small files that ask for a lot of memory or time
service   small requests that ask for a lot, and what others wait for meanwhile

Without parts, all; a campaign may be run in several goes, whose figures are added up. Each trial
has a number: with the same seed it is the same again, and `--first N --n 1` tries that one.
Failures are lines of JSON in benchmarks/results. With `--guarded`, arrays lie between pages that
nobody may read. The status is 1 if anything failed.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from harness import RESULTS, keep, show
from reliability.trials import FAILED, REFUSED, WORKS, Limits, Outcome, run_trials

TIMES = {
    "kills": 1000,
    "models": 100_000,
    "built": 20_000,
    "data": 20_000,
    "disks": 1000,
    "writers": 300,
    "limits": 1,
    "service": 1,
}
_LIMITS = {
    "models": Limits(10, 512),
    "built": Limits(60, 2048),
    "data": Limits(10, 1024),
    "disks": Limits(60, 2048),
    "writers": Limits(60, 2048),
    "limits": Limits(120, 2048),
}


class Asked(NamedTuple):
    """What the command line says."""

    n: int | None
    first: int
    seed: int
    deadline: float
    work: Path
    results: Path
    guarded: bool = False
    trainers: tuple[str, ...] = ("fast", "torch")

    def arrays(self) -> str:
        """Return what is said of arrays in the name of a row."""
        return ", arrays between guard pages" * self.guarded

    def numbers(self, part: str) -> range:
        """Return the numbers of the trials."""
        return range(self.first, self.first + (self.n or TIMES[part]))


def kills(asked: Asked) -> Iterator[dict[str, Any]]:
    """Kill trainings, each trainer's equally often."""
    from reliability import kills as part

    share = (asked.n or TIMES["kills"]) // len(asked.trainers)
    for trainer in asked.trainers:
        found = []
        for killed in part.campaign(trainer, share, asked.seed, asked.work, asked.deadline):
            found.append(killed)
            if killed.trouble:
                note(asked, "kills", killed._asdict())
            if len(found) % 10 == 0:
                n = sum(killed.kills for killed in found)
                print(f"kills, {trainer}: {n} of {len(found)} trainings", flush=True)
        for name in dict.fromkeys(killed.name for killed in found):
            mine = [killed for killed in found if killed.name == name]
            bad = [killed for killed in mine if killed.trouble]
            yield {
                "what": f"training killed, {name}",
                "tried": sum(killed.kills for killed in mine),
                "works": sum(killed.kills for killed in mine if not killed.trouble),
                "refused": 0,
                "failed": sum(max(1, killed.kills) for killed in bad),
                "trainings": len(mine),
                "resumed": sum(killed.resumed for killed in mine),
            }


def models(asked: Asked) -> Iterator[dict[str, Any]]:
    """Mutate model folders."""
    from reliability import models as part

    bases = part.bases(asked.work / "bases")
    for base in bases:  # all is imported before workers are forked
        for seed in range(6):
            folder = asked.work / "bases" / base.name
            part.ask(random.Random(seed), part.dsnc.load(folder), base.rows, folder)
    yield from _guarded(asked, "models", "mutated model folders", part.trial(bases, asked.work))


def built(asked: Asked) -> Iterator[dict[str, Any]]:
    """Build model folders from nothing."""
    from reliability import built as part
    from reliability.models import bases

    header = bases(asked.work / "bases")[0].parsed
    trial = part.trial(header, asked.work)
    for seed in range(40):  # all is imported before workers are forked
        trial(random.Random(seed))
    yield from _guarded(asked, "built", "built model folders", trial)


def _guarded(asked: Asked, part: str, name: str, trial: Any) -> Iterator[dict[str, Any]]:
    """Try all numbers; half of them each with arrays that end, and that begin, at a guard page."""
    if not asked.guarded:
        yield tried(asked, part, name + asked.arrays(), trial)
        return
    from reliability.guard import Guard, copy_what_is_mapped

    copy_what_is_mapped()
    numbers = asked.numbers(part)
    half = max(1, len(numbers) // 2)
    for at_end, first in ((True, numbers.start), (False, numbers.start + half)):
        Guard(at_end=at_end).install()
        yield tried(asked._replace(n=half, first=first), part, name + asked.arrays(), trial)


def data(asked: Asked) -> Iterator[dict[str, Any]]:
    """Mutate data files."""
    from reliability import data as part

    name = "mutated data files" + asked.arrays()
    yield tried(asked, "data", name, part.trial(part.sources(), asked.work))


def disks(asked: Asked) -> Iterator[dict[str, Any]]:
    """Let disks become full, and folders be read-only."""
    from reliability import disks as part
    from reliability.mounts import alone

    alone()
    world = part.World.made(asked.work / "world")
    said = {
        "full": "full disk",
        "read-only": "read-only disk",
        "another user": "folder of another user",
        "closed": "folder that may not be looked into",
    }
    for how, name in said.items():
        share = asked._replace(n=max(1, len(asked.numbers("disks")) // len(said)))
        yield tried(share, "disks", name, part.trial(world, asked.work, how))


def writers(asked: Asked) -> Iterator[dict[str, Any]]:
    """Let two processes write to one place."""
    from reliability import writers as part
    from reliability.disks import World

    world = World.made(asked.work / "world")
    yield tried(asked, "writers", "two writers, one folder", part.trial(world, asked.work))


def limits(asked: Asked) -> Iterator[dict[str, Any]]:
    """Open files that ask for a lot."""
    from reliability import limits as part
    from reliability.models import bases as all_bases

    bases = all_bases(asked.work / "bases")
    for name in part.cases(bases):
        trial = part.trial(bases, name, asked.work)
        row = tried(asked._replace(n=1), "limits", name, trial)
        if row["tried"]:
            yield {**row, "file kB": part.size_of(asked.work) / 1000}


def service(asked: Asked) -> Iterator[dict[str, Any]]:
    """Send hostile requests to a service."""
    from reliability import service as part

    for row in part.campaign(asked.work):
        print(row, flush=True)
        if row["failed"]:
            note(asked, "service", row)
        yield row
        if time.monotonic() > asked.deadline:
            return


PARTS: dict[str, Callable[[Asked], Iterator[dict[str, Any]]]] = {
    "models": models,
    "built": built,
    "data": data,
    "kills": kills,
    "disks": disks,
    "writers": writers,
    "limits": limits,
    "service": service,
}


def tried(asked: Asked, part: str, name: str, trial: Any) -> dict[str, Any]:
    """Try all numbers of a part; return a row of the table."""
    outcomes = run_trials(trial, asked.seed, asked.numbers(part), _LIMITS[part], asked.deadline)
    row = {"what": name, **counted(_noted(asked, part, outcomes)), **_LIMITS[part]._asdict()}
    print(row, flush=True)
    return row


def _noted(asked: Asked, part: str, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    start = time.monotonic()
    for done, outcome in enumerate(outcomes, 1):
        if outcome.what == FAILED:
            note(asked, part, {"seed": asked.seed, **outcome._asdict()})
        if done % 1000 == 0:
            print(f"{part}: {done:,} in {time.monotonic() - start:.0f} s", flush=True)
        yield outcome


def counted(outcomes: Iterable[Outcome]) -> dict[str, Any]:
    """Return how many came to what, and the most that one took."""
    counts: Counter[str] = Counter()
    slowest = most = 0.0
    for outcome in outcomes:
        counts[outcome.what] += 1
        slowest, most = max(slowest, outcome.seconds), max(most, outcome.megabytes)
    return {
        "tried": counts.total(),
        "works": counts[WORKS],
        "refused": counts[REFUSED],
        "failed": counts[FAILED],
        "slowest s": slowest,
        "most MB": most,
    }


def summed(results: Path) -> list[dict[str, Any]]:
    """Return the rows of all runs that are kept, those of one name added up."""
    rows: dict[str, dict[str, Any]] = {}
    for part in TIMES:
        for path in sorted(results.glob(f"reliability_{part}*.jsonl")):
            if part in ("limits", "service") or path.stem.endswith("_failures"):
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                for row in json.loads(line)["rows"]:
                    _add(rows.setdefault(row["what"], {"what": row["what"]}), row)
    return list(rows.values())


def _add(total: dict[str, Any], row: dict[str, Any]) -> None:
    for key in ("tried", "works", "refused", "failed", "trainings", "resumed"):
        if key in row:
            total[key] = total.get(key, 0) + row[key]
    for key in ("slowest s", "most MB", "seconds", "megabytes"):
        if key in row:
            total[key] = max(total.get(key, 0), row[key])


def note(asked: Asked, part: str, failure: dict[str, Any]) -> None:
    """Keep a failure as a line of JSON, and say it."""
    asked.results.mkdir(parents=True, exist_ok=True)
    with (asked.results / f"reliability_{part}_failures.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(failure, ensure_ascii=False) + "\n")
    print(f"{part} FAILED: {failure}", flush=True)


def parse(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="reliability", description=__doc__, formatter_class=form)
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; without, all of them")
    add("--n", type=int, help=f"trials of each part ({TIMES})")
    add("--first", type=int, default=0, help="number of the first trial (%(default)s)")
    add("--seed", type=int, default=0, help="of all numbers (%(default)s)")
    add("--minutes", type=float, default=float("inf"), help="for all parts together")
    add("--trainers", nargs="+", default=["fast", "torch"], help="whose trainings are killed")
    add("--guarded", action="store_true", help="let arrays lie between pages nobody may read")
    add("--work", type=Path, help="folder for what is tried; on a disk in memory it is faster")
    add("--results", type=Path, default=RESULTS, help="for records (benchmarks/results)")
    arguments = parser.parse_args(words)
    if unknown := sorted(set(arguments.parts) - set(PARTS)):
        parser.error(f"{unknown[0]} is none of {', '.join(PARTS)}.")
    arguments.parts = arguments.parts or list(PARTS)
    return arguments


def main() -> int:
    """Run the parts that are asked for; print tables, keep a record of each; return the status."""
    arguments = parse()
    deadline = time.monotonic() + arguments.minutes * 60
    memory = Path("/dev/shm")
    place = arguments.work or (memory if os.access(memory, os.W_OK) else None)
    failed = 0
    for name in arguments.parts:
        work = Path(tempfile.mkdtemp(prefix="dsnc-reliability-", dir=place))
        work.chmod(0o755)  # another user must be able to read
        given = (arguments.n, arguments.first, arguments.seed, deadline)
        how = arguments.guarded, tuple(arguments.trainers)
        asked = Asked(*given, work, arguments.results, *how)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = list(PARTS[name](asked))
        finally:
            shutil.rmtree(work, ignore_errors=True)
        failed += sum(row["failed"] for row in rows)
        record = f"reliability_{name}{'_guarded' * arguments.guarded}"
        keep(record, rows, arguments.results)
        show(record, rows)
    if rows := summed(arguments.results):
        keep("reliability", rows, arguments.results)
        show("reliability: all runs that are kept", rows)
    return 1 if failed else 0
