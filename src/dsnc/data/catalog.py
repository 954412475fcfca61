"""Data sets by name: where they come from, under which terms, and how they are read.

A data set lives in ``home()/datasets/<name>``. Files that exist there are used as they are, so a
file that was put there by hand serves as well as a download. The sources publish no checksums;
instead, the figures of an entry are compared with what was read.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dsnc.data.archives import unpack
from dsnc.data.dataset import Dataset
from dsnc.data.download import fetch_file
from dsnc.data.files import home
from dsnc.data.glyphs import load_glyphs
from dsnc.data.readers import check_options, load_dataset
from dsnc.errors import DataFileError, DownloadError, unknown_name, warn


@dataclass(frozen=True)
class RemoteFile:
    """A file to download; `sha256` and `size` are None where the source states none."""

    url: str
    name: str
    sha256: str | None = None
    size: int | None = None


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
    return load_dataset(path, **options)


def _load_parts(folder: Path, **options: Any) -> Dataset:
    """Load train, validation and test files, of which there must be one set."""
    folders = _part_folders(folder)
    if len(folders) > 1:
        problem = f"holds several files train.txt, in {', '.join(map(str, folders))}"
        raise DataFileError.at(folder, problem, expected="only one; remove the others")
    return load_dataset(folders[0], **options)


def _load_draw(folder: Path, draw: str | int | None = None, **options: Any) -> Dataset:
    """Load one of several random draws; by default the first in the order of their names."""
    folders = {path.name: path for path in reversed(_part_folders(folder))}
    name = min(folders) if draw is None else str(draw)
    if name not in folders:
        raise unknown_name("draw", name, folders)
    return load_dataset(folders[name], **options)


def _part_folders(folder: Path) -> list[Path]:
    return sorted({path.parent for path in _find(folder, "train.txt*")})


# Entries

_PAPER = (
    "T. Gerald, A. Léon, N. Baskiotis, L. Denoyer: Binary Stochastic Representations for Large "
    "Multi-class Classification"
)
_WEBIA = "http://webia.lip6.fr/~gerald/data/"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_DMOZ_TERMS = "not stated; the texts come from the DMOZ directory by way of the LSHTC1 challenge"

_ENTRIES = (
    Entry(
        name="glyphs",
        title="Characters of the DejaVu fonts, drawn with distortions",
        load=_load_glyphs,
        rows=60_000,
        features=400,
        classes=1000,
        licence="the fonts: Bitstream Vera license, changes in the public domain",
        homepage="https://dejavu-fonts.github.io",
        preparation="Nothing: it is drawn from the fonts that come with matplotlib.",
    ),
    Entry(
        name="aloi",
        title="Amsterdam Library of Object Images, 128 features per image",
        load=_load_file_or_arrays,
        rows=108_000,
        features=128,
        classes=1000,
        exact=True,
        licence="made publicly available for scientific research purposes",
        homepage=_LIBSVM + "multiclass.html#aloi",
        citation=(
            "J. M. Geusebroek, G. J. Burghouts, A. W. M. Smeulders: The Amsterdam Library of "
            "Object Images, International Journal of Computer Vision 61(1), 2005"
        ),
        files=(RemoteFile(_LIBSVM + "multiclass/aloi.scale.bz2", "aloi.scale.bz2"),),
        present=("aloi.scale", "aloi.scale.bz2", "X.np[yz]"),
        preparation=(
            "aloi.scale.bz2 is read as it is; if you download it by hand, put it at "
            "{folder}/aloi.scale.bz2. OpenML has the data, too (id 42396); import fetch_openml "
            "from sklearn.datasets, Dataset from dsnc.data.dataset and write_folder from "
            "dsnc.data.folder, then run:\n"
            "    X, y = fetch_openml(data_id=42396, return_X_y=True, as_frame=False)\n"
            "    write_folder(Dataset.from_labels(X, y), '{folder}/openml')\n"
        ),
        note="The file that the authors of the paper used.",
    ),
    Entry(
        name="dmoz-1k",
        title="DMOZ-1K: random draws of 1,000 classes of DMOZ-12K, bags of words",
        load=_load_draw,
        rows=41_846,
        rows_spread=5_255,
        classes=1000,
        licence=_DMOZ_TERMS,
        homepage=_WEBIA,
        citation=_PAPER,
        files=(RemoteFile(_WEBIA + "DMOZ1K.zip", "DMOZ1K.zip"),),
        present=("train.txt*",),
        preparation=(
            "The authors' archive is unpacked; if you download it by hand, put it at "
            "{folder}/DMOZ1K.zip, or put its contents, 1k_class/<draw>/train.txt, validation.txt, "
            "test.txt, into {folder}."
        ),
        note="Rows: mean and standard deviation over the draws. draw= chooses one.",
    ),
    Entry(
        name="dmoz-12k",
        title="DMOZ-12K: short descriptions of web pages, bags of words",
        load=_load_parts,
        rows=155_775,
        classes=12_275,
        licence=_DMOZ_TERMS,
        homepage=_WEBIA,
        citation=_PAPER,
        files=(RemoteFile(_WEBIA + "DMOZ12K.zip", "DMOZ12K.zip"),),
        present=("train.txt*",),
        preparation=(
            "The authors' archive is unpacked; if you download it by hand, put it at "
            "{folder}/DMOZ12K.zip, or put its contents, 12k_class/train.txt, validation.txt, "
            "test.txt, into {folder}. The authors' "
            "code leaves out documents with more than 500 distinct terms, and drops words that do "
            "not occur in the training file; the loader does neither."
        ),
    ),
    Entry(
        name="lshtc1",
        title="LSHTC1: the first Large Scale Hierarchical Text Classification challenge (DMOZ)",
        load=_load_parts,
        classes=12_294,
        licence="no explicit license; research use",
        homepage="http://lshtc.iit.demokritos.gr/",
        citation="I. Partalas et al.: LSHTC: A Benchmark for Large-Scale Text Classification, 2015",
        present=("train.txt*",),
        preparation=(
            "Register at http://lshtc.iit.demokritos.gr/, download the large data set of LSHTC1, "
            "unzip it, and put the train.txt, validation.txt and test.txt of one task into "
            "{folder}. Leave test.txt out if all its labels are 0, which means that they were "
            "not published."
        ),
        note="12,294 leaf categories.",
    ),
    Entry(
        name="imagenet-resnet152",
        title="ImageNet seen by ResNet-152: 2,048 features per image",
        load=_load_file_or_arrays,
        features=2048,
        classes=1000,
        exact=True,
        licence="the terms of ImageNet, which forbid passing the images on",
        homepage="https://www.image-net.org/",
        citation=(
            "O. Russakovsky et al.: ImageNet Large Scale Visual Recognition Challenge, "
            "International Journal of Computer Vision 115(3), 2015"
        ),
        present=("X.np[yz]",),
        preparation=(
            "Get the images from https://www.image-net.org/ and run:\n"
            "    python examples/imagenet_features.py IMAGES {folder}\n"
        ),
        note="The number of rows depends on the images that you supply.",
    ),
)

DATASETS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
