"""The page about experiments, and single figures of it (needs the extra ``report``)."""

from dsnc.paper.report.page import write_figure, write_report

__all__ = ["write_figure", "write_report"]
