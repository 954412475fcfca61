"""Templates to pages. `base.html.j2` and `page.css` are the look that all pages share."""

import re
from typing import Any

import dsnc
from dsnc.errors import require


def render(template: str, caller: str, **content: Any) -> bytes:
    """Return a page made from a template of this package; all values are escaped.

    Parameters
    ----------
    template : str
        Its file name, such as ``"report.html.j2"``.
    caller : str
        Who needs Jinja2, for the message where it is missing.
    **content
        What the template shows. Beside Jinja2's own, there is the filter ``marked`` for
        Markdown's bold and italic.
    """
    jinja2 = require("jinja2", extra="report", caller=caller)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dsnc.pictures", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["marked"] = marked
    page: str = environment.get_template(template).render(version=dsnc.__version__, **content)
    # Half a surrogate pair may stand in a label; HTML has no way to hold it.
    return page.encode("utf-8", errors="backslashreplace")


def marked(text: str) -> Any:
    """Return text with Markdown's bold and italic as HTML, everything else escaped.

    Examples
    --------
    >>> print(marked("**a** < *b*"))
    <strong>a</strong> &lt; <em>b</em>
    """
    markupsafe = require("markupsafe", extra="report", caller="the report")
    escaped = str(markupsafe.escape(text))
    escaped = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escaped)
    return markupsafe.Markup(re.sub(r"\*(.+?)\*", r"<em>\1</em>", escaped))
