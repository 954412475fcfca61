"""The page about experiments, and its single figures (the extra ``report`` draws them)."""

from dsnc.paper.report.page import write_figure, write_report

__all__ = ["write_figure", "write_report"]
