"""``dsnc train --ray``: rows are read, prepared and learned from by the workers of a cluster."""

import shutil
import sys
import time
from typing import Any

from dsnc.cli.common import STATE, plain_errors
from dsnc.cli.config import Config
from dsnc.cli.progress import interruptible
from dsnc.cli.samples import load
from dsnc.cli.train import Run
from dsnc.cli.train_report import Report
from dsnc.errors import InputError

_OURS = {"rows", "plan.json", "checkpoint", "ray"}  # what a run leaves in its folder


class RayRun(Run):
    """One run of ``dsnc train --ray``; its storage is the folder of the checkpoint."""

    def __init__(
        self, config: Config, *, resume: bool, force: bool, ray: str, workers: int | None
    ) -> None:
        super().__init__(config, resume=resume, keep_epochs=True, force=force)
        self.others, self._ray, self._workers = {}, ray, workers
        self.model = config.make_model()
        if "validation" in config.train:
            raise InputError(
                "--validation does not work with --ray, which holds out a share of DATA; leave it "
                "out."
            )

    def _run(self, *, as_json: bool) -> None:
        """Learn, save, report."""
        begin, train = time.monotonic(), self.config.train
        on_screen = sys.stderr.isatty() and not STATE.quiet
        reading = {key: value for key, value in self.config.reading.items() if key != "reader"}
        options: dict[str, Any] = {"ray": self._ray, "workers": self._workers, **reading}
        with interruptible(self._what_is_kept), plain_errors():
            from dsnc.cluster import fit

            fit(self.model, train["data"], storage=self.folder, verbose=on_screen, **options)
            figures = self._test_figures()
        self.model.save(self.output, overwrite=self.force)
        shutil.rmtree(self.folder, ignore_errors=True)
        seconds = time.monotonic() - begin
        report = Report(self.model, self.config.method, self.output, seconds, figures, [])
        report.show(as_json=as_json)

    def _test_figures(self) -> dict[str, float] | None:
        """Measure test rows here, if there are any."""
        from dsnc.model import columns_of

        test = self.config.train.get("test")
        if test is None:
            return None
        reading = {**self.config.reading, "columns": columns_of(self.model)}
        figures = self._measure(load(test, reading, sets=False))
        self.model.keep_test_figures({"accuracy": figures["accuracy"]})
        return figures

    def _is_ours(self, name: str) -> bool:
        return name in _OURS

    def _what_is_kept(self) -> str:
        return (
            f"rows and epochs so far are kept in {self.folder}. To continue, run the same command "
            "with --resume."
        )
