"""What people look at: plots and pages made from data, records and models.

Everything here needs the extra ``report`` (matplotlib, Pillow and Jinja2) and says so when it is
missing. What needs more than arrays is imported at its first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

# A function with the name of its module: it must be here before anybody imports the module.
from dsnc.report.contact_sheet import contact_sheet

if TYPE_CHECKING:
    from dsnc.report.export import write_figure as write_figure
    from dsnc.report.page import write_report as write_report
    from dsnc.report.reliability import reliability_picture as reliability_picture

_HOMES = {
    "reliability_picture": "dsnc.report.reliability",
    "write_figure": "dsnc.report.export",
    "write_report": "dsnc.report.page",
}

__all__ = ["contact_sheet", "reliability_picture", "write_figure", "write_report"]


def __getattr__(name: str) -> Any:
    """Import a function at its first use (PEP 562)."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'dsnc.report' has no attribute {name!r}")
