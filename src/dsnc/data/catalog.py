"""`load_dataset`, and data sets by name: whence they come, under which terms, how they are read.

A data set lives in ``home()/datasets/<name>``. Files that exist there are used as they are, so a
file that was put there by hand serves as well as a download. The sources publish no checksums;
instead, the figures of an entry are compared with what was read.
"""

import logging
import os
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dsnc.data.archives import unpack
from dsnc.data.dataset import Dataset, check_multilabel
from dsnc.data.download import fetch_file
from dsnc.data.files import home
from dsnc.data.glyphs import load_glyphs
from dsnc.data.readers import check_options, check_reader, read_path
from dsnc.errors import DataFileError, DownloadError, InputError, unknown_name, warn

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class RemoteFile:
    """A file to download; `sha256` is None where the source states none."""

    url: str
    name: str
    sha256: str | None = None


@dataclass(frozen=True)
class Entry:
    """What is known of a data set."""

    name: str  # its key in DATASETS
    title: str
    load: Callable[..., Dataset]  # load(folder, **options)
    rows: int | None = None  # figures: None where unknown
    features: int | None = None
    classes: int | None = None
    rows_spread: int = 0  # standard deviation of rows, where several draws go by one name
    exact: bool = False  # whether other figures are an error, or only deserve a warning
    licence: str = "not stated"  # the terms of use as far as the source states them
    homepage: str = ""
    citation: str = ""
    files: tuple[RemoteFile, ...] = ()  # none if it is made here or must be got by hand
    present: tuple[str, ...] = ()  # patterns: one is found below the folder if the data are there
    preparation: str = ""  # what is done, or must be done by hand, in {folder}
    note: str = ""  # what else one should know

    @property
    def folder(self) -> Path:
        """Where its files are, or will be."""
        return home().absolute() / "datasets" / self.name

    @property
    def builtin(self) -> bool:
        """Whether it is made on the spot, from nothing."""
        return not self.present

    def is_here(self) -> bool:
        """Tell whether it can be loaded without a download."""
        return self.builtin or any(_find(self.folder, pattern) for pattern in self.present)

    def instructions(self) -> str:
        """Return what is done, or must be done by hand, with the real folder in it."""
        return self.preparation.replace("{folder}", str(self.folder))


def load_dataset(
    name_or_path: str | os.PathLike[str],
    *,
    reader: str | None = None,
    multilabel: bool | str = "auto",
    **options: Any,
) -> Dataset:
    """Load a data set: a file, a folder, or a name of the catalog.

    Parameters
    ----------
    name_or_path : str or path
        A path that exists is read; anything else is a name of the catalog ("glyphs", "aloi", ...),
        which is downloaded if necessary. A folder holds arrays (``X.npz`` ...) or files of one
        format called ``train``, ``validation`` (or ``valid``, ``val``, ``dev``) and ``test``, which
        become the predefined split.
    reader : str, optional
        One of `READERS`. By default, the content and the name decide; ``Dataset.source`` and the
        log say what was chosen.
    multilabel : bool or "auto", default "auto"
        Whether rows have label sets, in ``Dataset.Y``. "auto" detects it: a row has several labels,
        or none, or the format says so; ``Dataset.source`` says what was decided. True reads single
        labels as sets of one. False refuses rows with several labels.
    **options
        Options of the reader: ``classes``, ``label_column``, ``label_separator`` and so on.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> dataset = load_dataset("titles.tsv")  # doctest: +SKIP
    >>> train, validation, test = dataset.split(0.8, 0.1, 0.1, random_state=0)  # doctest: +SKIP
    """
    check_reader(reader)
    check_multilabel(multilabel)
    path = Path(name_or_path).expanduser()
    if path.exists():
        dataset = read_path(path, reader=reader, multilabel=multilabel, **options)
    else:
        dataset = _load_by_name(name_or_path, reader, options)
        dataset = dataset.as_label_sets() if multilabel is True else dataset
    if dataset.is_multilabel:
        if multilabel is False:
            raise InputError(
                f"{name_or_path} has label sets, but multilabel=False asks for one label a row."
            )
        source = f"{dataset.source}; {dataset.summary().labels_text}"
        dataset = replace(dataset, source=source)
    _LOG.info("%s: %s", dataset.name, dataset.source)
    return dataset


def _load_by_name(name: str | os.PathLike[str], reader: str | None, options: Any) -> Dataset:
    text = os.fspath(name)
    if text in DATASETS and reader is None:
        return load_catalog(text, **options)
    if os.sep in text or "." in text or reader is not None:
        raise DataFileError.at(
            text, "does not exist", expected="a file, a folder or a catalog name"
        )
    raise unknown_name("name_or_path", text, DATASETS)


def fetch(name: str, *, progress: bool = True) -> Path:
    """Download the files of a data set into its folder, unless they are there already.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    progress : bool, default True
        Whether to show a progress bar on stderr.

    Returns
    -------
    Path
        The folder. It need not exist for a data set that is made on the spot.

    Raises
    ------
    DownloadError
        The files cannot be downloaded; the message says where to put them by hand.
    """
    entry = _entry(name)
    if entry.is_here():
        return entry.folder
    if not entry.files:
        raise DownloadError(
            f"{name!r} cannot be downloaded; it must be prepared by hand. {entry.instructions()} "
            "Then run the same command again."
        )
    for file in entry.files:
        path = fetch_file(folder=entry.folder, progress=progress, **asdict(file))
        if path.suffix == ".zip":
            unpack(path)
    if not entry.is_here():
        problem = f"the files of {name!r} hold no {' or '.join(entry.present)}"
        raise DataFileError.at(entry.folder, problem, expected=entry.instructions())
    return entry.folder


def load_catalog(name: str, *, progress: bool = True, **options: Any) -> Dataset:
    """Load a data set of the catalog, fetching it if need be.

    Options go to the entry's loader: ``draw`` for "dmoz-1k", ``n_classes`` for "glyphs", a reader's
    own for the others.
    """
    entry = _entry(name)
    check_options(f"The data set {name!r}", entry.load, options)
    dataset = entry.load(fetch(name, progress=progress), **options)
    if not options.keys() - {"draw"}:  # other options may well change the figures
        _check_figures(entry, dataset)
    return replace(dataset, name=name)


def list_draws(name: str) -> list[str]:
    """Return the names of the random draws of a data set, fetching it if necessary.

    Only data sets of the catalog that consist of several draws have names; all other names and
    paths stand for one data set, and give an empty list.
    """
    entry = DATASETS.get(name)
    if entry is None or entry.load is not _load_draw or Path(name).exists():
        return []
    return sorted({path.name for path in _part_folders(fetch(name))})


def _entry(name: str) -> Entry:
    if name not in DATASETS:
        raise unknown_name("name", name, DATASETS)
    return DATASETS[name]


def _find(folder: Path, pattern: str) -> list[Path]:
    """Return the files below `folder` that match, none of them hidden."""
    paths = (path for path in folder.rglob(pattern) if path.is_file())
    return sorted(
        p for p in paths if not any(part.startswith(".") for part in p.relative_to(folder).parts)
    )


def _check_figures(entry: Entry, dataset: Dataset) -> None:
    wrong = []
    if entry.rows is not None and abs(len(dataset) - entry.rows) > 3 * entry.rows_spread:
        wrong.append(f"{len(dataset):,} rows instead of {entry.rows:,}")
    if entry.features not in (None, dataset.width):
        wrong.append(f"{dataset.width} features instead of {entry.features}")
    if entry.classes not in (None, dataset.n_classes):
        wrong.append(f"{dataset.n_classes:,} classes instead of {entry.classes:,}")
    if not wrong:
        return
    problem = f"{entry.name!r} has {', '.join(wrong)}"
    if entry.exact:
        cure = "the published file: delete this one and run the same command again"
        raise DataFileError.at(entry.folder, problem, expected=cure)
    message = f"{entry.folder}: {problem}; results will not be comparable with published ones."
    warn(message)


# Loaders


def _load_glyphs(
    folder: Path,
    n_classes: int = 1000,
    n_per_class: int = 60,
    random_state: int = 0,
    cache: bool = True,
) -> Dataset:
    return load_glyphs(n_classes, n_per_class, random_state, cache=cache)


def _load_file_or_arrays(folder: Path, **options: Any) -> Dataset:
    """Load a folder of arrays if there is one, else the one data file."""
    arrays = _find(folder, "X.np[yz]")
    path = arrays[0].parent if arrays else _find(folder, "aloi.scale*")[0]
    return read_path(path, **options)


def _load_parts(folder: Path, **options: Any) -> Dataset:
    """Load train, validation and test files, of which there must be one set."""
    folders = _part_folders(folder)
    if len(folders) > 1:
        problem = f"holds several files train.txt, in {', '.join(map(str, folders))}"
        raise DataFileError.at(folder, problem, expected="only one; remove the others")
    return read_path(folders[0], **options)


def _load_draw(folder: Path, draw: str | int | None = None, **options: Any) -> Dataset:
    """Load one of several random draws; by default the first in the order of their names."""
    folders = {path.name: path for path in reversed(_part_folders(folder))}
    name = min(folders) if draw is None else str(draw)
    if name not in folders:
        raise unknown_name("draw", name, folders)
    return read_path(folders[name], **options)


def _part_folders(folder: Path) -> list[Path]:
    return sorted({path.parent for path in _find(folder, "train.txt*")})


_LOADERS = {
    "glyphs": _load_glyphs,
    "file or arrays": _load_file_or_arrays,
    "parts": _load_parts,
    "draw": _load_draw,
}


def _read_entries() -> dict[str, Entry]:
    """Read what is known of all data sets."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    entries = {}
    for name, known in tomllib.loads(text).items():
        known["load"] = _LOADERS[known["load"]]
        known["files"] = tuple(RemoteFile(**file) for file in known.get("files", ()))
        known["present"] = tuple(known.get("present", ()))
        entries[name] = Entry(name, **known)
    return entries


DATASETS = _read_entries()
