"""Classes that nobody has named: novel rows, grouped by their codes, for a person to look at."""

from dsnc.discovery.page import discovery_page
from dsnc.discovery.result import Discovery, ProposedClass

__all__ = ["Discovery", "ProposedClass", "discovery_page"]
