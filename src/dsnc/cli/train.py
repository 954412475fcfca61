"""``dsnc train``: everything is refused that can be refused beforehand, then a model is learned."""

import contextlib
import shutil
import sys
import time
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dsnc.cli import config as c
from dsnc.cli.cluster import Ray, Workers, refuse_workers
from dsnc.cli.commands import ListsNames, decoder_option, name_among, reranker_option
from dsnc.cli.common import (
    STATE,
    AsJson,
    ConfigFile,
    Reader,
    Settings,
    Validation,
    note,
    percent,
    plain_errors,
)
from dsnc.cli.measure import answer
from dsnc.cli.measure_sets import answer_sets
from dsnc.cli.methods import OPTIONS, ClassWeight, Encoder, Trainer, kind_of, option
from dsnc.cli.progress import interruptible, log_epochs, tell_what_follows
from dsnc.cli.quality import tell_quality
from dsnc.cli.samples import (
    has_label_sets,
    known_rows,
    load_parts,
    rows_of,
    trained_sets,
)
from dsnc.cli.table_options import takes_tables
from dsnc.cli.train_report import Report
from dsnc.errors import CheckpointError, InputError
from dsnc.files import locked
from dsnc.progress import count

if TYPE_CHECKING:
    from dsnc.classifier.one_vs_rest import Comparison
    from dsnc.data import Dataset, Split

TrainCommand = ListsNames

_FEW_CLASSES = 1000  # below, codes have little to gain
_NOT_KEPT = (  # figures that are not the model's, or of label sets not the first that one asks for
    "seconds",
    "rows_per_second",
    "recall_at",
    "ndcg_at",
    "coverage_at",
    "labels_per_row",
    "predicted_labels",
)
_HELP = c.TRAIN_KEYS
_MODEL: dict[str, Any] = {"rich_help_panel": "The model"}
_RUN: dict[str, Any] = {"rich_help_panel": "The run"}


@takes_tables
def train(  # parameters of the estimator bear its names: they are taken from the context
    ctx: typer.Context,
    data: Annotated[str | None, typer.Argument(metavar="DATA", help=_HELP["data"])] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help=_HELP["output"])
    ] = None,
    validation: Validation = None,
    test: Annotated[str | None, typer.Option(help=_HELP["test"])] = None,
    descriptions: Annotated[
        str | None, typer.Option(metavar="FILE", help=_HELP["descriptions"])
    ] = None,
    reader: Reader = None,
    method: Annotated[
        str | None,
        typer.Option(parser=name_among("method"), metavar="NAME", help=_HELP["method"], **_MODEL),
    ] = None,
    n_bits: Annotated[int | None, option("n_bits", min=1, **_MODEL)] = None,
    encoder: Annotated[Encoder | None, option("encoder", **_MODEL)] = None,
    trainer: Annotated[Trainer | None, option("trainer", **_RUN)] = None,
    decoder: Annotated[Any, decoder_option(OPTIONS["decoder"][1], **_MODEL)] = None,
    reranker: Annotated[Any, reranker_option(OPTIONS["reranker"][1], **_MODEL)] = None,
    beta: Annotated[float | None, option("beta", **_MODEL)] = None,
    gamma: Annotated[float | None, option("gamma", **_MODEL)] = None,
    label_smoothing: Annotated[float | None, option("label_smoothing", **_MODEL)] = None,
    class_weight: Annotated[ClassWeight | None, option("class_weight", **_MODEL)] = None,
    threshold: Annotated[str | None, option("threshold", **_MODEL)] = None,
    settings: Settings = None,
    max_epochs: Annotated[int | None, option("max_epochs", min=1, **_RUN)] = None,
    learning_rate: Annotated[str | None, option("learning_rate", **_RUN)] = None,
    batch_size: Annotated[str | None, option("batch_size", **_RUN)] = None,
    random_state: Annotated[int | None, option("random_state", min=0, **_RUN)] = None,
    device: Annotated[str | None, option("device", **_RUN)] = None,
    n_jobs: Annotated[int | None, option("n_jobs", **_RUN)] = None,
    time_limit: Annotated[str | None, option("time_limit", **_RUN)] = None,
    config: ConfigFile = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue an interrupted run, or start a new one if there is none."
        ),
    ] = False,
    checkpoint: Annotated[
        bool, typer.Option(help="Save every epoch in MODEL.checkpoint during the run.")
    ] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Replace MODEL, and discard an interrupted run.")
    ] = False,
    as_json: AsJson = False,
    ray: Ray = None,
    workers: Workers = None,
    table: Any = None,
) -> None:
    """Learn from labeled rows and write a model.

    Example: dsnc train titles.tsv -o model --bits 64 --epochs 20
    """
    given = {name: value for name, value in ctx.params.items() if value is not None}
    whole = c.read_config(config)
    whole.train |= {name: str(given[name]) for name in c.TRAIN_KEYS if name in given}
    whole.table |= table or {}
    c.set_options(whole, {name: given[name] for name in OPTIONS if name in given})
    c.set_parameters(whole, settings)
    for key, missing in (("data", "DATA"), ("output", "-o MODEL")):
        if key not in whole.train:
            raise typer.BadParameter(
                f"missing; try dsnc train DATA -o MODEL, or set [train] {key} in "
                "the --config file.",
                param_hint=missing,
            )
    if ray is not None:
        from dsnc.cli.cluster_train import RayRun

        on_cluster = RayRun(whole, resume=resume, force=force, ray=ray, workers=workers)
        on_cluster.run(as_json=as_json)
        return
    refuse_workers(workers)
    Run(whole, resume=resume, keep_epochs=checkpoint, force=force).run(as_json=as_json)


class Run:
    """One run of ``dsnc train``; epochs are kept in a checkpoint beside the output."""

    def __init__(self, config: c.Config, *, resume: bool, keep_epochs: bool, force: bool) -> None:
        self.config, self.resume, self.force = config, resume, force
        self.output = Path(config.train["output"])
        target = self.output.resolve()
        self.folder = target.with_name(f"{target.name}.checkpoint")
        self.learns = "checkpoint" in kind_of(config.method)._get_param_names()
        self.keeps_epochs = self.learns and (keep_epochs or resume)
        if resume and not self.learns:
            raise InputError(f"--resume: method {config.method!r} has no epochs to continue from.")
        self.others: dict[str, Any] = {}  # parameters that are the business of the command line
        if self.keeps_epochs:
            self.others["checkpoint"] = str(self.folder)
        self.model = config.make_model(**self.others)
        self.compared: dict[str, Comparison] = {}  # with other methods

    def run(self, *, as_json: bool) -> None:
        """Refuse what can be refused beforehand, then do it; nobody else trains this model now."""
        self.model._check_parameters()
        if self._only_of_sets():
            self.config.make_model(sets=True)._check_parameters()
        if self.learns:
            self.model._require_extras("dsnc train")
        from dsnc.persistence import check_target

        with locked(self.output, "training"):
            check_target(self.output, overwrite=self.force)
            self._check_checkpoint()
            self._run(as_json=as_json)

    def _run(self, *, as_json: bool) -> None:
        """Load, learn, save, report."""
        begin = time.monotonic()
        with interruptible(self._what_is_kept):
            train = self.config.train
            parts = load_parts(
                train["data"], self.config.reading, train.get("validation"), train.get("test")
            )
            self._describe(parts)
            self._suit(parts.train)
            described = self._descriptions(parts.train)
            quality = tell_quality(parts.train)
            self._fit(parts, described)
            figures = None
            if len(parts.test):
                figures = self._measure(parts.test)
        self._keep_provenance(parts, figures)
        self.model.save(self.output, overwrite=self.force)
        shutil.rmtree(self.folder, ignore_errors=True)
        seconds = time.monotonic() - begin
        self._compare(parts)
        report = Report(self.model, self.config.method, self.output, seconds, figures, quality)
        report = replace(report, compared=self.compared)
        report.show(as_json=as_json)
        self._hint_at_baselines()

    def _suit(self, train: "Dataset") -> None:
        """Take the estimator of label sets where rows have such."""
        if train.is_multilabel:
            if not train.Y.nnz:
                raise InputError(
                    f"{train.name} has no label in any row, so that nothing can be learned. Is it "
                    "the right --label-column?"
                )
            self.model = self.config.make_model(sets=True, **self.others)
            self.model._check_parameters()
            return
        for name in self._only_of_sets():
            raise InputError(
                f"{name}={self.config.model[name]!r} is for label sets, but each row of "
                f"{train.name} has one label; leave it out."
            )

    def _only_of_sets(self) -> list[str]:
        """Return the parameters that were given and that only label sets have."""
        only = c.parameters_of_sets(self.config.method)
        return [name for name in self.config.model if name in only]

    def _measure(self, test: "Dataset") -> dict[str, float]:
        n_classes = len(self.model.classes_)
        if not has_label_sets(self.model):
            k = min(5, n_classes)
            return answer(self.model, test, k).figures([k])
        ks = sorted({min(k, n_classes) for k in (1, 3, 5)})
        return answer_sets(self.model, test, max(ks)).figures(ks)

    def _keep_provenance(self, parts: "Split", figures: dict[str, float] | None) -> None:
        """Let the model know what only the command line knows: numbers, names and test rows."""
        from dsnc.model import facts_of

        model, train = self.model, self.config.train
        model.data_ |= facts_of(parts.train)
        if figures is not None:
            model.data_["test"] = _described(parts.test, model.predictor_.features)
            kept = {name: v for name, v in figures.items() if not name.startswith(_NOT_KEPT)}
            model.keep_test_figures(kept)
        for part, known in (("data", model.data_), *model.data_.items()):
            if part in train and isinstance(known, dict):
                known["name"] = Path(train[part]).name

    def _compare(self, parts: "Split") -> None:
        """Measure other methods on the same rows, where that takes seconds and there is time."""
        from dsnc.training.loop import INTERRUPTED, LATE

        if not self._has_rivals() or self.model.history_.stopped in (INTERRUPTED, LATE):
            return
        from dsnc.baselines.nearest_neighbors import compare_with_neighbors
        from dsnc.classifier.one_vs_rest import compare_with_one_vs_rest

        given, train = len(parts.validation) > 0, parts.train
        rivals = {"nearest_neighbors": compare_with_neighbors}
        if self._has_few_classes():
            rivals["one_vs_rest"] = compare_with_one_vs_rest
        with contextlib.suppress(KeyboardInterrupt):  # the model is safe
            for name, compare in rivals.items():
                found = compare(self.model, rows_of(train), train.labels, has_validation=given)
                self.compared |= {name: found} if found else {}

    def _has_rivals(self) -> bool:
        return self.config.method == "dsnc" and not has_label_sets(self.model)

    def _has_few_classes(self) -> bool:
        return self._has_rivals() and len(self.model.classes_) < _FEW_CLASSES

    def _hint_at_baselines(self) -> None:
        if self._has_few_classes() and "one_vs_rest" not in self.compared:
            note(
                "Below about a thousand classes, codes gain little: compare with "
                "--method one_vs_rest."
            )
        rivals = [(c.accuracy, name) for name, c in self.compared.items() if c.verdict == "worse"]
        if rivals:
            accuracy, name = max(rivals)
            mine = percent(self.compared[name].model_accuracy)
            note(
                f"For these rows, --method {name} is the better choice: it has "
                f"{percent(accuracy)} of the held-out rows right, this model {mine}."
            )

    def _check_checkpoint(self) -> None:
        if not self.folder.exists():
            if self.resume:
                note(
                    f"--resume: there is no {self.folder.name} to continue from; starting a new "
                    "run."
                )
            return
        if self.resume or not self.keeps_epochs:
            return
        if not self.force:
            raise CheckpointError(
                f"{self.folder} holds an interrupted run. To continue it, run the same command "
                "with --resume; to discard it, run the same command with --force."
            )
        foreign = [f.name for f in self.folder.iterdir() if not self._is_ours(f.name)]
        if foreign:
            raise CheckpointError(f"{self.folder} holds {foreign[0]!r}; it is not deleted.")
        shutil.rmtree(self.folder)

    def _is_ours(self, name: str) -> bool:
        """Tell whether a run has left a file in the folder of its checkpoint."""
        return "checkpoint" in name

    def _describe(self, parts: "Split") -> None:
        train = parts.train
        rows = count(len(train), "row")
        for part, purpose in ((parts.validation, "validate"), (parts.test, "test")):
            rows += f", {len(part):,} to {purpose}" if len(part) else ""
        width = "texts" if train.is_text else count(train.width or 0, "feature")
        n_classes = int((train.rows_per_class > 0).sum())
        labels = replace(train.summary(), classes=n_classes).labels_text
        note(f"{train.name}: {rows}, {width}, {labels}")

    def _descriptions(self, train: "Dataset") -> dict[str, Any]:
        """Return what `fit` is told of classes, beside rows."""
        file = self.config.train.get("descriptions")
        if file is None:
            return {}
        if self.config.method != "dsnc" or train.is_multilabel:
            kind = "label sets" if train.is_multilabel else f"--method {self.config.method}"
            raise InputError(f"--descriptions does not work with {kind}; leave it out.")
        from dsnc.cli.descriptions import load_descriptions

        return load_descriptions(file, {})

    def _fit(self, parts: "Split", described: dict[str, Any]) -> None:
        train = parts.train
        options: dict[str, Any] = {**described}
        if train.is_multilabel:
            labels, options["classes"] = trained_sets(train)
        else:
            labels = train.labels
        if len(parts.validation) and "validation" in signature(self.model.fit).parameters:
            options["validation"] = known_rows(parts.validation, train)
        on_screen = sys.stderr.isatty() and not STATE.quiet
        if hasattr(self.model, "callbacks"):
            measure = "P@1" if train.is_multilabel else "accuracy"
            is_ours = self.config.method == "dsnc"
            then = ", then choosing the decoder" if is_ours else ""
            log = log_epochs(self.model.time_limit, measure, then)
            follows = [tell_what_follows] if is_ours else []
            callbacks = follows if on_screen else [log, *follows]
            self.model.set_params(verbose=on_screen, callbacks=callbacks)
        with plain_errors():
            try:
                self.model.fit(rows_of(train), labels, **options)
            except CheckpointError as error:
                if not self.resume:
                    raise
                raise CheckpointError(
                    f"--resume: {error} On the command line: give the same data and settings as "
                    "before, or start from scratch with --force instead of --resume."
                ) from error

    def _what_is_kept(self) -> str:
        from dsnc.training.checkpoint import FILES

        if not any((self.folder / name).exists() for name in FILES.values()):
            return "no epoch was completed, so nothing is kept."
        return (
            f"the epochs so far are kept in {self.folder}. To continue, run the same command with "
            "--resume; for the best model so far, with --resume --time-limit 1."
        )


def _described(rows: "Dataset", features: Any) -> dict[str, Any]:
    """Return what a model file says of rows that it was measured on."""
    from dsnc.classifier.texts import as_numbers
    from dsnc.training.examples import Examples, fingerprint

    examples = Examples(as_numbers(rows_of(rows), features), rows.targets)
    return {"rows": len(rows), "fingerprint": fingerprint(examples)}
