"""Pictures and pages about any data set or model.

Drawing needs the extra ``report`` (matplotlib, Pillow and Jinja2); an error says so if it is
missing.
"""

from dsnc.pictures.contact_sheet import contact_sheet
from dsnc.pictures.evaluation import evaluation_page
from dsnc.pictures.reliability import reliability_picture

__all__ = ["contact_sheet", "evaluation_page", "reliability_picture"]
