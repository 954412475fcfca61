"""What people look at: plots and pages made from data, records and models.

Everything here needs the extra ``report`` (matplotlib and Pillow) and says so when it is missing.
"""

from dsnc.report.contact_sheet import contact_sheet

__all__ = ["contact_sheet"]
