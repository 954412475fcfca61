"""``dsnc inspect``: what is inside a model."""

from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli.common import AsJson, Force, Model, escape, load_model, note, print_json, print_table
from dsnc.cli.output import check_new_files
from dsnc.errors import InputError

if TYPE_CHECKING:
    from dsnc.inspection import BitFacts

_SAMPLE = 5000  # texts that give n-grams their names
_SHOWN = 8  # classes and features of each side of a bit
_PAIRS = 10
_MOST_BITS = 256  # on a page, with the features that push them
_MOST_PAIRED = 20_000  # classes whose closest pairs are sought for a page


def inspect_model(
    model: Model,
    label: Annotated[
        str | None, typer.Option("--class", metavar="LABEL", help="Show the classes near this one.")
    ] = None,
    neighbors: Annotated[int, typer.Option(min=1, help="How many of these classes to show.")] = 10,
    bit: Annotated[
        int | None, typer.Option(min=0, help="Show what this bit separates; the first bit is 0.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="Texts that give n-grams their names, such as the training data."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write one HTML file to explore: a map, search, codes, bits to flip."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show what is inside a model: parts, sizes, and what its codes mean.

    Example: dsnc inspect model --class "night nurse" --bit 3 --data titles.tsv
    """
    from dsnc import inspection as look

    check_new_files({"--html": html}, force=force)
    estimator = load_model(model)
    facts = look.model_facts(estimator, model)
    near = None if label is None else look.nearest_classes(estimator, label, neighbors)
    texts = None if data is None else _texts(estimator, data)
    bits = [] if bit is None else _bits(estimator, [bit], texts)
    if html is not None:
        write_page(estimator, html, model, label, texts)
    if as_json:
        record = asdict(facts)
        record |= {} if near is None else {"neighbors": [asdict(n) for n in near]}
        record |= {"bit": asdict(bits[0])} if bits else {}
        print_json(record)
        return
    if html is None or near is not None or bits:
        _show(facts, label, near, bits)
    if texts is None and facts.takes_text and bits:
        note("\nTo see which n-grams push the bit, give some texts: --data FILE")


def _texts(estimator: Any, data: str) -> list[str]:
    from dsnc.cli.samples import check_data
    from dsnc.data import load_dataset
    from dsnc.inspection import takes_text

    if not takes_text(estimator):
        raise InputError("--data names n-grams, but this model was not trained on texts.")
    check_data(data)
    dataset = load_dataset(data)
    if not dataset.is_text:
        raise InputError(f"--data {data} holds numbers; the model was trained on texts.")
    sample: list[str] = dataset.X[:_SAMPLE].tolist()
    return sample


def _bits(estimator: Any, numbers: list[int], texts: list[str] | None) -> "list[BitFacts]":
    from dsnc import inspection as look

    sides = [look.pushing_features(estimator, bit, _SHOWN) for bit in numbers]
    columns = [column for high, low in sides for column in (*high, *low)]
    names = look.feature_names(estimator, columns, texts)
    return [look.bit_facts(estimator, bit, n=_SHOWN, names=names) for bit in numbers]


def write_page(
    estimator: Any,
    path: Path,
    model: Path,
    label: str | None = None,
    texts: list[str] | None = None,
) -> None:
    """Write the page about a model, which is in a folder."""
    from dsnc import inspection as look
    from dsnc.inspection.page import model_page

    facts = look.model_facts(estimator, model)
    atlas = look.Atlas(estimator, model.resolve().name, _version(model))
    pairs, bits = [], []
    if atlas.no_codes:
        note(f"The page has no map and no bits. {atlas.no_codes}")
    else:
        if facts.n_classes <= _MOST_PAIRED:
            pairs = look.closest_pairs(estimator, _PAIRS)
        bits = _bits(estimator, list(range(min(facts.n_bits, _MOST_BITS))), texts)
    model_page(path, atlas, facts, bits=bits, pairs=pairs, label=label)
    note(f"page: {path}")


def _version(model: Path) -> str:
    """Return what `dsnc serve` calls the version."""
    from hashlib import sha256

    from dsnc.persistence.layout import HEADER_FILE

    return sha256((model / HEADER_FILE).read_bytes()).hexdigest()[:16]


def _show(facts: Any, label: str | None, near: list[Any] | None, bits: "list[BitFacts]") -> None:
    from dsnc.inspection import summary, trial_cells

    if near is None and not bits:
        print_table(["", ""], [list(line) for line in summary(facts)])
    if facts.trials and near is None and not bits:
        typer.echo("\nDecoders on held-out rows")
        rows = [trial_cells(trial) for trial in facts.trials]
        print_table(["decoder", "accuracy", "per row", "settings"], rows)
    if near is not None:
        typer.echo(f"\nNearest to {escape(label)}")
        rows = [[f"{n.likeness:.2f}", str(n.distance), str(n.label)] for n in near]
        print_table(["likeness", "bits that differ", "class"], rows)
    for fact in bits:
        typer.echo(f"\nBit {fact.bit}, set in {100 * fact.share_set:.0f} % of the classes")
        print_table(["set", "not set"], _sides(fact.set_classes, fact.unset_classes))
        if fact.set_features or fact.unset_features:
            typer.echo("")
            sides = _sides(fact.set_features, fact.unset_features)
            print_table(["pushed up by", "pushed down by"], sides)


def _sides(left: list[tuple[Any, float]], right: list[tuple[Any, float]]) -> list[list[str]]:
    def cell(entry: tuple[Any, float] | None) -> str:
        return "" if entry is None else f"{entry[1]:+.2f}  {entry[0]}"

    return [[cell(a), cell(b)] for a, b in zip_longest(left, right)]
